// SPDX-License-Identifier: BSD-3-Clause
// with: prim/mt_onehot.sv prim/mt_prio_enc.sv
// prove: N=1
// prove: N=2
// prove: N=5
// prove: N=8
// steps: 3
// cover: 10
localparam int unsigned W = $clog2(N + 1) + 1;  // for sums of two numbers up to N

// The pointer as a number.
logic [W-1:0] pointer_q, winner;

assign winner = W'(gnt_idx_o);

always_ff @(posedge clk_i) begin
  if (!rst_ni) pointer_q <= '0;
  else if (en_i && req_i != '0) pointer_q <= winner == W'(N - 1) ? '0 : winner + 1'b1;
end

`MT_ASSERT(PointerInRange, pointer_q < W'(N))
`MT_ASSERT(MaskIsPointer, after_q == {N{1'b1}} << pointer_q || (after_q == '0 && pointer_q == '0))
`MT_ASSERT(IndexIsGrant, req_i == '0 || gnt_o == N'(1) << gnt_idx_o)

// Places from the pointer to any requester, cyclically: the winner has the fewest.
(* anyconst *) logic [IdxW-1:0] who;
logic [W-1:0] to_who, to_winner;

assign to_who = W'(who) >= pointer_q ? W'(who) - pointer_q : W'(who) + W'(N) - pointer_q;
assign to_winner = winner >= pointer_q ? winner - pointer_q : winner + W'(N) - pointer_q;

always @(posedge clk_i) assume (W'(who) < W'(N));
`MT_ASSERT(FirstFromPointer, !req_i[who] || to_winner <= to_who)

// Grants to others while `who` asks.
logic [W-1:0] waited_q;

always_ff @(posedge clk_i) begin
  if (!rst_ni || !req_i[who] || (en_i && gnt_o[who])) waited_q <= '0;
  else if (en_i) waited_q <= waited_q + 1'b1;
end

`MT_ASSERT(NoStarvation, waited_q < W'(N))
`MT_ASSERT(WaitShrinks, waited_q == '0 || waited_q + to_who < W'(N))

`MT_COVER(LongestWait, waited_q == W'(N - 1) && gnt_o[who] && en_i)
