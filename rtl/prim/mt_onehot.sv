// SPDX-License-Identifier: BSD-3-Clause
// The index of the one set bit; 0 if none is set. Combinational.
`include "mt_work.svh"

module mt_onehot #(
  // Bits.
  parameter int unsigned N = 4,
  localparam int unsigned IdxW = N > 1 ? $clog2(N) : 1
) (
  input  logic [N-1:0]    onehot_i,
  output logic [IdxW-1:0] idx_o
);
  // For each bit b of the index, the positions whose number has it set.
  function automatic logic [IdxW*N-1:0] with_bits();
    for (int unsigned b = 0; b < IdxW; b++) begin
      for (int unsigned i = 0; i < N; i++) with_bits[b*N+i] = 1'((i >> b) & 1);
    end
  endfunction
  localparam logic [IdxW*N-1:0] With = with_bits();

  always_comb begin
    idx_o = '0;
    if (`MT_WORK(onehot_i != '0)) begin
      for (int unsigned b = 0; b < IdxW; b++) idx_o[b] = (onehot_i & With[b*N+:N]) != '0;
    end
  end
endmodule
