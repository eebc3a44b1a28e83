// SPDX-License-Identifier: BSD-3-Clause
// prove: StepW=2 Depth=3 LenW=2
// prove: StepW=3 Depth=4 LenW=3
// steps: 4
// cover: 12
// with: prim/mt_sram.sv
// see: words u_mem

logic [Depth*LenW-1:0] words;

// What the user promises: lengths before the run; a start, then the run.
logic before_q;
always_ff @(posedge clk_i) before_q <= rst_ni && (start_i || running_i);
`MT_ASSUME(LoadsBefore, !(write_i || clear_i) || !(start_i || running_i))
`MT_ASSUME(StartsOnce, !start_i || !running_i)
`MT_ASSUME(RunFollowsStart, !running_i || before_q)
logic settles_q;
always_ff @(posedge clk_i) settles_q <= !rst_ni || write_i || clear_i;
`MT_ASSUME(LengthsSettle, !start_i || !(settles_q || before_q))
`MT_ASSUME(LengthsThere, !start_i || count_q != '0)

// Steps that have a length, and the length of any of them.
(* anyconst *) logic [StepW-1:0] which;
logic [PtrW-1:0] count_q;
logic [LenW-1:0] length_q;
always_ff @(posedge clk_i) begin
  if (!rst_ni || clear_i) count_q <= '0;
  else if (write_i && count_q != PtrW'(Depth)) count_q <= count_q + 1'b1;
  if (write_i && 32'(count_q) == 32'(which) && count_q != PtrW'(Depth)) length_q <= length_i;
end

// Cycles that the step has lasted at the start of this one, as far as they matter.
logic [LenW:0] lasted_q;
always_ff @(posedge clk_i) begin
  if (start_i) lasted_q <= '0;
  else if (running_i && step_o != step_q) lasted_q <= 1'b1;
  else if (running_i && !lasted_q[LenW]) lasted_q <= lasted_q + 1'b1;
end
logic is_over, is_last;
assign is_over = lasted_q >= (LenW + 1)'(length_q);
assign is_last = 32'(which) + 1 >= 32'(count_q);

`MT_ASSERT(FullAfterDepth, full_o == (count_q == PtrW'(Depth)))
`MT_ASSERT(UpByOneAtMost, step_o == step_q || step_o == step_q + 1'b1)
`MT_ASSERT(OnlyWhileRunning, running_i || step_o == step_q)
`MT_ASSERT(CurrentIsOfThePast, current_o == step_q)
`MT_ASSERT_NEXT(StartsAtZero, start_i, current_o == '0)
`MT_ASSERT_NEXT(StepStays, !start_i, current_o == $past(step_o))
// A step is over exactly when its time is and all is sent; each but the first lasts a cycle.
`MT_ASSERT(NotBeforeItsTime, !running_i || step_q != which || step_o == step_q || is_over)
`MT_ASSERT(NotBeforeAllIsSent, sent_i || step_o == step_q)
`MT_ASSERT(NeverMissed, !running_i || step_q != which || !is_over || !sent_i || is_last ||
                        step_o != step_q)
`MT_ASSERT(NotBeyondTheLast, !running_i || 32'(step_o) < 32'(count_q))
// Internal invariants, on which the proofs of the above rest.
`MT_ASSERT(CountIsWritten, count_q == written_q && count_q <= PtrW'(Depth))
`MT_ASSERT(LengthStored, 32'(which) >= 32'(count_q) || words[which[IdxW-1:0]*LenW +: LenW] == length_q)
`MT_ASSERT(FirstReadAhead, running_i || settles_q || before_q || which != '0 ||
                           count_q == '0 || next_length_q == length_q)
`MT_ASSERT(NextReadAhead, !running_i || 32'(step_q) + 1 != 32'(which) ||
                          32'(which) >= 32'(count_q) || next_length_q == length_q)
`MT_ASSERT(LeftIsRest, !running_i || step_q != which ||
           32'(left_q) == (begins_q ? 32'(length_q) : is_over ? 32'(length_q != '0)
                                     : 32'(length_q) - 32'(lasted_q) + 1))
`MT_ASSERT(BeginsOnce, !begins_q || (lasted_q == '0 && step_q == '0))

`MT_COVER(LastStep, running_i && 32'(step_q) + 1 == Depth && which == step_q && is_over)
