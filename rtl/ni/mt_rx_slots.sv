// SPDX-License-Identifier: BSD-3-Clause
// Worms of a receive port that came too early, each in a slot until it may start; worms that follow
// each other share one. Their words are put beside the buffer meanwhile.
`include "mt_work.svh"
`include "mt_worm.svh"

module mt_rx_slots #(
  // Places for early worms.
  parameter int unsigned ParkSlots = 8,
  // Widths of a piece's number, and of the counts of its messages.
  parameter int unsigned PieceW = 10,
  parameter int unsigned CntW = 6,
  // 1: packets are supported.
  parameter int unsigned EnPackets = 1,
  localparam int unsigned LenW = mt_pkg::LenW,
  localparam int unsigned WormW = `MT_WORM_W(PieceW, CntW)
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Forget all worms.
  input  logic clear_i,

  // A slot may be looked at, another one in the next cycle; whether there is one, what is in it, and
  // whether it is the worm whose flits arrive, the last of which is not there yet.
  input  logic             look_i,
  input  logic             next_i,
  output logic             looks_o,
  output logic [WormW-1:0] worm_o,
  output logic             live_o,
  // A worm starts. If it is cut, what is in the slot goes no further than this, after so many words.
  input  logic             starts_i,
  input  logic             cuts_i,
  input  logic [LenW-1:0]  cut_at_i,
  input  logic [LenW-1:0]  cut_words_i,
  // A header comes, or flits of its worm do; and the header is parked, unless all slots are full.
  input  logic             header_i,
  input  logic             in_worm_i,
  input  logic             parks_i,
  input  logic [WormW-1:0] arriving_i,
  output logic             full_o
);

  localparam int unsigned SlotW = ParkSlots > 1 ? $clog2(ParkSlots) : 1;
  `MT_WORM_T(PieceW, CntW)

  logic [ParkSlots-1:0] slot_q;   // in use
  logic [SlotW-1:0] last_slot_q;  // parked last
  logic last_slot_valid_q;        // and not started
  logic [WormW-1:0] last;
  logic live_slot_q;              // the flits that arrive are for it

  logic [ParkSlots-1:0] unused_chosen, unused_free;
  logic [SlotW-1:0] slot_idx;
  assign looks_o = look_i && slot_q != '0;
  mt_rr_arb #(.N(ParkSlots)) u_slot (
    .clk_i, .rst_ni, .req_i(`MT_WORK(looks_o) ? slot_q : '0),
    .en_i(looks_o && next_i), .gnt_o(unused_chosen), .gnt_idx_o(slot_idx));
  assign live_o = live_slot_q && in_worm_i && last_slot_q == slot_idx;

  // A header is parked behind the slot parked last, or in a free one.
  logic joins, any_free;
  logic [SlotW-1:0] free_idx, park_idx;
  worm_t arriving, to_park, parked_last;  // some of the last one is not looked at
  assign arriving = arriving_i;
  mt_prio_enc #(.N(ParkSlots)) u_free (
    .req_i(`MT_WORK(parks_i) ? ~slot_q : '0), .any_o(any_free), .onehot_o(unused_free),
    .idx_o(free_idx));
  assign park_idx = joins ? last_slot_q : free_idx;
  always_comb begin
    parked_last = '0;
    joins = 1'b0;
    to_park = '0;
    full_o = 1'b0;
    if (`MT_WORK(parks_i)) begin
      parked_last = last;
      joins = EnPackets != 0 && last_slot_valid_q && parked_last.piece == arriving.piece
              && parked_last.turn == arriving.turn
              && parked_last.offset + parked_last.len == arriving.offset;
      to_park = arriving;
      if (joins) begin
        to_park.offset = parked_last.offset;
        to_park.len = parked_last.len + arriving.len;
      end
      full_o = parks_i && !joins && !any_free;
    end
  end

  worm_t rest_of_slot;
  always_comb begin
    rest_of_slot = '0;
    if (`MT_WORK(cuts_i)) begin
      rest_of_slot = worm_o;
      rest_of_slot.offset = cut_at_i;
      rest_of_slot.len = rest_of_slot.len - cut_words_i;
    end
  end

  mt_sram #(.Width(WormW), .Depth(ParkSlots), .NumRead(2)) u_slots (
    .wr_clk_i(clk_i), .wr_en_i(parks_i || (starts_i && cuts_i)), .wr_addr_i(parks_i ? park_idx : slot_idx),
    .wr_data_i(parks_i ? to_park : rest_of_slot), .rd_clk_i(clk_i), .rd_en_i({parks_i, 1'b1}),
    .rd_addr_i({last_slot_q, slot_idx}), .rd_data_o({last, worm_o}));

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      live_slot_q <= 1'b0;
      last_slot_valid_q <= 1'b0;
      last_slot_q <= '0;
      slot_q <= '0;
    end else begin
      if (parks_i) begin
        slot_q[park_idx] <= 1'b1;
        last_slot_q <= park_idx;
        last_slot_valid_q <= 1'b1;
        live_slot_q <= 1'b1;
      end else if (header_i) begin
        live_slot_q <= 1'b0;
      end
      if (starts_i && looks_o && !cuts_i) begin
        slot_q[slot_idx] <= 1'b0;
        if (slot_idx == last_slot_q) begin
          last_slot_valid_q <= 1'b0;
          live_slot_q <= 1'b0;
        end
      end
    end
  end

endmodule
