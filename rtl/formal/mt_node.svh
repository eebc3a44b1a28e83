// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv prim/mt_onehot.sv prim/mt_prio_enc.sv prim/mt_rr_arb.sv prim/mt_lru_arb.sv prim/mt_credit.sv prim/mt_sram.sv prim/mt_fifo.sv prim/mt_parity.sv arith/mt_fp_add.sv arith/mt_reduce_unit.sv arith/mt_unit_share.sv arith/mt_units.sv ni/mt_csr.sv ni/mt_errors.sv ni/mt_groups.sv ni/mt_losses.sv ni/mt_others.sv ni/mt_routes.sv ni/mt_run_state.sv ni/mt_rx_beside.sv ni/mt_rx_flits.sv ni/mt_rx_port.sv ni/mt_rx_slots.sv ni/mt_rx_words.sv ni/mt_scoreboard.sv ni/mt_step_timer.sv ni/mt_table.sv ni/mt_tx_port.sv ni/mt_watchdog.sv ni/mt_ni.sv router/mt_rt_input.sv router/mt_rt_output.sv router/mt_router.sv prim/mt_gray.sv prim/mt_sync.sv prim/mt_gray_sync.sv prim/mt_async_fifo.sv net/mt_credit_cross.sv net/mt_link_cross.sv net/mt_link_clocks.sv
// prove: NumPorts=2 NumVc=1 CreditW=2 StepW=2 FlowW=1 PieceOfFlowW=1 PieceW=1 RouteW=1 CntW=2 StartW=4 SizeW=4 TableDepth=2 StepDepth=2 NumRoutes=2 ParkSlots=2 NumGroups=1 EnPackets=0 EnExchange=0 LongRoutes=0 EnCounters=0 EnFp32=0 EnBf16=0 EnFp16=0 Latency=2 SendWords=2 AddWords=2 Depth=2 DirectPorts=1
// own: what its parts assert is proved of each of them
// steps: 3

// An interface, its router and links at one clock, put together: whatever tables, driver, memory and network do.

// The router gives the interface flits only where it had room the cycle before, and links carry what the router sends.
`MT_ASSERT_NEXT(GivesWhenReady, 1'b1, (out_valid & ~$past(out_ready)) == '0)
`MT_ASSERT(LinksCarryIt, link_valid_o == to_valid && (to_valid == '0 || (link_vc_o == to_vc && link_flit_o == to_flit)))
`MT_ASSERT(LinksBringIt, from_valid == link_valid_i && (from_valid == '0 || (from_vc == link_vc_i && from_flit == link_flit_i)))
`MT_ASSERT(CreditsGoBack, link_credit_valid_o == from_credit && to_credit == link_credit_valid_i)
// What is wrong with credits or memory is told, and then the interface sends no more.
`MT_ASSERT_NEXT(WrongIsTold, credit_over != '0 || mem_error_i, irq_o)
logic wrong_q;
always_ff @(posedge clk_i) wrong_q <= rst_ni && (credit_over != '0 || mem_error_i);
`MT_ASSERT_NEXT(WrongSendsNothing, wrong_q, in_valid == '0)
