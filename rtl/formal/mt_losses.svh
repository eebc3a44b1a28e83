// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv
// prove: NumPorts=2 PieceW=1 GroupW=1 DeadlineW=3
// prove: NumPorts=4 PieceW=2 GroupW=2 DeadlineW=3
// steps: 4
// cover: 14

// Any piece: what the headers that have come for it count, or the result's count.
(* anyconst *) logic [PieceW-1:0] which;
(* anyconst *) logic [DeadlineW-1:0] deadline;
(* anyconst *) logic [W-1:0] least;
logic cleared_q, result_ref_q, clears;
logic [W-1:0] sum_ref_q, sum_ref;
logic [P-1:0] here;
for (genvar p = 0; p < P; p++) begin : gen_here
  assign here[p] = came_i[p] && came_place_i[p*PlaceW +: PieceW] == which;
end
assign clears = arming_i && clear_piece_i == which;
always_comb begin
  sum_ref = sum_ref_q;
  for (int unsigned p = 0; p < P; p++) begin
    if (here[p]) sum_ref = came_gather_i[p] ? came_count_i[p*W +: W] : sum_ref + came_count_i[p*W +: W];
  end
end
always_ff @(posedge clk_i) begin
  if (!rst_ni) cleared_q <= 1'b0;
  else if (clears) cleared_q <= 1'b1;
  if (clears) begin
    sum_ref_q <= '0;
    result_ref_q <= 1'b0;
  end else if (!arming_i) begin
    sum_ref_q <= sum_ref;
    if ((here & came_gather_i) != '0) result_ref_q <= 1'b1;
  end
end

// What the user promises: registers stay; a piece's result comes by itself, once; a run is armed, then
// started, once; a doorbell that was rung stays so.
logic started_q, rung_q;
always_ff @(posedge clk_i) begin
  started_q <= rst_ni && !arm_i && (started_q || starting_i);
  rung_q <= rst_ni && !arm_i && rung_i;
end
`MT_ASSUME(RegistersStay, deadline_i == deadline && least_i == least && losses_i)
`MT_ASSUME(ResultAlone, (here & came_gather_i) == '0 || (here & (here - 1'b1)) == '0)
`MT_ASSUME(StartedOnce, !(starting_i && started_q) && (!running_i || started_q) && !(starting_i && running_i))
`MT_ASSUME(RungStays, !rung_q || rung_i || arm_i)

// The deadline, counted up.
logic [DeadlineW:0] cycle_ref_q;
always_ff @(posedge clk_i) begin
  if (!rst_ni || arm_i || starting_i) cycle_ref_q <= '0;
  else if (running_i && cycle_ref_q <= {1'b0, deadline}) cycle_ref_q <= cycle_ref_q + 1'b1;
end
`MT_ASSERT(LeftIsRest, !started_q || passed_q || {1'b0, left_q} + cycle_ref_q == {1'b0, deadline})
`MT_ASSERT(PassedWhenOver, !passed_q || (started_q && left_q == '0 && cycle_ref_q == {1'b0, deadline} + 1'b1))
`MT_ASSERT(NotPassedBefore, passed_q || !started_q || cycle_ref_q <= {1'b0, deadline})

// Who is late was not there in the cycle of the deadline, nor about to come.
`MT_ASSERT_NEXT(LateAtDeadline, !late_o && !arm_i, !late_o
                || ($past(running_i && cycle_ref_q == {1'b0, deadline}) && !$past(rung_i) && !$past(hold_i)))
`MT_ASSERT_NEXT(NoticedAtDeadline, running_i && started_q && !arm_i && cycle_ref_q == {1'b0, deadline} && !rung_i
                && !held_q && !hold_i, late_o)
`MT_ASSERT(SettledIsKnown, settled_o == (rung_i || late_o))

// It is left out by a result that allows it, and by nothing else.
`MT_ASSERT_NEXT(LeftOutByResult, !absent_o && !arm_i, !absent_o
                || ($past(undecided_o) && $past(known) && $past(found >= least)))
`MT_ASSERT_NEXT(WaitsForResult, undecided_o && !known && !arm_i, undecided_o)
`MT_ASSERT_NEXT(KnowsByResult, known && undecided_o && !arm_i, !undecided_o && absent_o == $past(found >= least))
`MT_ASSERT(UndecidedIsLate, !undecided_o || late_o)
`MT_ASSERT(LatePassed, !late_o || passed_q)

`MT_ASSERT(SumIsOfHeaders, !cleared_q || (sum_q[which] == sum_ref_q && result_q[which] == result_ref_q))
logic [P-1:0] tx_right;
for (genvar p = 0; p < P; p++) begin : gen_tx
  assign tx_right[p] = tx_piece_i[p*PieceW +: PieceW] != which
      || tx_count_o[p*W +: W] == sum_ref_q + W'(!result_ref_q
         && !(tx_group_i[p*GroupW +: GroupW] == Call ? late_o : absent_o));
end
`MT_ASSERT(MessagesSayWhatTheyHold, !cleared_q || tx_right == '1)

`MT_COVER(Absent, absent_o)
`MT_COVER(WaitedFor, late_o && !undecided_o && !absent_o)
`MT_COVER(InTime, passed_q && !late_o && rung_i)
