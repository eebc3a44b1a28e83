// SPDX-License-Identifier: BSD-3-Clause
// The lowest set bit, as one bit and as its index. Combinational.
`include "mt_work.svh"

module mt_prio_enc #(
  // Bits to choose from.
  parameter int unsigned N = 4,
  localparam int unsigned IdxW = N > 1 ? $clog2(N) : 1
) (
  input  logic [N-1:0]    req_i,
  output logic            any_o,
  output logic [N-1:0]    onehot_o,
  // 0 if no bit is set.
  output logic [IdxW-1:0] idx_o
);
  assign any_o = req_i != '0;
  always_comb begin
    onehot_o = '0;
    if (`MT_WORK(req_i != '0)) onehot_o = req_i & -req_i;
  end

  mt_onehot #(.N(N)) u_idx (
    .onehot_i(onehot_o),
    .idx_o(idx_o)
  );
endmodule
