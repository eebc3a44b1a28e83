// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv prim/mt_sram.sv prim/mt_fifo.sv
// prove: PieceW=3 CntW=2
// prove: PieceW=14 CntW=6
// prove: PieceW=3 CntW=2 GroupW=2
// prove long: PieceW=3 CntW=2 flit=256
// prove long: PieceW=3 CntW=2 flit=512
// steps: 3
// cover: 9

// What the user promises: a router sends when it saw room a cycle before.
logic ready_before_q;
always_ff @(posedge clk_i) ready_before_q <= rst_ni && ready_o;
`MT_ASSUME(SentWithRoom, !valid_i || ready_before_q)
// Where bits lie in a flit, counted and not named.
localparam int unsigned ParityAt = mt_pkg::DataW, TailAt = ParityAt + 8, HeadAt = TailAt + 1;
localparam int unsigned FlitsAt = 67, OffsetAt = 51, StartAt = 27, PieceAt = 83, AfterAt = 97,
                        TurnAt = 103, LanesAt = 117, LastAt = LanesAt + mt_pkg::LanesW, GatherAt = LastAt + 1,
                        GroupAt = LastAt + 2, RouteAt = LastAt + 7;
logic is_head, is_tail;
logic [15:0] says;
assign is_head = bits[HeadAt];
assign is_tail = bits[TailAt];
assign says = bits[FlitsAt +: 16];

// A worm: (a route,) a header, as many flits as that says. Until the first that is not.
typedef enum logic [1:0] {Between, Route, Payload, Broken} state_t;
state_t state_q;
logic [15:0] rest_q;
logic begins, wrong;
always_comb begin
  begins = 1'b0;  // a header, by its place in the stream
  wrong = 1'b0;
  case (state_q)
    Between: begin
      begins = is_head && !bits[RouteAt];
      wrong = !is_head || (bits[RouteAt] ? is_tail : is_tail != (says == 0));
    end
    Route: begin
      begins = 1'b1;
      wrong = is_head || is_tail != (says == 0);
    end
    default: wrong = is_head || is_tail != (rest_q == 1);
  endcase
end
always_ff @(posedge clk_i) begin
  if (!rst_ni || clear_i) state_q <= Between;
  else if (flit_valid && taken_i && state_q != Broken) begin
    if (wrong) state_q <= Broken;
    else if (begins) state_q <= is_tail ? Between : Payload;
    else if (state_q == Between) state_q <= Route;
    else if (is_tail) state_q <= Between;
  end
  if (flit_valid && taken_i) rest_q <= begins ? says : rest_q - 1'b1;
end
logic sane;
assign sane = flit_valid && state_q != Broken;

// A length error is said of what is wrong, in the cycle in which it is there, and of nothing else.
`MT_ASSERT(WrongIsError, !sane || !wrong || length_error_o)
`MT_ASSERT(ErrorIsWrong, !sane || wrong || !length_error_o)
`MT_ASSERT(NoneWithoutFlit, flit_valid || !(length_error_o || corrupt_o || piece_error_o ||
                                            header_o || payload_o))
`MT_ASSERT(HeaderIsHeader, !sane || wrong || header_o == begins)
`MT_ASSERT(PayloadIsPayload, !sane || wrong || payload_o == (state_q == Payload))
`MT_ASSERT(TailIsTail, !sane || tail_o == is_tail)
`MT_ASSERT(InWorm, state_q == Broken || in_worm_o == (state_q == Payload))
`MT_ASSERT(LeftIsRest, state_q != Payload || (left_q == rest_q && rest_q != '0))
`MT_ASSERT(AfterRoute, state_q == Broken || after_route_q == (state_q == Route))
// What a header says.
`MT_ASSERT(Fields, !header_o || (gather_o == bits[GatherAt] && last_o == bits[LastAt] &&
    lanes_o == bits[LanesAt +: mt_pkg::LanesW] && piece_o == PlaceW'({bits[GroupAt +: 5], bits[PieceAt +: PieceW]}) &&
    turn_o == bits[TurnAt +: CntW] && after_o == bits[AfterAt +: CntW] && len_o == says &&
    offset_o == bits[OffsetAt +: 16] &&
    32'(addr_o) == 32'(bits[StartAt +: 24]) << (wide_i ? 2 : 1)))
`MT_ASSERT(DataIsData, !payload_o || data_o == bits[mt_pkg::DataW-1:0])
`MT_ASSERT(PieceExists, !header_o || piece_error_o == (32'(bits[PieceAt +: 14]) >= 1 << PieceW ||
                                                   32'(bits[GroupAt +: 5]) >= 1 << GroupW))

// Parity, bit by bit: all that differs from what is right is corrupt.
logic [7:0] parity;
always_comb begin
  parity = '0;
  for (int unsigned i = 0; i < ParityAt + 2; i++) parity[i % 8] = parity[i % 8] ^ (i < ParityAt ? bits[i] : bits[i + 8]);
end
`MT_ASSERT(CorruptIsWrongParity, !flit_valid || corrupt_o == (parity != bits[ParityAt +: 8]))
// Of what comes nothing is lost while it waits.
`MT_ASSERT_NEXT(Waits, flit_valid && !taken_i, flit_valid && $stable(bits))
`MT_ASSERT_NEXT(RoomWasThere, ready_o, level < 3'd4)

`MT_COVER(WholeWorm, state_q == Payload && $past(state_q == Payload) && is_tail && payload_o &&
                     !length_error_o && !corrupt_o && level == 3'd1)
`MT_COVER(RouteThenEmpty, state_q == Route && is_tail && header_o && !length_error_o && sane)
