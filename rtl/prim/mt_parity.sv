// SPDX-License-Identifier: BSD-3-Clause
// Bit-interleaved parity: bit g is the exclusive or of all data bits i with i % Groups == g. Finds
// every error in up to Groups neighbouring bits. Combinational.
module mt_parity #(
  // Data bits.
  parameter int unsigned Width = 32,
  // Parity bits, 1 to Width.
  parameter int unsigned Groups = 4
) (
  input  logic [Width-1:0]  data_i,
  output logic [Groups-1:0] parity_o
);
  localparam int unsigned Words = (Width + Groups - 1) / Groups;

  if (Groups < 1 || Groups > Width) begin : gen_illegal
    $fatal(1, "mt_parity: Groups is in 1..Width");
  end

  logic [Words*Groups-1:0] padded;
  assign padded = (Words * Groups)'(data_i);

  always_comb begin
    parity_o = '0;
    for (int unsigned w = 0; w < Words; w++) parity_o ^= padded[w*Groups+:Groups];
  end
endmodule
