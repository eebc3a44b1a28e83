// SPDX-License-Identifier: BSD-3-Clause
// A receive port: takes worms in, adds their words to the buffer (or copies them) in the order of
// the schedule, and puts beside the buffer what comes too early. docs/nic-spec.md, "Pipelined
// reduction", says what happens in which cycle; the numbers below are of its list.
`include "mt_assert.svh"

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

  // The port's last write.
  output logic              wrote_valid_o,
  output logic [PieceW-1:0] wrote_piece_o,
  output logic [CntW-1:0]   wrote_turn_o,
  output logic [LenW-1:0]   wrote_count_o,
  output logic [LenW-1:0]   wrote_end_o,   // words of the message up to the end of the worm
  // A message is taken in.
  output logic              taken_o,
  output logic [PieceW-1:0] taken_piece_o,

  // Events.
  output logic corrupt_o,
  output logic length_error_o,
  output logic piece_error_o,
  output logic duplicate_o,
  output logic parked_full_o,
  output logic parked_o,
  output logic header_o,
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
  output logic [15:0]       stage_wr_tkeep_o,
  // Results: address, which bytes, word.
  output logic              res_tvalid_o,
  input  logic              res_tready_i,
  output logic [AddrW-1:0]  res_taddr_o,
  output logic [15:0]       res_tkeep_o,
  output logic [DataW-1:0]  res_tdata_o,

  // The reduction unit: operands, and results `Latency` enabled cycles later.
  output logic              unit_en_o,
  output logic              unit_valid_o,
  output logic              unit_copy_o,
  output logic [DataW-1:0]  unit_a_o,
  output logic [DataW-1:0]  unit_b_o,
  input  logic              unit_valid_i,
  input  logic [DataW-1:0]  unit_result_i
);

  localparam int unsigned SlotW = ParkSlots > 1 ? $clog2(ParkSlots) : 1;

  // A worm to be taken in.
  typedef struct packed {
    logic gather;
    logic last;
    logic [mt_pkg::LanesW-1:0] lanes;
    logic [PieceW-1:0] piece;
    logic [CntW-1:0] turn;
    logic [CntW-1:0] after;
    logic [LenW-1:0] len;      // words
    logic [LenW-1:0] offset;   // words of the message before it
    logic [AddrW-1:0] addr;    // of the message
  } worm_t;

  // ---- Flits, as they come. A short queue, in case that memory is slow.
  logic flit_valid, flit_taken;
  mt_pkg::flit_t flit;
  logic [2:0] level;
  logic unused_ready;
  mt_fifo #(.Width(mt_pkg::FlitW), .Depth(4), .Bypass(1)) u_flits (
    .clk_i, .rst_ni,
    .in_valid_i(valid_i), .in_ready_o(unused_ready), .in_data_i(flit_i),
    .out_valid_o(flit_valid), .out_ready_i(flit_taken), .out_data_o(flit), .level_o(level));
  assign ready_o = level <= 3'd1;  // one is on the way, one may leave the router now

  logic [mt_pkg::ParityW-1:0] parity;
  mt_parity #(.Width(DataW + 2), .Groups(mt_pkg::ParityW)) u_parity (
    .data_i(flit_valid ? {flit.head, flit.tail, flit.data} : '0), .parity_o(parity));
  assign corrupt_o = flit_valid && parity != flit.parity;

  mt_pkg::header_t header;
  logic after_route_q;      // the flit before this one was a route
  logic in_worm_q;          // payload comes
  logic [LenW-1:0] left_q;  // flits of it
  logic is_route, is_header, is_payload;
  assign header = flit.data;
  assign is_route = flit_valid && flit.head && header.is_route;
  assign is_header = flit_valid && ((flit.head && !header.is_route) || after_route_q);
  assign is_payload = flit_valid && !flit.head && in_worm_q && !after_route_q;
  assign length_error_o = flit_valid && (
      flit.head ? in_worm_q || after_route_q || (is_route && flit.tail)
                : !in_worm_q && !after_route_q)
    || (is_header && flit.tail != (header.flits == '0))
    || (is_payload && flit.tail != (left_q == LenW'(1)));
  assign piece_error_o = is_header && (header.piece >> PieceW) != '0;

  logic bad, stops;
  assign bad = corrupt_o || length_error_o || piece_error_o;
  assign stops = halt_i || bad;

  worm_t arriving;
  always_comb begin
    arriving = '0;
    if (is_header) begin
      arriving.gather = header.gather;
      arriving.last = header.last;
      arriving.lanes = header.lanes;
      arriving.piece = header.piece[PieceW-1:0];
      arriving.turn = CntW'(header.turn);
      arriving.after = CntW'(header.after);
      arriving.len = header.flits;
      arriving.offset = header.offset;
      arriving.addr = wide_i ? {1'b0, header.start, 2'b0} : {2'b0, header.start, 1'b0};
    end
  end

  // ---- The current worm.
  logic cur_valid_q, cur_live_q;  // its flits are still arriving
  worm_t cur_q;
  logic [LenW-1:0] pos_q;         // of the next word in the message
  logic [LenW-1:0] rest_q;        // words not yet issued
  logic [LenW-1:0] behind_q;      // words beside the buffer, not yet issued

  // ---- Early worms.
  logic [ParkSlots-1:0] slot_q;   // in use
  worm_t slots [ParkSlots];
  logic [SlotW-1:0] last_slot_q;  // parked last
  logic last_slot_valid_q;        // and not started
  logic live_slot_q;              // the flits that arrive are for it
  logic [mt_pkg::CountW-1:0] live_turn_q;
  logic [AddrW-1:0] live_addr_q;  // of the next flit
  logic live_last_q;              // its last flit is the message's
  logic [mt_pkg::LanesW-1:0] live_lanes_q;

  // ---- What is looked at: the current worm, one that arrives, or a parked one.
  logic looks_at_slot;
  logic [ParkSlots-1:0] unused_chosen, unused_free;
  logic [SlotW-1:0] slot_idx;
  assign looks_at_slot = !cur_valid_q && !is_header && slot_q != '0;
  mt_rr_arb #(.N(ParkSlots)) u_slot (
    .clk_i, .rst_ni, .req_i(slot_q), .en_i(looks_at_slot && !stops), .gnt_o(unused_chosen),
    .gnt_idx_o(slot_idx));

  worm_t seen;
  logic [LenW-1:0] seen_pos;
  always_comb begin
    if (cur_valid_q) begin
      seen = cur_q;
      seen_pos = pos_q;
    end else begin
      seen = looks_at_slot ? slots[slot_idx] : arriving;
      seen_pos = seen.offset;
    end
  end
  assign piece_o = seen.piece;
  assign turn_o = seen.turn;

  // May word seen_pos be added now?
  logic in_turn, follows, order_ok, read_ok, may_add;
  assign in_turn = taken_i == seen.turn;
  assign follows = written_before > seen_pos;
  assign order_ok = in_turn || follows;
  assign read_ok = EnExchange == 0 || sent_i >= seen.after
                   || (sent_i + CntW'(1) == seen.after && reading_i && reading_count_i > seen_pos);
  assign may_add = order_ok && read_ok;

  // What the other port has written of the message before: it may write others' words meanwhile.
  logic [LenW-1:0] written_before;
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
  logic cuts;
  logic [LenW-1:0] reach;
  assign reach = before_end_i - seen.offset;
  assign cuts = EnPackets != 0 && looks_at_slot && !in_turn && reach < seen.len;

  // May it start? Worms of a message in their order; each message once.
  logic [LenW-1:0] claimed_words;
  logic starts, may_start, is_claimed;
  assign is_claimed = seen.offset == '0 ? claimed_i == seen.turn : claimed_words == seen.offset;
  assign may_start = may_add && is_claimed;
  assign starts = !cur_valid_q && (is_header || looks_at_slot) && may_start && !stops;
  assign claim_o = starts && seen.offset == '0;
  assign duplicate_o = !cur_valid_q && (is_header || looks_at_slot)
                       && (taken_i > seen.turn || (in_turn && claimed_i > seen.turn
                                                   && seen.offset < claimed_or_one));
  logic [LenW-1:0] claimed_or_one;
  if (EnPackets != 0) begin : gen_claims
    logic [LenW-1:0] claims [1 << PieceW];
    assign claimed_words = claims[seen.piece];
    assign claimed_or_one = claimed_words == '0 ? '1 : claimed_words;
    always_ff @(posedge clk_i) begin
      if (clear_i) claims[clear_piece_i] <= '0;
      else if (starts) claims[seen.piece] <= seen.last && !cuts ? '0 : seen.offset + started_len;
    end
  end else begin : gen_no_claims
    assign claimed_words = '0;
    assign claimed_or_one = '1;
    logic unused_clear;
    assign unused_clear = &{1'b0, clear_piece_i};
  end

  logic [LenW-1:0] started_len;
  assign started_len = cuts ? reach : seen.len;

  // 1. Issue: a word beside the buffer, or the one that arrives.
  logic can_ask, from_stage, direct, issues, is_empty_worm;
  assign is_empty_worm = cur_q.len == '0;
  assign from_stage = cur_valid_q && behind_q != '0;
  assign direct = cur_valid_q && cur_live_q && is_payload && behind_q == '0;
  assign issues = !stops && can_ask && (is_empty_worm ? cur_valid_q && in_turn && read_ok
                                                      : (from_stage || direct) && may_add);
  assign issued_o = issues;
  assign issued_pos_o = pos_q;

  // The bytes of a message's last word: other messages' lie behind it.
  logic [15:0] live_keep, cur_keep;
  always_comb begin
    for (int unsigned b = 0; b < 16; b++) begin
      live_keep[b] = (wide_i ? b / 4 : b / 2) <= 32'(live_lanes_q);
      cur_keep[b] = (wide_i ? b / 4 : b / 2) <= 32'(cur_q.lanes);
    end
  end

  // 2. Other payload goes beside the buffer.
  logic stages;
  assign stages = is_payload && !stops && !(issues && direct && !is_empty_worm);
  assign stage_wr_tvalid_o = stages;
  assign stage_wr_tdata_o = {live_turn_q, live_addr_q, flit.data};
  assign stage_wr_tkeep_o = live_last_q && flit.tail ? live_keep : '1;
  assign flit_taken = halt_i || !stages || stage_wr_tready_i;

  // 3. A header starts or is parked: behind the slot parked last, or in a free one.
  logic parks, joins;
  logic [SlotW-1:0] free_idx, park_idx;
  logic any_free;
  worm_t parked_last;  // some of it is not looked at
  assign parked_last = slots[last_slot_q];
  assign joins = EnPackets != 0 && last_slot_valid_q && parked_last.piece == arriving.piece
                   && parked_last.turn == arriving.turn
                   && parked_last.offset + parked_last.len == arriving.offset;
  mt_prio_enc #(.N(ParkSlots)) u_free (
    .req_i(~slot_q), .any_o(any_free), .onehot_o(unused_free), .idx_o(free_idx));
  assign parks = is_header && !stops && !starts && !duplicate_o;
  assign parked_full_o = parks && !joins && !any_free;
  assign park_idx = joins ? last_slot_q : free_idx;
  assign header_o = is_header;
  assign parked_o = parks;

  worm_t to_park;
  always_comb begin
    to_park = arriving;
    if (joins) begin
      to_park.offset = parked_last.offset;
      to_park.len = parked_last.len + arriving.len;
    end
  end

  worm_t rest_of_slot;
  always_comb begin
    rest_of_slot = seen;
    rest_of_slot.offset = before_end_i;
    rest_of_slot.len = seen.len - reach;
  end

  // The parked worm's words that are there, with the one that arrives now.
  logic [LenW-1:0] slot_behind;
  logic for_slot;
  assign for_slot = live_slot_q && in_worm_q && last_slot_q == slot_idx;
  assign slot_behind = seen.len - (for_slot ? left_q - LenW'(stages) : '0);

  always_ff @(posedge clk_i) begin
    if (parks) slots[park_idx] <= to_park;
    else if (starts && cuts) slots[slot_idx] <= rest_of_slot;
    if (is_header) begin
      live_turn_q <= header.turn;
      live_last_q <= header.last;
      live_lanes_q <= header.lanes;
      live_addr_q <= arriving.addr + {{(AddrW - LenW - 4) {1'b0}}, header.offset, 4'b0};
    end else if (is_payload && flit_taken) begin
      live_addr_q <= live_addr_q + AddrW'(16);
    end
    if (starts) begin
      cur_q <= seen;
      cur_q.last <= seen.last && !cuts;
      cur_q.len <= started_len;
      pos_q <= seen.offset;
      rest_q <= started_len;
    end else if (issues) begin
      pos_q <= pos_q + LenW'(1);
      rest_q <= rest_q - LenW'(1);
    end
  end

  logic ends;  // the last word of the current worm is issued
  assign ends = issues && (is_empty_worm || rest_q == LenW'(1));

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      after_route_q <= 1'b0;
      in_worm_q <= 1'b0;
      cur_valid_q <= 1'b0;
      cur_live_q <= 1'b0;
      live_slot_q <= 1'b0;
      last_slot_valid_q <= 1'b0;
      last_slot_q <= '0;
      slot_q <= '0;
      behind_q <= '0;
    end else begin
      if (flit_valid && flit_taken) begin
        after_route_q <= is_route;
        if (is_header) begin
          in_worm_q <= !flit.tail;
          left_q <= header.flits;
        end else if (is_payload) begin
          in_worm_q <= !flit.tail;
          left_q <= left_q - LenW'(1);
        end
      end
      if (starts) begin
        cur_valid_q <= 1'b1;
        cur_live_q <= is_header || (for_slot && !cuts);
        behind_q <= is_header ? '0 : cuts ? reach : slot_behind;
      end else begin
        if (ends) cur_valid_q <= 1'b0;
        if (ends || is_header) cur_live_q <= 1'b0;
        if (cur_valid_q) begin
          behind_q <= behind_q + LenW'(stages && cur_live_q) - LenW'(issues && from_stage);
        end
      end
      // Which slot the flits that arrive are for.
      if (parks) begin
        slot_q[park_idx] <= 1'b1;
        last_slot_q <= park_idx;
        last_slot_valid_q <= 1'b1;
        live_slot_q <= 1'b1;
      end else if (is_header) begin
        live_slot_q <= 1'b0;
      end
      if (starts && looks_at_slot && !cuts) begin
        slot_q[slot_idx] <= 1'b0;
        if (slot_idx == last_slot_q) begin
          last_slot_valid_q <= 1'b0;
          live_slot_q <= 1'b0;
        end
      end
    end
  end

  // ---- Words on their way: what belongs to each, until the words of memory are there.
  typedef struct packed {
    logic adds;               // needs the buffer's word
    logic staged;             // needs the word beside the buffer
    logic ends;               // the last of its message
    logic empty;              // there is no word
    logic [15:0] keep;
    logic [AddrW-1:0] addr;
    logic [PieceW-1:0] piece;
    logic [CntW-1:0] turn;
    logic [LenW-1:0] count;   // words of the message up to this one
    logic [LenW-1:0] finish;  // and up to the end of the worm
  } word_t;
  localparam int unsigned WordW = 4 + 16 + AddrW + PieceW + CntW + 2 * LenW;

  word_t word;
  always_comb begin
    word.adds = !cur_q.gather && !is_empty_worm;
    word.staged = from_stage;
    word.ends = ends && cur_q.last;
    word.empty = is_empty_worm;
    word.keep = ends && cur_q.last ? cur_keep : '1;
    word.addr = cur_q.addr + {{(AddrW - LenW - 4) {1'b0}}, pos_q, 4'b0};
    word.piece = cur_q.piece;
    word.turn = cur_q.turn;
    word.count = pos_q + LenW'(1);
    word.finish = EnPackets != 0 ? pos_q + rest_q : '0;
  end

  // All of them are asked in the same cycle, so either all are ready or none is asked.
  logic way_ready, way_valid, way_taken;
  word_t way;
  logic [DataW-1:0] way_data;
  logic [$clog2(MaxOutstanding+1)-1:0] unused_way_level, unused_acc_level, unused_stage_level;
  assign can_ask = way_ready && acc_req_tready_i && stage_req_tready_i;
  assign acc_req_tvalid_o = issues && word.adds;
  assign acc_req_tdata_o = word.addr;
  assign stage_req_tvalid_o = issues && word.staged;
  assign stage_req_tdata_o = {mt_pkg::CountW'(cur_q.turn), word.addr};
  mt_fifo #(.Width(WordW + DataW), .Depth(MaxOutstanding)) u_way (
    .clk_i, .rst_ni,
    .in_valid_i(issues), .in_ready_o(way_ready), .in_data_i({word, flit.data}),
    .out_valid_o(way_valid), .out_ready_i(way_taken), .out_data_o({way, way_data}),
    .level_o(unused_way_level));

  logic acc_valid, stage_valid;
  logic [DataW-1:0] acc, staged;
  mt_fifo #(.Width(DataW), .Depth(MaxOutstanding), .Bypass(1)) u_acc (
    .clk_i, .rst_ni, .in_valid_i(acc_tvalid_i), .in_ready_o(acc_tready_o), .in_data_i(acc_tdata_i),
    .out_valid_o(acc_valid), .out_ready_i(way_taken && way.adds), .out_data_o(acc),
    .level_o(unused_acc_level));
  mt_fifo #(.Width(DataW), .Depth(MaxOutstanding), .Bypass(1)) u_stage (
    .clk_i, .rst_ni,
    .in_valid_i(stage_tvalid_i), .in_ready_o(stage_tready_o), .in_data_i(stage_tdata_i),
    .out_valid_o(stage_valid), .out_ready_i(way_taken && way.staged), .out_data_o(staged),
    .level_o(unused_stage_level));

  // ---- The reduction unit, and what travels beside it.
  logic complete;
  word_t beside_q [Latency];
  assign unit_en_o = !res_tvalid_o || res_tready_i;
  assign complete = way_valid && (!way.adds || acc_valid) && (!way.staged || stage_valid);
  assign way_taken = complete && unit_en_o;
  assign unit_valid_o = complete && !halt_i;
  assign unit_copy_o = !way.adds;
  assign unit_a_o = acc;
  assign unit_b_o = way.staged ? staged : way_data;
  always_ff @(posedge clk_i) begin
    if (unit_en_o) begin
      if (complete) beside_q[0] <= way;
      for (int unsigned i = 1; i < Latency; i++) beside_q[i] <= beside_q[i-1];
    end
  end

  // ---- Results.
  word_t done;
  logic writes;
  assign done = beside_q[Latency-1];
  assign res_tvalid_o = unit_valid_i && !done.empty && !halt_i;
  assign res_taddr_o = done.addr;
  assign res_tkeep_o = done.keep;
  assign res_tdata_o = unit_result_i;
  assign writes = unit_valid_i && !halt_i && (done.empty || res_tready_i);
  assign taken_o = writes && done.ends;
  assign taken_piece_o = done.piece;
  always_ff @(posedge clk_i) begin
    if (writes) begin
      wrote_piece_o <= done.piece;
      wrote_turn_o <= done.turn;
      wrote_count_o <= done.count;
      wrote_end_o <= done.finish;
    end
    if (!rst_ni || clear_i) wrote_valid_o <= 1'b0;
    else if (writes) wrote_valid_o <= 1'b1;
  end

  `MT_ASSERT(FlitHasPlace, !valid_i || level < 3'd4)
  `MT_ASSERT(BehindWithinRest, !cur_valid_q || behind_q <= rest_q)
  `MT_ASSERT(IssuesInOrder, !issues || may_add || is_empty_worm)
  `MT_ASSERT(StartsOnce, !starts || !cur_valid_q)
  `MT_ASSERT_NEXT(ResultStays, res_tvalid_o && !res_tready_i && !halt_i,
                  halt_i || (res_tvalid_o && $stable(res_taddr_o)))

endmodule
