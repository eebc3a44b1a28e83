// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv prim/mt_onehot.sv prim/mt_prio_enc.sv prim/mt_rr_arb.sv prim/mt_lru_arb.sv prim/mt_credit.sv prim/mt_sram.sv prim/mt_fifo.sv prim/mt_parity.sv arith/mt_fp_add.sv arith/mt_reduce_unit.sv arith/mt_unit_share.sv arith/mt_units.sv ni/mt_csr.sv ni/mt_errors.sv ni/mt_groups.sv ni/mt_losses.sv ni/mt_others.sv ni/mt_routes.sv ni/mt_run_state.sv ni/mt_rx_beside.sv ni/mt_rx_flits.sv ni/mt_rx_port.sv ni/mt_rx_slots.sv ni/mt_rx_words.sv ni/mt_scoreboard.sv ni/mt_step_timer.sv ni/mt_table.sv ni/mt_tx_port.sv ni/mt_watchdog.sv
// prove: NumPorts=2 NumVc=1 CreditW=2 StepW=2 FlowW=1 PieceOfFlowW=1 PieceW=1 RouteW=1 CntW=2 StartW=4 SizeW=4 TableDepth=2 StepDepth=2 NumRoutes=2 ParkSlots=2 NumGroups=1 EnPackets=0 EnExchange=0 LongRoutes=0 EnCounters=0 EnFp32=0 EnBf16=0 EnFp16=0 Latency=2 SendWords=2 AddWords=2
// own: what its parts assert is proved of each of them
// steps: 3

// The whole interface, whatever its tables, its driver, its memory and the network do.

// Fail-stop: from the cycle behind an error on nothing is begun or sent, and nothing is asked but what was offered
// before, nor written (NoNewWordAfterError); and the run is never done, even if its errors are cleared.
`MT_ASSERT_NEXT(HaltSendsNothing, halt, valid_o == '0)
`MT_ASSERT(HaltBeginsNothing, !halt || begun == '0)
`MT_ASSERT_NEXT(HaltAsksNothing, 1'b1, !halt || (tx_req_tvalid_o & ~$past(tx_req_tvalid_o & ~tx_req_tready_i)) == '0)
`MT_ASSERT(HaltTakesNothingIn, !halt || taken == '0)
`MT_ASSERT(HaltIsNotDone, !halt || !done)
`MT_ASSERT_NEXT(WhatIsWrongHalts, (corrupt | length_error | piece_error | duplicate | parked_full) != '0 ||
    (running_q && parity_error != '0) || credit_over != '0 || mem_error_i || link_dead_i, halt)
`MT_ASSERT_NEXT(ErrorHalts, error != '0, halt)
`MT_ASSERT_NEXT(BrokenUntilArmed, failed && running_q && !arm, broken_q)
`MT_ASSERT_NEXT(BrokenStays, broken_q && !arm, broken_q)
// Done is what is sent whole, taken in whole, and written; and nothing else ends a run.
`MT_ASSERT(DoneIsWhole, !done || (entry_left == '0 && sending == '0 && taken_count == arrivals && mem_idle_i && running_q))
`MT_ASSERT_NEXT(RunsUntilDone, running_q && !done, running_q)
`MT_ASSERT_NEXT(FinishedByDone, !finished_q && !done, !finished_q)
`MT_ASSERT_NEXT(RunsWhenToldTo, !running_q && !starting_q, !running_q)
// Nothing is sent unless it runs.
`MT_ASSERT_NEXT(SendsWhileRunning, !running_q, valid_o == '0)
