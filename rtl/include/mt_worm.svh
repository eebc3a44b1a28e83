// SPDX-License-Identifier: BSD-3-Clause
// A worm to be taken in, for the modules of a receive port: `worm_t` of theirs, as a structure cannot
// have parameters.
`ifndef MT_WORM_SVH
`define MT_WORM_SVH
// len: words; offset: words of the message before it; addr: of the message.
`define MT_WORM_T(PieceW, CntW) \
  typedef struct packed { \
    logic gather; \
    logic last; \
    logic [mt_pkg::LanesW-1:0] lanes; \
    logic [PieceW-1:0] piece; \
    logic [CntW-1:0] turn; \
    logic [CntW-1:0] after; \
    logic [mt_pkg::LenW-1:0] len; \
    logic [mt_pkg::LenW-1:0] offset; \
    logic [mt_pkg::AddrW-1:0] addr; \
  } worm_t;
`define MT_WORM_W(PieceW, CntW) \
  (2 + mt_pkg::LanesW + PieceW + 2 * CntW + 2 * mt_pkg::LenW + mt_pkg::AddrW)
`endif
