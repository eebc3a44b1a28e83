// SPDX-License-Identifier: BSD-3-Clause
// with: prim/mt_onehot.sv
// prove: N=1
// prove: N=2
// prove: N=5
// prove: N=8

`MT_ASSERT(IndexIsGrant, req_i == '0 || gnt_o == N'(1) << gnt_idx_o)

// Any two requesters: who of them was granted last, if any.
(* anyconst *) logic [IdxW-1:0] who;
(* anyconst *) logic [IdxW-1:0] other;
logic who_last_q, other_last_q, who_first;

always @(posedge clk_i) assume (32'(who) < N && 32'(other) < N);

always_ff @(posedge clk_i) begin
  if (!rst_ni) {who_last_q, other_last_q} <= '0;
  else if (en_i && gnt_o[who]) {who_last_q, other_last_q} <= 2'b10;
  else if (en_i && gnt_o[other]) {who_last_q, other_last_q} <= 2'b01;
end

assign who_first = other_last_q || (!who_last_q && who < other);

`MT_ASSERT(NotBoth, !(who_last_q && other_last_q) )
`MT_ASSERT(RowsAreHistory, who == other || behind[32'(who) * N + 32'(other)] == !who_first)
`MT_ASSERT(LongestAgo, who == other || !gnt_o[who] || !req_i[other] || who_first)

// Grants to others while `who` asks.
logic [31:0] waited_q, before_who;

always_ff @(posedge clk_i) begin
  if (!rst_ni || !req_i[who] || (en_i && gnt_o[who])) waited_q <= 0;
  else if (en_i) waited_q <= waited_q + 1;
end

always_comb begin
  before_who = 0;
  for (int unsigned i = 0; i < N; i++) before_who = before_who + 32'(behind[32'(who) * N + i]);
end

`MT_ASSERT(NoStarvation, waited_q < N)
`MT_ASSERT(WaitShrinks, waited_q == 0 || waited_q + before_who < N)

`MT_COVER(LongestWait, waited_q == N - 1 && gnt_o[who] && en_i)
