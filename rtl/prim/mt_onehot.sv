// SPDX-License-Identifier: BSD-3-Clause
// The index of the one set bit; 0 if none is set. Combinational.
module mt_onehot #(
  // Bits.
  parameter int unsigned N = 4,
  localparam int unsigned IdxW = N > 1 ? $clog2(N) : 1
) (
  input  logic [N-1:0]    onehot_i,
  output logic [IdxW-1:0] idx_o
);
  // The positions whose number has bit b set.
  function automatic logic [N-1:0] with_bit(input int unsigned b);
    for (int unsigned i = 0; i < N; i++) with_bit[i] = 1'((i >> b) & 1);
  endfunction

  for (genvar b = 0; b < IdxW; b++) begin : gen_idx
    localparam logic [N-1:0] With = with_bit(b);
    assign idx_o[b] = (onehot_i & With) != '0;
  end
endmodule
