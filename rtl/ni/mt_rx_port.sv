// SPDX-License-Identifier: BSD-3-Clause
// A receive port: takes worms in, adds their words to the buffer (or copies them) in the order of
// the schedule, and puts beside the buffer what comes too early. docs/nic-spec.md, "Pipelined
// reduction", says what happens in which cycle; the numbers below are of its list.
`include "mt_assert.svh"
`include "mt_work.svh"
`include "mt_worm.svh"

module mt_rx_port #(
  // Pieces of the collective: 2^PieceW; width of their counts.
  parameter int unsigned PieceW = 10,
  parameter int unsigned CntW = 6,
  // Places for early worms.
  parameter int unsigned ParkSlots = 8,
  // 1: packets are supported.
  parameter int unsigned EnPackets = 1,
  // 1: ranks may exchange sums: words wait for what is still to be read.
  parameter int unsigned EnExchange = 1,
  // Cycles of the reduction unit.
  parameter int unsigned Latency = 3,
  // Words that may be asked for before they are there; a power of two.
  parameter int unsigned MaxOutstanding = 2,
  // Groups: 2^GroupW.
  parameter int unsigned GroupW = 0,
  // 1: sums may lack late contributions, and headers have their counts.
  parameter int unsigned EnLosses = 0,
  // A piece with its group above it.
  localparam int unsigned PlaceW = GroupW + PieceW,
  localparam int unsigned LenW = mt_pkg::LenW,
  localparam int unsigned AddrW = mt_pkg::AddrW,
  localparam int unsigned DataW = mt_pkg::DataW,
  localparam int unsigned StageW = mt_pkg::CountW + AddrW
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Forget all worms; and the claims of one piece.
  input  logic clear_i,
  input  logic [PieceW-1:0] clear_piece_i,

  input  logic wide_i,   // elements of 4 bytes, else of 2
  input  logic halt_i,   // something went wrong: take no more in
  // Doorbells that have been rung: worms of these groups may start.
  input  logic [(1<<GroupW)-1:0] rung_i,
  // The rank's own contribution is nothing: what is added to it first is added to 0.
  input  logic absent_i,

  // From the router.
  input  logic                     valid_i,
  input  logic [mt_pkg::FlitW-1:0] flit_i,
  output logic                     ready_o,

  // The scoreboard, for piece_o; and the other ports' state, for the message (piece_o, turn_o).
  output logic [PieceW-1:0] piece_o,
  output logic [CntW-1:0]   turn_o,
  input  logic [CntW-1:0]   taken_i,
  input  logic [CntW-1:0]   sent_i,
  input  logic [CntW-1:0]   claimed_i,
  output logic              claim_o,
  // Another port has written words of the message before this one in turn: how many.
  input  logic              before_valid_i,
  input  logic [LenW-1:0]   before_count_i,
  input  logic [LenW-1:0]   before_end_i,  // with the rest of their worm
  // Just one port sends the piece: how many words it has sent.
  input  logic              reading_i,
  input  logic [LenW-1:0]   reading_count_i,
  // Whether these two are looked at.
  output logic              not_in_turn_o,
  output logic              not_read_o,

  // The port's last write.
  output logic              wrote_valid_o,
  output logic [PieceW-1:0] wrote_piece_o,
  output logic [CntW-1:0]   wrote_turn_o,
  output logic [LenW-1:0]   wrote_count_o,
  output logic [LenW-1:0]   wrote_end_o,   // words of the message up to the end of the worm
  // A message is taken in.
  output logic              taken_o,
  output logic [PieceW-1:0] taken_piece_o,
  output logic [(GroupW>0?GroupW:1)-1:0] taken_group_o,

  // Events.
  output logic corrupt_o,
  output logic length_error_o,
  output logic piece_error_o,
  output logic duplicate_o,
  output logic parked_full_o,
  output logic parked_o,
  output logic header_o,
  // A message's first header comes: what the sum in it holds.
  output logic came_o,
  output logic came_gather_o,
  output logic [PlaceW-1:0] came_place_o,
  output logic [mt_pkg::SrcW-1:0] came_count_o,
  output logic issued_o,
  output logic [LenW-1:0] issued_pos_o,

  // AXI4-Stream. Words of the buffer to be added to: addresses, words.
  output logic              acc_req_tvalid_o,
  input  logic              acc_req_tready_i,
  output logic [AddrW-1:0]  acc_req_tdata_o,
  input  logic              acc_tvalid_i,
  output logic              acc_tready_o,
  input  logic [DataW-1:0]  acc_tdata_i,
  // Words beside the buffer: addresses (turn, byte), words; and those written there.
  output logic              stage_req_tvalid_o,
  input  logic              stage_req_tready_i,
  output logic [StageW-1:0] stage_req_tdata_o,
  input  logic              stage_tvalid_i,
  output logic              stage_tready_o,
  input  logic [DataW-1:0]  stage_tdata_i,
  output logic              stage_wr_tvalid_o,
  input  logic              stage_wr_tready_i,
  output logic [StageW+DataW-1:0] stage_wr_tdata_o,
  output logic [mt_pkg::KeepW-1:0] stage_wr_tkeep_o,
  // Results: address, which bytes, word.
  output logic              res_tvalid_o,
  input  logic              res_tready_i,
  output logic [AddrW-1:0]  res_taddr_o,
  output logic [mt_pkg::KeepW-1:0] res_tkeep_o,
  output logic [DataW-1:0]  res_tdata_o,

  // The reduction unit. It is asked for a word that is added, which is issued only if it may go.
  output logic              unit_ask_o,
  input  logic              unit_go_i,
  // Operands, which go when they are taken; results `Latency` enabled cycles later, and whether
  // there is nothing in their way.
  output logic              unit_ready_o,
  input  logic              unit_take_i,
  output logic              unit_valid_o,
  output logic              unit_copy_o,
  output logic [DataW-1:0]  unit_a_o,
  output logic [DataW-1:0]  unit_b_o,
  input  logic              unit_valid_i,
  input  logic [DataW-1:0]  unit_result_i
);

  `MT_WORM_T(PlaceW, CntW)
  localparam int unsigned ByteW = mt_pkg::ByteW;

  // ---- Flits, as they come.
  logic is_header, is_payload, tail, flit_taken, in_worm;
  logic [DataW-1:0] data;
  worm_t arriving;
  logic last, wrong_length;
  logic [LenW-1:0] offset;
  mt_rx_flits #(.PieceW(PieceW), .CntW(CntW), .GroupW(GroupW)) u_flits (
    .clk_i, .rst_ni, .clear_i, .wide_i, .valid_i, .flit_i, .ready_o,
    .header_o(is_header), .payload_o(is_payload), .data_o(data), .tail_o(tail),
    .taken_i(flit_taken), .gather_o(arriving.gather), .last_o(last),
    .lanes_o(arriving.lanes), .piece_o(arriving.piece), .turn_o(arriving.turn),
    .after_o(arriving.after), .len_o(arriving.len), .offset_o(offset),
    .addr_o(arriving.addr), .src_o(came_count_o), .in_worm_o(in_worm), .corrupt_o, .length_error_o(wrong_length), .piece_error_o);
  // Without packets, a worm is a message.
  assign arriving.last = EnPackets == 0 || last;
  assign arriving.offset = EnPackets != 0 ? offset : '0;
  assign length_error_o = wrong_length
                          || (EnPackets == 0 && is_header && (!last || offset != '0));

  logic bad, stops;
  assign bad = corrupt_o || length_error_o || piece_error_o;
  assign stops = halt_i || bad;

  // With their groups: what the last write and the message that is taken in are of.
  logic [PlaceW-1:0] wrote_place, taken_place;
  assign wrote_piece_o = wrote_place[PieceW-1:0];
  assign taken_piece_o = taken_place[PieceW-1:0];
  logic unused_place;
  assign unused_place = &{1'b0, wrote_place};

  // ---- The current worm.
  logic cur_valid_q, cur_live_q;  // its flits are still arriving
  logic cur_gather_q, cur_last_q, cur_empty_q;
  logic [mt_pkg::LanesW-1:0] cur_lanes_q;
  logic [PlaceW-1:0] cur_piece_q;
  logic [CntW-1:0] cur_turn_q, cur_after_q;
  logic [LenW-1:0] pos_q;         // of the next word in the message
  logic [LenW-1:0] next_pos;      // of the one after it
  logic [LenW-1:0] end_q;         // words of the message up to the end of the worm
  logic [AddrW-1:0] addr_q;       // of the next word
  logic [LenW-1:0] live_word;     // of the buffer, that the next flit is for

  // ---- What is looked at: the current worm, one that arrives, or a parked one.
  logic looks_at_slot, for_slot, parks, starts;
  worm_t in_slot;
  logic cuts;              // a worm from a slot starts in part
  logic [LenW-1:0] reach;  // of it, if so
  mt_rx_slots #(
    .ParkSlots(ParkSlots), .PieceW(PlaceW), .CntW(CntW), .EnPackets(EnPackets)
  ) u_slots (
    .clk_i, .rst_ni, .clear_i, .look_i(!cur_valid_q && !is_header), .next_i(!stops),
    .looks_o(looks_at_slot), .worm_o(in_slot), .live_o(for_slot), .starts_i(starts), .cuts_i(cuts),
    .cut_at_i(before_end_i), .cut_words_i(reach), .header_i(is_header), .in_worm_i(in_worm),
    .parks_i(parks), .arriving_i(arriving), .full_o(parked_full_o));

  worm_t seen;   // of those that may start
  logic [PieceW-1:0] piece;
  logic [CntW-1:0] turn, after;
  logic [LenW-1:0] seen_pos;
  always_comb begin
    seen = arriving;
    if (looks_at_slot) seen = in_slot;
    if (EnPackets == 0) seen.offset = '0;
    piece = cur_valid_q ? cur_piece_q[PieceW-1:0] : seen.piece[PieceW-1:0];
    turn = cur_valid_q ? cur_turn_q : seen.turn;
    after = cur_valid_q ? cur_after_q : seen.after;
    seen_pos = cur_valid_q ? pos_q : seen.offset;
  end
  assign piece_o = piece;
  assign turn_o = turn;

  // May word seen_pos be added now?
  logic in_turn, follows, order_ok, read_ok, may_add;
  // What the other port has written of the message before: it may write others' words meanwhile.
  logic [LenW-1:0] written_before;
  assign in_turn = taken_i == turn;
  assign not_in_turn_o = !in_turn;
  assign not_read_o = EnExchange != 0 && sent_i < after;
  assign follows = written_before > seen_pos;
  assign order_ok = in_turn || follows;
  assign read_ok = !not_read_o || (sent_i + CntW'(1) == after && reading_i
                                   && reading_count_i > seen_pos);
  assign may_add = order_ok && read_ok;

  if (EnPackets != 0) begin : gen_written
    logic [LenW-1:0] known_q, now;
    assign now = before_valid_i ? before_count_i : '0;
    assign written_before = cur_valid_q && known_q > now ? known_q : now;
    always_ff @(posedge clk_i) if (cur_valid_q || starts) known_q <= written_before;
  end else begin : gen_written_now
    assign written_before = before_valid_i ? before_count_i : '0;
  end

  // A worm that follows another goes no further than that: what has started never waits for what
  // has not. The rest stays in its slot. (All messages of a piece are cut alike, so a worm that is
  // still arriving is never cut.)
  always_comb begin
    reach = '0;
    cuts = 1'b0;
    if (`MT_WORK(looks_at_slot)) begin
      reach = before_end_i - seen.offset;
      cuts = EnPackets != 0 && looks_at_slot && !in_turn && reach < seen.len;
    end
  end

  // May it start? Worms of a message in their order; each message once; its doorbell has been rung.
  logic [LenW-1:0] claimed_words, claimed_or_one;
  logic may_start, is_claimed, is_rung;
  if (GroupW > 0) begin : gen_rung
    assign is_rung = rung_i[seen.piece[PlaceW-1 -: GroupW]];
    assign taken_group_o = taken_place[PlaceW-1 -: GroupW];
  end else begin : gen_one_group
    assign is_rung = rung_i[0];
    assign taken_group_o = '0;
  end
  always_comb begin
    {is_claimed, may_start, starts, claim_o, duplicate_o} = '0;
    if (`MT_WORK(!cur_valid_q && (is_header || looks_at_slot))) begin
      is_claimed = claimed_words == seen.offset
                   && (seen.offset != '0 || claimed_i == seen.turn);
      may_start = may_add && is_claimed && is_rung;
      starts = !cur_valid_q && (is_header || looks_at_slot) && may_start && !stops;
      claim_o = starts && seen.offset == '0;
      duplicate_o = !cur_valid_q && (is_header || looks_at_slot)
                    && (taken_i > seen.turn || (in_turn && claimed_i > seen.turn
                                                && seen.offset < claimed_or_one));
    end
  end
  logic [LenW-1:0] started_len;
  assign started_len = cuts ? reach : seen.len;
  if (EnPackets != 0) begin : gen_claims
    logic [LenW-1:0] claims [1 << PieceW];
    assign claimed_words = claims[seen.piece[PieceW-1:0]];
    assign claimed_or_one = claimed_words == '0 ? '1 : claimed_words;
    always_ff @(posedge clk_i) begin
      if (clear_i) claims[clear_piece_i] <= '0;
      else if (starts) claims[seen.piece[PieceW-1:0]] <= seen.last && !cuts ? '0 : seen.offset + started_len;
    end
  end else begin : gen_no_claims
    assign claimed_words = '0;
    assign claimed_or_one = '1;
    logic unused_clear;
    assign unused_clear = &{1'b0, clear_piece_i};
  end

  // 1. Issue: a word beside the buffer, or the one that arrives.
  // While its flits arrive, words of the worm are beside the buffer if the next flit is not for the
  // next word; afterwards all that are left are.
  logic is_offered;  // the flit, to the memory beside the buffer, and goes there
  logic can_ask, behind, from_stage, direct, could, adds, issues;
  assign behind = !cur_live_q || live_word != addr_q[ByteW +: LenW];
  assign from_stage = cur_valid_q && behind && !cur_empty_q;
  assign direct = cur_valid_q && !behind && is_payload && !is_offered;
  assign could = `MT_WORK(cur_valid_q) && !stops && can_ask
                 && (cur_empty_q ? cur_valid_q && in_turn && read_ok
                                 : (from_stage || direct) && may_add);
  assign adds = !cur_gather_q && !cur_empty_q;
  assign unit_ask_o = could && adds;
  assign issues = could && unit_go_i;
  assign issued_o = issues;
  assign issued_pos_o = pos_q;

  // 2. Other payload waits, or goes beside the buffer.
  mt_rx_beside #(.CntW(CntW)) u_beside (
    .clk_i, .rst_ni, .clear_i, .wide_i, .stop_i(stops), .header_i(is_header),
    .turn_i(arriving.turn), .last_i(arriving.last), .lanes_i(arriving.lanes),
    .addr_i(arriving.addr + {{(AddrW - LenW - ByteW) {1'b0}}, arriving.offset, {ByteW{1'b0}}}),
    .payload_i(is_payload), .tail_i(tail), .data_i(data), .taken_o(flit_taken),
    .next_word_o(live_word), .current_i(cur_valid_q && cur_live_q), .may_add_i(may_add),
    .can_ask_i(can_ask), .offered_o(is_offered), .issued_i(issues && direct && !cur_empty_q),
    .stage_wr_tvalid_o, .stage_wr_tready_i, .stage_wr_tdata_o, .stage_wr_tkeep_o);

  // 3. A header starts or is parked.
  assign parks = is_header && !stops && !starts && !duplicate_o;
  assign header_o = is_header;
  assign came_o = EnLosses != 0 && is_header && !stops && offset == '0;
  assign came_gather_o = arriving.gather;
  assign came_place_o = arriving.piece;
  assign parked_o = parks;

  always_ff @(posedge clk_i) begin
    if (starts) begin
      cur_gather_q <= seen.gather;
      cur_last_q <= seen.last && !cuts;
      cur_empty_q <= started_len == '0;
      cur_lanes_q <= seen.lanes;
      cur_piece_q <= seen.piece;
      cur_turn_q <= seen.turn;
      cur_after_q <= seen.after;
      pos_q <= seen.offset;
      addr_q <= seen.addr + {{(AddrW - LenW - ByteW) {1'b0}}, seen.offset, {ByteW{1'b0}}};
      end_q <= seen.offset + started_len;
    end else if (issues) begin
      pos_q <= next_pos;
      addr_q <= addr_q + AddrW'(mt_pkg::KeepW);
    end
  end

  logic ends;  // the last word of the current worm is issued
  assign next_pos = pos_q + LenW'(1);
  assign ends = issues && (cur_empty_q || next_pos == end_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      cur_valid_q <= 1'b0;
      cur_live_q <= 1'b0;
    end else if (starts) begin
      cur_valid_q <= 1'b1;
      cur_live_q <= is_header || (for_slot && !cuts);
    end else begin
      if (ends) cur_valid_q <= 1'b0;
      if (ends || is_header) cur_live_q <= 1'b0;
    end
  end

  // ---- The word that is issued.
  mt_rx_words #(
    .PieceW(PlaceW), .CntW(CntW), .Latency(Latency), .MaxOutstanding(MaxOutstanding), .EnLosses(EnLosses)
  ) u_words (
    .clk_i, .rst_ni, .clear_i, .halt_i, .wide_i,
    .ready_o(can_ask), .issue_i(issues), .adds_i(adds),
    .nothing_i(EnLosses != 0 && absent_i && cur_turn_q == '0), .staged_i(from_stage), .ends_i(ends && cur_last_q), .empty_i(cur_empty_q),
    .lanes_i(cur_lanes_q), .addr_i(addr_q),
    .piece_i(cur_piece_q), .turn_i(cur_turn_q), .count_i(next_pos),
    .finish_i(EnPackets != 0 ? end_q : '0), .data_i(data),
    .wrote_valid_o, .wrote_piece_o(wrote_place), .wrote_turn_o, .wrote_count_o, .wrote_end_o,
    .taken_o, .taken_piece_o(taken_place),
    .acc_req_tvalid_o, .acc_req_tready_i, .acc_req_tdata_o, .acc_tvalid_i, .acc_tready_o,
    .acc_tdata_i, .stage_req_tvalid_o, .stage_req_tready_i, .stage_req_tdata_o, .stage_tvalid_i,
    .stage_tready_o, .stage_tdata_i, .res_tvalid_o, .res_tready_i, .res_taddr_o, .res_tkeep_o,
    .res_tdata_o, .unit_ready_o, .unit_take_i, .unit_valid_o, .unit_copy_o, .unit_a_o,
    .unit_b_o, .unit_valid_i, .unit_result_i);

  `MT_ASSERT(BehindWithinRest, !cur_valid_q || !cur_live_q ||
             LenW'(live_word - addr_q[ByteW +: LenW]) <= end_q - pos_q)
  `MT_ASSERT(IssuesInOrder, !issues || may_add || cur_empty_q)
  // A flit that waits keeps none from coming that it waits for: its worm's next word goes as soon as memory, or the
  // unit, takes it.
  `MT_ASSERT(WaitsForMemoryOnly, flit_taken || stage_wr_tvalid_o || (may_add && (!can_ask || could)))
  `MT_ASSERT(StartsOnce, !starts || !cur_valid_q)

endmodule
