// SPDX-License-Identifier: BSD-3-Clause
// with: prim/mt_onehot.sv prim/mt_prio_enc.sv
// prove: N=1
// prove: N=2
// prove: N=5
// prove: N=8

// The pointer as a number.
logic [31:0] pointer_q;

always_ff @(posedge clk_i) begin
  if (!rst_ni) pointer_q <= 0;
  else if (en_i && req_i != '0) pointer_q <= 32'(gnt_idx_o) + 1 == N ? 0 : 32'(gnt_idx_o) + 1;
end

`MT_ASSERT(PointerInRange, pointer_q < N)
`MT_ASSERT(MaskIsPointer, after_q == {N{1'b1}} << pointer_q || (after_q == '0 && pointer_q == 0))
`MT_ASSERT(IndexIsGrant, req_i == '0 || gnt_o == N'(1) << gnt_idx_o)

// Places from the pointer to any requester, cyclically: the winner has the fewest.
(* anyconst *) logic [IdxW-1:0] who;
logic [31:0] to_who, to_winner;

assign to_who = 32'(who) >= pointer_q ? 32'(who) - pointer_q : 32'(who) + N - pointer_q;
assign to_winner = 32'(gnt_idx_o) >= pointer_q ? 32'(gnt_idx_o) - pointer_q
                                               : 32'(gnt_idx_o) + N - pointer_q;

always @(posedge clk_i) assume (32'(who) < N);
`MT_ASSERT(FirstFromPointer, !req_i[who] || to_winner <= to_who)

// Grants to others while `who` asks.
logic [31:0] waited_q;

always_ff @(posedge clk_i) begin
  if (!rst_ni || !req_i[who] || (en_i && gnt_o[who])) waited_q <= 0;
  else if (en_i) waited_q <= waited_q + 1;
end

`MT_ASSERT(NoStarvation, waited_q < N)
`MT_ASSERT(WaitShrinks, waited_q == 0 || waited_q + to_who < N)

`MT_COVER(LongestWait, waited_q == N - 1 && gnt_o[who] && en_i)
