// SPDX-License-Identifier: BSD-3-Clause
// Grants the request whose last grant is longest ago; those never granted come first, in order of
// index. A steady request waits for at most N - 1 others.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_lru_arb #(
  // Requesters.
  parameter int unsigned N = 4,
  localparam int unsigned IdxW = N > 1 ? $clog2(N) : 1
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic [N-1:0]    req_i,
  // The grant is used: it becomes the latest one. The grant does not depend on it.
  input  logic            en_i,
  output logic [N-1:0]    gnt_o,
  // 0 without a request.
  output logic [IdxW-1:0] gnt_idx_o
);
  // Of each pair (i, j), i < j: i was granted after j. All zero, the lower index goes first.
  localparam int unsigned Pairs = N > 1 ? N * (N - 1) / 2 : 1;
  logic [Pairs-1:0] later_q;
  function automatic int unsigned pair(input int unsigned i, input int unsigned j);
    pair = i * N - i * (i + 1) / 2 + j - i - 1;
  endfunction

  // Bit j of row i: i goes behind j.
  logic [N*N-1:0] behind;

  always_comb begin
    behind = '0;
    gnt_o = req_i;
    // A request that is alone needs no choice.
    if (`MT_WORK((req_i & (req_i - 1'b1)) != '0)) begin
      for (int unsigned i = 0; i < N; i++) begin
        for (int unsigned j = i + 1; j < N; j++) begin
          behind[i*N+j] = later_q[pair(i, j)];
          behind[j*N+i] = !later_q[pair(i, j)];
        end
      end
      for (int unsigned i = 0; i < N; i++) begin
        gnt_o[i] = req_i[i] && (req_i & behind[i*N+:N]) == '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) later_q <= '0;
    else if (en_i) begin
      for (int unsigned i = 0; i < N; i++) begin
        for (int unsigned j = i + 1; j < N; j++) begin
          if (gnt_o[i] || gnt_o[j]) later_q[pair(i, j)] <= gnt_o[i];
        end
      end
    end
  end

  mt_onehot #(.N(N)) u_idx (
    .onehot_i(gnt_o),
    .idx_o(gnt_idx_o)
  );

  if (N == 1) begin : gen_alone
    logic unused_en;
    assign unused_en = en_i;
  end

`ifdef FORMAL
  // Whoever goes before j, goes before all that go behind j.
  function automatic logic transitive(input logic [N*N-1:0] rows);
    transitive = 1'b1;
    for (int unsigned i = 0; i < N; i++) begin
      for (int unsigned j = 0; j < N; j++) begin
        if (rows[i*N+j] && (rows[j*N+:N] & ~rows[i*N+:N]) != '0) transitive = 1'b0;
      end
    end
  endfunction
  // The same without the shortcut.
  logic [N*N-1:0] rows;
  always_comb begin
    rows = '0;
    for (int unsigned i = 0; i < N; i++) begin
      for (int unsigned j = i + 1; j < N; j++) begin
        rows[i*N+j] = later_q[pair(i, j)];
        rows[j*N+i] = !later_q[pair(i, j)];
      end
    end
  end
  `MT_ASSERT(LruOrder, transitive(rows))
`endif
  `MT_ASSERT(LruGrant, (gnt_o & ~req_i) == '0 && (gnt_o & (gnt_o - 1'b1)) == '0 &&
                       (gnt_o != '0) == (req_i != '0))
endmodule
