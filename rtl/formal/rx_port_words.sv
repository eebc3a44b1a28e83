// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv prim/mt_onehot.sv prim/mt_prio_enc.sv prim/mt_rr_arb.sv prim/mt_sram.sv prim/mt_fifo.sv ni/mt_rx_flits.sv ni/mt_rx_slots.sv ni/mt_rx_beside.sv ni/mt_rx_words.sv ni/mt_rx_port.sv
// prove: Mine=53 Lengths=6
// prove: Mine=2 Lengths=6
// bounded: 11
// cover: 11
`include "mt_assert.svh"
`include "mt_bip.svh"

// A whole receive port: messages of two pieces that come in any order, early ones among them; other ports that
// take the messages between; memories that answer whenever they like; a reduction unit of one cycle. Each word is
// written once, where its piece lies, with what came and, if it is added, what the buffer held; messages are taken
// in in their turns, with all their words.
module rx_port_words #(
  // The schedule: which messages come to this port, a bit for each turn (0 to 2) of piece 0, from bit 4 on of
  // piece 1; and words of the messages of either piece, from bit 0 and bit 2 on.
  parameter int unsigned Mine = 53,
  parameter int unsigned Lengths = 6,
  localparam int unsigned F = mt_pkg::FlitW,
  localparam int unsigned D = mt_pkg::DataW,
  localparam int unsigned A = mt_pkg::AddrW,
  localparam int unsigned S = mt_pkg::CountW + A,
  // Of the start in a header, the bit of an element that is the first of a word.
  localparam int unsigned StartAt = mt_pkg::ShortRouteW + mt_pkg::ByteW - 2
) (
  input logic clk_i,
  input logic rst_ni,
  // What comes: a flit; a header's piece, turn and whether it is copied; a payload's lowest bit.
  input logic go_i,
  input logic piece_i,
  input logic [1:0] turn_i,
  input logic gather_i,
  input logic bit_i,
  // Other ports, by piece: they begin a message, take it in; and have written words of the one before.
  input logic [1:0] claims_i,
  input logic [1:0] takes_i,
  input logic before_i,
  input logic [1:0] before_count_i,
  // Memories and the unit.
  input logic acc_req_ready_i,
  input logic acc_go_i,
  input logic acc_bit_i,
  input logic stage_req_ready_i,
  input logic stage_go_i,
  input logic stage_bit_i,
  input logic stage_wr_ready_i,
  input logic res_ready_i,
  input logic unit_go_i
);
  `MT_BIP_SIGNALS

  initial assume (!rst_ni);

  // Where the pieces lie, in words: piece 1 behind piece 0.
  logic [3:0] first, length;
  logic [7:0] mine;  // by piece and turn
  assign first = {2'd3, 2'd1};
  assign length = 4'(Lengths);
  assign mine = 8'(Mine);
  // Any word of any message that comes here.
  (* anyconst *) logic the_piece;
  (* anyconst *) logic [1:0] the_turn, the_word;
  logic [1:0] the_first, the_length;
  assign the_first = first[the_piece*2 +: 2];
  assign the_length = length[the_piece*2 +: 2];
  always @(posedge clk_i) assume (mine[{the_piece, the_turn}] && the_word < the_length);

  // ---- The sender: whole worms, each message once, a flit only where the port had room a cycle before.
  logic valid, ready, ready_q, header, tail;
  logic [1:0] left_q, sent_q, worm_turn_q;
  logic worm_piece_q;
  logic [7:0] came_q;
  logic [F-1:0] flit;
  logic [7:0] parity;
  assign header = left_q == '0;
  assign valid = go_i && ready_q && (!header || (mine[{piece_i, turn_i}] && !came_q[{piece_i, turn_i}]));
  assign tail = header ? length[piece_i*2 +: 2] == '0 : left_q == 2'd1;
  always_comb begin
    `MT_BIP_NONE
    flit = '0;
    flit[D + 9] = header;
    flit[D + 8] = tail;
    if (header) begin
      flit[StartAt +: 2] = first[piece_i*2 +: 2];  // elements: in a word as many as it has of 4 bytes
      flit[67 +: 2] = length[piece_i*2 +: 2];
      flit[83] = piece_i;
      flit[103 +: 2] = turn_i;
      flit[117 +: mt_pkg::LanesW] = mt_pkg::LanesW'(D / 32 - 1);  // all elements of the last word
      flit[117 + mt_pkg::LanesW] = 1'b1;
      flit[118 + mt_pkg::LanesW] = gather_i;
    end else begin
      flit[0] = bit_i;
    end
    `MT_BIP(parity, {flit[D + 8 +: 2], flit[D-1:0]})
    flit[D +: 8] = parity;
  end
  logic came_bit_q, came_word_q, came_gather_q, comes_now;
  assign comes_now = valid && !header && {worm_piece_q, worm_turn_q, sent_q} == {the_piece, the_turn, the_word};
  always_ff @(posedge clk_i) begin
    ready_q <= rst_ni && ready;
    if (!rst_ni) begin
      left_q <= '0;
      came_q <= '0;
      came_word_q <= 1'b0;
    end else if (valid) begin
      left_q <= header ? length[piece_i*2 +: 2] : left_q - 2'd1;
      sent_q <= header ? '0 : sent_q + 2'd1;
      if (header) begin
        came_q[{piece_i, turn_i}] <= 1'b1;
        {worm_piece_q, worm_turn_q} <= {piece_i, turn_i};
        if ({piece_i, turn_i} == {the_piece, the_turn}) came_gather_q <= gather_i;
      end else if (comes_now) begin
        came_word_q <= 1'b1;
        came_bit_q <= bit_i;
      end
    end
  end

  // ---- The scoreboard, and the other ports: a message that is not this port's may begin in its turn.
  logic [3:0] taken_q, claimed_q;
  logic looks_piece, taken, taken_piece, claim, before;
  logic [1:0] looks_turn, other_claims, other_takes, before_turn;
  for (genvar p = 0; p < 2; p++) begin : gen_piece
    assign other_claims[p] = claims_i[p] && !mine[p*4 + 32'(claimed_q[p*2 +: 2])] && claimed_q[p*2 +: 2] != 2'd3;
    assign other_takes[p] = takes_i[p] && taken_q[p*2 +: 2] < claimed_q[p*2 +: 2]
                            && !mine[p*4 + 32'(taken_q[p*2 +: 2])];
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        taken_q[p*2 +: 2] <= '0;
        claimed_q[p*2 +: 2] <= '0;
      end else begin
        taken_q[p*2 +: 2] <= taken_q[p*2 +: 2] + 2'(other_takes[p]) + 2'(taken && 32'(taken_piece) == p);
        claimed_q[p*2 +: 2] <= claimed_q[p*2 +: 2] + 2'(other_claims[p]) + 2'(claim && 32'(looks_piece) == p);
      end
    end
  end
  assign before_turn = looks_turn - 2'd1;
  assign before = before_i && looks_turn != '0 && !mine[{looks_piece, before_turn}]
                  && claimed_q[looks_piece*2 +: 2] > before_turn
                  && before_count_i < length[looks_piece*2 +: 2];  // with its last word it is taken in

  // ---- The port. After an error it is told to stop, as the interface does it.
  logic halt_q, corrupt, length_error, piece_error, duplicate, parked_full, parked, issued;
  logic [15:0] issued_pos, wrote_count;
  logic wrote_valid, wrote_piece;
  logic [1:0] wrote_turn;
  logic acc_req, acc_valid, acc_ready, stage_req, stage_valid, stage_ready, stage_wr, res;
  logic [A-1:0] acc_addr, res_addr;
  logic [S-1:0] stage_addr;
  logic [S+D-1:0] stage_wr_data;
  logic [D-1:0] res_data, unit_a, unit_b;
  logic unit_ready, unit_valid, unit_copy, unit_valid_q, unit_result_q;
  logic acc_bit, stage_bit;
  mt_rx_port #(
    .PieceW(1), .CntW(2), .ParkSlots(2), .EnPackets(0), .EnExchange(0), .Latency(1), .MaxOutstanding(2)
  ) u_port (
    .clk_i(clk_i), .rst_ni(rst_ni), .clear_i(1'b0), .clear_piece_i(1'b0), .wide_i(1'b1), .halt_i(halt_q),
    .rung_i(1'b1), .absent_i(1'b0), .valid_i(valid), .flit_i(flit), .ready_o(ready), .piece_o(looks_piece),
    .turn_o(looks_turn), .taken_i(taken_q[looks_piece*2 +: 2]), .sent_i(2'd0),
    .claimed_i(claimed_q[looks_piece*2 +: 2]), .claim_o(claim), .before_valid_i(before),
    .before_count_i(before ? 16'(before_count_i) : 16'd0), .before_end_i(16'd0), .reading_i(1'b0),
    .reading_count_i(16'd0), .wrote_valid_o(wrote_valid), .wrote_piece_o(wrote_piece), .wrote_turn_o(wrote_turn),
    .wrote_count_o(wrote_count), .taken_o(taken), .taken_piece_o(taken_piece), .corrupt_o(corrupt),
    .length_error_o(length_error), .piece_error_o(piece_error), .duplicate_o(duplicate),
    .parked_full_o(parked_full), .parked_o(parked), .issued_o(issued), .issued_pos_o(issued_pos),
    .acc_req_tvalid_o(acc_req), .acc_req_tready_i(acc_req_ready_i), .acc_req_tdata_o(acc_addr),
    .acc_tvalid_i(acc_valid), .acc_tready_o(acc_ready), .acc_tdata_i(D'(acc_bit)),
    .stage_req_tvalid_o(stage_req), .stage_req_tready_i(stage_req_ready_i), .stage_req_tdata_o(stage_addr),
    .stage_tvalid_i(stage_valid), .stage_tready_o(stage_ready), .stage_tdata_i(D'(stage_bit)),
    .stage_wr_tvalid_o(stage_wr), .stage_wr_tready_i(stage_wr_ready_i), .stage_wr_tdata_o(stage_wr_data),
    .res_tvalid_o(res), .res_tready_i(res_ready_i), .res_taddr_o(res_addr), .res_tdata_o(res_data),
    .unit_go_i(unit_go_i), .unit_ready_o(unit_ready), .unit_take_i(unit_valid && unit_ready),
    .unit_valid_o(unit_valid), .unit_copy_o(unit_copy), .unit_a_o(unit_a), .unit_b_o(unit_b),
    .unit_valid_i(unit_valid_q), .unit_result_i(D'(unit_result_q)));
  always_ff @(posedge clk_i) halt_q <= rst_ni && (halt_q || corrupt || length_error || piece_error || duplicate || parked_full);

  // ---- The unit: an exclusive or.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) unit_valid_q <= 1'b0;
    else if (unit_ready) unit_valid_q <= unit_valid;
    if (unit_ready) unit_result_q <= unit_copy ? unit_b[0] : unit_a[0] ^ unit_b[0];
  end

  // ---- Memories: of the word that is followed they know what they hold; answers come in order, and stay.
  logic [A-1:0] the_addr;
  assign the_addr = A'({3'(the_first) + 3'(the_word), {mt_pkg::ByteW {1'b0}}});
  (* anyconst *) logic held;  // in the buffer, before the message comes
  logic [2:0] acc_due_q, stage_due_q;
  logic [3:0] acc_is_q, stage_is_q;  // which of those that are due is the followed one; the next is bit 0
  logic acc_stays_q, stage_stays_q, beside_q, beside_bit_q;
  logic acc_comes, acc_goes, stage_comes, stage_goes, beside_written;
  assign acc_valid = acc_due_q != '0 && (acc_go_i || acc_stays_q);
  assign stage_valid = stage_due_q != '0 && (stage_go_i || stage_stays_q);
  assign acc_bit = acc_is_q[0] ? held : acc_bit_i;
  assign stage_bit = stage_is_q[0] ? beside_bit_q : stage_bit_i;
  assign acc_comes = acc_req && acc_req_ready_i;
  assign acc_goes = acc_valid && acc_ready;
  assign stage_comes = stage_req && stage_req_ready_i;
  assign stage_goes = stage_valid && stage_ready;
  logic [S-1:0] the_place;
  assign the_place = {mt_pkg::CountW'(the_turn), the_addr};
  assign beside_written = stage_wr && stage_wr_data[D +: S] == the_place;
  logic [2:0] acc_left, stage_left;
  assign acc_left = acc_due_q - 3'(acc_goes);
  assign stage_left = stage_due_q - 3'(stage_goes);
  always_ff @(posedge clk_i) begin
    acc_stays_q <= rst_ni && acc_valid && !acc_ready;
    stage_stays_q <= rst_ni && stage_valid && !stage_ready;
    acc_is_q <= (acc_goes ? acc_is_q >> 1 : acc_is_q) |
                (acc_comes && acc_addr == the_addr ? 4'd1 << acc_left : 4'd0);
    stage_is_q <= (stage_goes ? stage_is_q >> 1 : stage_is_q) |
                  (stage_comes && stage_addr == the_place ? 4'd1 << stage_left : 4'd0);
    if (!rst_ni) begin
      acc_due_q <= '0;
      stage_due_q <= '0;
      acc_is_q <= '0;
      stage_is_q <= '0;
      beside_q <= 1'b0;
    end else begin
      acc_due_q <= acc_left + 3'(acc_comes);
      stage_due_q <= stage_left + 3'(stage_comes);
      if (beside_written && stage_wr_ready_i) begin
        beside_q <= 1'b1;
        beside_bit_q <= stage_wr_data[0];
      end
    end
  end

  // ---- What is written, a cycle later: then the port says of which message it was.
  logic writes_q, bit_q, is_the_message, is_the_word, written_q;
  logic [A-1:0] addr_q;
  logic [1:0] count_q;  // words of the followed message that were written
  assign is_the_message = writes_q && wrote_piece == the_piece && wrote_turn == the_turn;
  assign is_the_word = is_the_message && wrote_count == 16'(the_word) + 16'd1;
  always_ff @(posedge clk_i) begin
    writes_q <= rst_ni && res && res_ready_i && !halt_q;
    bit_q <= res_data[0];
    addr_q <= res_addr;
    if (!rst_ni) begin
      written_q <= 1'b0;
      count_q <= '0;
    end else begin
      if (is_the_word) written_q <= 1'b1;
      if (is_the_message) count_q <= count_q + 2'd1;
    end
  end
  `MT_ASSERT(InsideItsPiece, !writes_q || (wrote_valid && wrote_count != '0 &&
             wrote_count <= 16'(length[wrote_piece*2 +: 2]) &&
             32'(addr_q) == (32'(first[wrote_piece*2 +: 2]) + 32'(wrote_count) - 1) * mt_pkg::KeepW))
  `MT_ASSERT(MessageThatCame, !writes_q || came_q[{wrote_piece, wrote_turn}])
  `MT_ASSERT(InOrder, !is_the_message || wrote_count == 16'(count_q) + 16'd1)
  `MT_ASSERT(WrittenOnce, !is_the_word || !written_q)
  `MT_ASSERT(WrittenWhenItCame, !is_the_word || came_word_q)
  // The buffer holds what it held before, as nobody else writes the word between: its turn is the only one.
  `MT_ASSERT(RightWord, !is_the_word || bit_q == (came_gather_q ? came_bit_q : came_bit_q ^ held))

  // In its turn, when all of its words are written, and once.
  `MT_ASSERT(BeginsInTurn, !claim || (mine[{looks_piece, looks_turn}] && looks_turn == claimed_q[looks_piece*2 +: 2]))
  `MT_ASSERT(AddsInTurn, !issued || taken_q[looks_piece*2 +: 2] == looks_turn ||
             (before && 16'(before_count_i) > issued_pos))
  `MT_ASSERT(TakenInTurn, !taken || (mine[{taken_piece, taken_q[taken_piece*2 +: 2]}] &&
             taken_q[taken_piece*2 +: 2] < claimed_q[taken_piece*2 +: 2]))
  `MT_ASSERT_NEXT(TakenWhole, taken && taken_piece == the_piece && taken_q[the_piece*2 +: 2] == the_turn,
                  count_q + 2'(is_the_message) == the_length)

  // Beside the buffer: payload at the place of its word, once, before it is read.
  logic [S-1:0] beside_addr;
  logic [31:0] beside_word;
  assign beside_addr = stage_wr_data[D +: S];
  assign beside_word = 32'(beside_addr[A-1:mt_pkg::ByteW]);
  `MT_ASSERT(BesideInsideAPiece, !stage_wr || halt_q || (beside_addr[mt_pkg::ByteW-1:0] == '0 &&
             ((beside_word >= 32'(first[1:0]) && beside_word < 32'(first[1:0]) + 32'(length[1:0])) ||
              (beside_word >= 32'(first[3:2]) && beside_word < 32'(first[3:2]) + 32'(length[3:2])))))
  `MT_ASSERT(BesideIsTheWord, !beside_written || (!beside_q && (came_word_q || comes_now) &&
             stage_wr_data[0] == (comes_now ? bit_i : came_bit_q)))
  `MT_ASSERT(ReadWhenItIsThere, !(stage_comes && stage_addr == the_place) || beside_q)

  // Nothing is wrong with what comes, so no error but of places is told.
  `MT_ASSERT(NothingIsWrong, !corrupt && !length_error && !piece_error && !duplicate)

  `MT_COVER(WrittenInTime, is_the_word && the_length == 2'd2 && !came_gather_q && !beside_q)
  `MT_COVER(WrittenFromBeside, is_the_word && beside_q && !came_gather_q)
endmodule
