// SPDX-License-Identifier: BSD-3-Clause
// Bit-interleaved parity of a flit: bit g is the parity of bits g, g + 8, g + 16 ... of
// {head, tail, data}. A function, so that it costs nothing in simulation where it is not asked for.
`ifndef MT_BIP_SVH
`define MT_BIP_SVH
`define MT_BIP_FUNCTION \
  function automatic logic [mt_pkg::ParityW-1:0] bip( \
      input logic [mt_pkg::DataW+1:0] bits); \
    logic [63:0] fold; \
    logic [31:0] fold32; \
    logic [15:0] fold16; \
    fold = bits[63:0] ^ bits[127:64] ^ {62'b0, bits[129:128]}; \
    fold32 = fold[31:0] ^ fold[63:32]; \
    fold16 = fold32[15:0] ^ fold32[31:16]; \
    bip = fold16[7:0] ^ fold16[15:8]; \
  endfunction
`endif
