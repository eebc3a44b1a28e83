// SPDX-License-Identifier: BSD-3-Clause
// CRC-32C (Castagnoli) of a word, its highest bit first, inverted. Combinational. Of words of up to 177
// bits it tells any 7 wrong bits, of up to 5,243 any 5, and of all any burst of 32.

module mt_crc32c #(
  // Bits of the word.
  parameter int unsigned Width = 8
) (
  input  logic [Width-1:0] data_i,
  output logic [31:0]      crc_o
);
  localparam logic [31:0] Poly = 32'h1edc6f41;

  // The bits of the word that bit `which` of the checksum is the parity of.
  function automatic logic [Width-1:0] bits_of(input logic [4:0] which);
    logic [31:0] rest;
    rest = Poly;  // what a one at bit i adds
    for (int unsigned i = 0; i < Width; i++) begin
      bits_of[i] = rest[which];
      rest = {rest[30:0], 1'b0} ^ (rest[31] ? Poly : 32'b0);
    end
  endfunction

  for (genvar b = 0; b < 32; b++) begin : gen_bit
    localparam logic [Width-1:0] Bits = bits_of(5'(b));
    assign crc_o[b] = ~^(data_i & Bits);
  end
endmodule
