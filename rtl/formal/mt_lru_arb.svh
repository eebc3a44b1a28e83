// SPDX-License-Identifier: BSD-3-Clause
// with: prim/mt_onehot.sv
// prove: N=1
// prove: N=2
// prove: N=5
// prove: N=8
// steps: 3
// cover: 10
localparam int unsigned W = $clog2(N + 1) + 1;  // for sums of two numbers up to N

`MT_ASSERT(IndexIsGrant, req_i == '0 || gnt_o == N'(1) << gnt_idx_o)

// Any two requesters, as one bit each: who of them was granted last, if any.
(* anyconst *) logic [N-1:0] who;
(* anyconst *) logic [N-1:0] other;
logic granted_q, who_last_q, who_first;
logic [N-1:0] behind_who;  // all that go before `who`
logic [W-1:0] ahead;       // how many

always @(posedge clk_i) begin
  assume (who != '0 && (who & (who - 1'b1)) == '0);
  assume (other != '0 && (other & (other - 1'b1)) == '0);
end

always_ff @(posedge clk_i) begin
  if (!rst_ni) granted_q <= 1'b0;
  else if (en_i && (gnt_o & (who | other)) != '0) begin
    granted_q <= 1'b1;
    who_last_q <= (gnt_o & who) != '0;
  end
end

always_comb begin
  behind_who = '0;
  for (int unsigned i = 0; i < N; i++) begin
    if (who[i]) behind_who = behind_who | rows[i*N+:N];
  end
  ahead = '0;
  for (int unsigned i = 0; i < N; i++) ahead = ahead + W'(behind_who[i]);
end

assign who_first = granted_q ? !who_last_q : who < other;

`MT_ASSERT(RowsAreHistory, who == other || ((behind_who & other) == '0) == who_first)
`MT_ASSERT(LongestAgo, who == other || (gnt_o & who) == '0 || (req_i & other) == '0 || who_first)

// Grants to others while `who` asks.
logic [W-1:0] waited_q;

always_ff @(posedge clk_i) begin
  if (!rst_ni || (req_i & who) == '0 || (en_i && (gnt_o & who) != '0)) waited_q <= '0;
  else if (en_i) waited_q <= waited_q + 1'b1;
end

`MT_ASSERT(NoStarvation, waited_q < W'(N))
`MT_ASSERT(WaitShrinks, waited_q == '0 || waited_q + ahead < W'(N))

`MT_COVER(LongestWait, waited_q == W'(N - 1) && (gnt_o & who) != '0 && en_i)
