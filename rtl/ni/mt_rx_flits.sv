// SPDX-License-Identifier: BSD-3-Clause
// What comes to a receive port, flit by flit: checks parity and lengths, takes headers apart. A short
// queue before it, in case that memory is slow.
`include "mt_assert.svh"
`include "mt_bip.svh"

module mt_rx_flits #(
  // Pieces of the collective: 2^PieceW; width of their counts.
  parameter int unsigned PieceW = 10,
  parameter int unsigned CntW = 6,
  // Groups: 2^GroupW.
  parameter int unsigned GroupW = 0,
  localparam int unsigned PlaceW = GroupW + PieceW,
  localparam int unsigned LenW = mt_pkg::LenW,
  localparam int unsigned AddrW = mt_pkg::AddrW,
  localparam int unsigned DataW = mt_pkg::DataW
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Forget the worm that is arriving.
  input  logic clear_i,
  input  logic wide_i,   // elements of 4 bytes, else of 2

  // From the router.
  input  logic                     valid_i,
  input  logic [mt_pkg::FlitW-1:0] flit_i,
  output logic                     ready_o,

  // The flit of this cycle: the (last) header of a worm, or payload. It goes when taken_i.
  output logic                     header_o,
  output logic                     payload_o,
  output logic [DataW-1:0]         data_o,
  output logic                     tail_o,
  input  logic                     taken_i,
  // The header's worm; 0 if there is none.
  output logic                     gather_o,
  output logic                     last_o,
  output logic [mt_pkg::LanesW-1:0] lanes_o,
  output logic [PlaceW-1:0]        piece_o,   // with its group above it
  output logic [CntW-1:0]          turn_o,
  output logic [CntW-1:0]          after_o,
  output logic [LenW-1:0]          len_o,
  output logic [LenW-1:0]          offset_o,
  output logic [AddrW-1:0]         addr_o,
  output logic [mt_pkg::SrcW-1:0]  src_o,     // who sent it; with losses, what it holds
  // Payload of a worm is still to come.
  output logic                     in_worm_o,

  output logic corrupt_o,
  output logic length_error_o,
  output logic piece_error_o
);

  `MT_BIP_SIGNALS

  logic flit_valid, unused_ready;
  mt_pkg::flit_t flit;
  logic [mt_pkg::FlitBits-1:0] bits;
  logic [2:0] level;
  mt_fifo #(.Width(mt_pkg::FlitBits), .Depth(4), .Bypass(1)) u_flits (
    .clk_i, .rst_ni,
    .in_valid_i(valid_i), .in_ready_o(unused_ready), .in_data_i(flit_i[mt_pkg::FlitBits-1:0]),
    .out_valid_o(flit_valid), .out_ready_i(taken_i), .out_data_o(bits), .level_o(level));
  assign ready_o = level <= 3'd1;  // one is on the way, one may leave the router now
  logic unused_lane;
  assign unused_lane = &{1'b0, flit_i[mt_pkg::FlitW-1:mt_pkg::FlitBits]};
  assign flit = mt_pkg::FlitW'(bits);

  mt_pkg::header_t header;
  logic after_route_q;      // the flit before this one was a route
  logic in_worm_q;          // payload comes
  logic [LenW-1:0] left_q;  // flits of it
  logic is_route;
  assign header = flit.data[mt_pkg::HeaderW-1:0];
  assign is_route = flit_valid && flit.head && header.is_route;
  assign header_o = flit_valid && ((flit.head && !header.is_route) || after_route_q);
  assign payload_o = flit_valid && !flit.head && in_worm_q && !after_route_q;
  assign data_o = flit.data;
  assign tail_o = flit.tail;
  assign in_worm_o = in_worm_q;

  logic [mt_pkg::ParityW-1:0] bip;
  always_comb begin
    `MT_BIP_NONE
    bip = '0;
    corrupt_o = 1'b0;
    length_error_o = 1'b0;
    piece_error_o = 1'b0;
    if (flit_valid) begin
      `MT_BIP(bip, {flit.head, flit.tail, flit.data})
      corrupt_o = bip != flit.parity;
      length_error_o = (flit.head ? in_worm_q || after_route_q || (is_route && flit.tail)
                                  : !in_worm_q && !after_route_q)
                       || (header_o && flit.tail != (header.flits == '0))
                       || (payload_o && flit.tail != (left_q == LenW'(1)));
      piece_error_o = header_o && ((header.piece >> PieceW) != '0
                                   || (32'(header.group) >> GroupW) != '0);
    end
  end

  always_comb begin
    gather_o = 1'b0;
    last_o = 1'b0;
    lanes_o = '0;
    piece_o = '0;
    turn_o = '0;
    after_o = '0;
    len_o = '0;
    offset_o = '0;
    addr_o = '0;
    src_o = '0;
    if (header_o || mt_pkg::AnyWord) begin
      gather_o = header.gather;
      last_o = header.last;
      lanes_o = header.lanes;
      after_o = CntW'(header.after);
      len_o = header.flits;
      offset_o = header.offset;
      src_o = header.src;
      addr_o = wide_i ? {1'b0, header.start, 2'b0} : {2'b0, header.start, 1'b0};
    end
    if (header_o) begin
      piece_o = PlaceW'({header.group, header.piece[PieceW-1:0]});
      turn_o = CntW'(header.turn);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      after_route_q <= 1'b0;
      in_worm_q <= 1'b0;
    end else if (flit_valid && taken_i) begin
      after_route_q <= is_route;
      if (header_o || payload_o) in_worm_q <= !flit.tail;
    end
    if (flit_valid && taken_i) left_q <= header_o ? header.flits : ~(~left_q + LenW'(1));  // cheaper than - 1
  end

  `MT_ASSERT(FlitHasPlace, !valid_i || level < 3'd4)

endmodule
