// SPDX-License-Identifier: BSD-3-Clause
// prove: NumStreams=1 WordsW=2
// prove: NumStreams=2 WordsW=3
// prove: NumStreams=5 WordsW=3
// prove: NumStreams=8 WordsW=4
// steps: 3
// cover: 14
localparam int unsigned W = $clog2(N + 1) + 1;  // for sums of two numbers up to N

always @(posedge clk_i) if ($past(rst_ni)) assume ($stable(words_i));

// The pointer as a number: behind the last stream that was accepted, in the order of turns.
logic [W-1:0] pointer_q, next;
always_comb begin
  next = pointer_q;
  for (int unsigned i = 0; i < N; i++) if (last[i]) next = i + 1 == N ? '0 : W'(i + 1);
end
always_ff @(posedge clk_i) begin
  if (!rst_ni) pointer_q <= '0;
  else pointer_q <= next;
end
`MT_ASSERT(PointerInRange, pointer_q < W'(N))
`MT_ASSERT(MaskIsPointer, after_q == {N{1'b1}} << pointer_q || (after_q == '0 && pointer_q == '0))

// Any two streams: who asks and is not accepted has nobody behind it accepted.
(* anyconst *) logic [W-1:0] who;
(* anyconst *) logic [W-1:0] other;
logic [W-1:0] to_who, to_other;
assign to_who = who >= pointer_q ? who - pointer_q : who + W'(N) - pointer_q;
assign to_other = other >= pointer_q ? other - pointer_q : other + W'(N) - pointer_q;
always @(posedge clk_i) assume (who < W'(N) && other < W'(N));
`MT_ASSERT(InTurn, words_i == '0 || !valid_i[who] || ready_o[who] || !ready_o[other] || to_other < to_who)

// Cycles that `who` has asked without being accepted: in each the pointer has come as many places nearer as
// there are words.
logic [2*W-1:0] waited_q;
always_ff @(posedge clk_i) begin
  if (!rst_ni || !valid_i[who] || ready_o[who]) waited_q <= '0;
  else waited_q <= waited_q + 1'b1;
end
`MT_ASSERT(WaitShrinks, waited_q == '0 || (waited_q <= (2*W)'(N) && (2*W)'(words_i) <= (2*W)'(N)
                                           && waited_q * (2*W)'(words_i) + (2*W)'(to_who) < (2*W)'(N)))
`MT_ASSERT(NoStarvation, words_i == '0 || waited_q < (2*W)'(N))

`MT_COVER(LongestWait, words_i == WordsW'(1) && waited_q == (2*W)'(N - 1) && ready_o[who])
