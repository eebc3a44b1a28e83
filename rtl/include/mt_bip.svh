// SPDX-License-Identifier: BSD-3-Clause
// Bit-interleaved parity of a flit: bit g is the parity of bits g, g + 8, g + 16 ... of
// {head, tail, data}. Statements for an always_comb, so that it costs nothing in simulation where it
// is not asked for. No function: Verilator numbers the variables of each call, and then finds no
// two instances of a module alike that could share their code.
`ifndef MT_BIP_SVH
`define MT_BIP_SVH
// What `MT_BIP needs; once in a module.
`define MT_BIP_SIGNALS \
  logic [mt_pkg::DataW+1:0] bip_of; \
  logic [63:0] bip_fold; \
  logic [31:0] bip_fold32; \
  logic [15:0] bip_fold16;
// In the beginning of the always_comb.
`define MT_BIP_NONE \
  bip_of = '0; \
  bip_fold = '0; \
  bip_fold32 = '0; \
  bip_fold16 = '0;
// parity = that of bits.
`define MT_BIP(parity, bits) \
  bip_of = bits; \
  for (int unsigned w = 128; w < mt_pkg::DataW; w += 128) bip_of[127:0] = bip_of[127:0] ^ bip_of[w +: 128]; \
  bip_fold = bip_of[63:0] ^ bip_of[127:64] ^ {62'b0, bip_of[mt_pkg::DataW+1:mt_pkg::DataW]}; \
  bip_fold32 = bip_fold[31:0] ^ bip_fold[63:32]; \
  bip_fold16 = bip_fold32[15:0] ^ bip_fold32[31:16]; \
  parity = bip_fold16[7:0] ^ bip_fold16[15:8];
`endif
