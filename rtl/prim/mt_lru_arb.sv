// SPDX-License-Identifier: BSD-3-Clause
// Grants the request whose last grant is longest ago; those never granted come first, in order of
// index. A steady request waits for at most N - 1 others.
`include "mt_assert.svh"

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
  // Bit j of row i: i goes behind j. Only the half above the diagonal is stored, the other is its
  // complement; all zero, the lower index goes first.
  logic [N*N-1:0] behind;

  for (genvar i = 0; i < N; i++) begin : gen_row
    assign behind[i*N+i] = 1'b0;
    assign gnt_o[i] = req_i[i] && (req_i & behind[i*N+:N]) == '0;

    for (genvar j = i + 1; j < N; j++) begin : gen_pair
      logic later_q;  // i was granted after j

      always_ff @(posedge clk_i) begin
        if (!rst_ni) later_q <= 1'b0;
        else if (en_i && (gnt_o[i] || gnt_o[j])) later_q <= gnt_o[i];
      end

      assign behind[i*N+j] = later_q;
      assign behind[j*N+i] = !later_q;
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
  `MT_ASSERT(LruOrder, transitive(behind))
`endif
  `MT_ASSERT(LruGrant, (gnt_o & ~req_i) == '0 && (gnt_o & (gnt_o - 1'b1)) == '0 &&
                       (gnt_o != '0) == (req_i != '0))
endmodule
