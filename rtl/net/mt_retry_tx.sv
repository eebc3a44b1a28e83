// SPDX-License-Identifier: BSD-3-Clause
// The sending end of a link that loses: docs/nic-spec.md, "Links that lose". Every flit is kept until
// the other end has it, and all from the first missing one on are sent again when that asks for them.
// As long as a credit is missing a frame is sent in every cycle, an empty one if there is no flit: so a lost
// tail is seen without a timer, and every lost answer is followed by another.
`include "mt_assert.svh"

module mt_retry_tx #(
  // Bits of a flit, with its virtual channel.
  parameter int unsigned Width = 8,
  // Virtual channels, and bits of the count of their credits: places are fewer than 2**CountW.
  parameter int unsigned NumVc = 4,
  parameter int unsigned CountW = 10,
  // Flits that are kept; a power of two, at least 4.
  parameter int unsigned Depth = 512,
  // Cycles in which nothing new arrives at the other end until the link is dead.
  parameter int unsigned DeadCycles = 65536,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1,
  localparam int unsigned SeqW = $clog2(Depth) + 1,
  localparam int unsigned FrameW = 32 + 2 + SeqW + Width,
  localparam int unsigned WordW = 32 + 2 + SeqW + VcW + CountW
) (
  input  logic clk_i,
  input  logic rst_ni,

  // A flit, which is always taken; the one that is chosen while ready_o is the last that may follow.
  input  logic             valid_i,
  input  logic [Width-1:0] data_i,
  output logic             ready_o,
  // Credits that have come back, from word_i on.
  output logic             credit_valid_o,
  output logic [VcW-1:0]   credit_vc_o,

  // To the other end, and what it answers.
  output logic              frame_valid_o,
  output logic [FrameW-1:0] frame_o,
  input  logic              word_valid_i,
  input  logic [WordW-1:0]  word_i,

  // Nothing new has arrived for DeadCycles; until reset.
  output logic dead_o
);

  localparam int unsigned PtrW = SeqW - 1;
  localparam int unsigned OutW = CountW + VcW + 1;
  localparam int unsigned TimeW = $clog2(DeadCycles) + 1;

  if (Depth < 4 || (Depth & (Depth - 1)) != 0) begin : gen_check
    $error("mt_retry_tx: expected a Depth that is a power of two, at least 4");
  end

  // What the other end says.
  logic [31:0] word_crc;
  logic nack, nack_round, good;
  logic [SeqW-1:0] ack;
  logic [VcW-1:0] vc;
  logic [CountW-1:0] count;
  mt_crc32c #(.Width(WordW - 32)) u_word_crc (.data_i(word_i[WordW-33:0]), .crc_o(word_crc));
  assign good = word_valid_i && word_i[WordW-1 -: 32] == word_crc;
  assign {nack, nack_round, ack, vc, count} = word_i[WordW-33:0];

  // Numbers of flits: the next to come, the next to be sent, the first that may be missing.
  logic [SeqW-1:0] head_q, send_q, ack_q, send;
  logic round_q;  // changes whenever it starts again
  logic rewind, pass, again, probe;
  logic [OutW-1:0] out_q;  // flits whose credits have not come back
  assign rewind = good && nack && nack_round == round_q;
  assign again = !rewind && send_q != head_q;
  assign pass = !rewind && send_q == head_q && valid_i;
  assign probe = !rewind && send_q == head_q && !valid_i && out_q != '0;
  assign send = rewind ? ack : send_q + SeqW'(again || pass);

  logic [Width-1:0] kept, data;
  mt_sram #(.Width(Width), .Depth(Depth)) u_kept (
    .wr_clk_i(clk_i), .wr_en_i(valid_i), .wr_addr_i(head_q[PtrW-1:0]), .wr_data_i(data_i),
    .rd_clk_i(clk_i), .rd_en_i(again), .rd_addr_i(send_q[PtrW-1:0]), .rd_data_o(kept));
  logic [FrameW-33:0] body;
  logic [31:0] frame_crc;
  assign data = again ? kept : pass ? data_i : '0;
  assign body = {probe, round_q, send_q, data};
  mt_crc32c #(.Width(FrameW - 32)) u_frame_crc (.data_i(body), .crc_o(frame_crc));

  always_ff @(posedge clk_i) begin
    if (again || pass || probe) frame_o <= {frame_crc, body};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      head_q <= '0;
      send_q <= '0;
      ack_q <= '0;
      round_q <= 1'b0;
      out_q <= '0;
      frame_valid_o <= 1'b0;
      ready_o <= 1'b0;
    end else begin
      head_q <= head_q + SeqW'(valid_i);
      send_q <= send;
      if (good) ack_q <= ack;
      round_q <= round_q ^ rewind;
      out_q <= out_q + OutW'(valid_i) - OutW'(credit_valid_o);
      frame_valid_o <= again || pass || probe;
      // One may be on its way here, and one be chosen until this is seen.
      ready_o <= head_q - ack_q <= SeqW'(Depth - 3);
    end
  end

  // Credits: counts that have come, and how many of each have been handed on.
  logic [NumVc*CountW-1:0] seen_q, given_q;
  logic [NumVc-1:0] owed, gives;
  for (genvar v = 0; v < NumVc; v++) begin : gen_channel
    logic [CountW-1:0] seen;
    assign seen = good && 32'(vc) == v ? count : seen_q[v*CountW +: CountW];
    assign owed[v] = seen != given_q[v*CountW +: CountW];
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        seen_q[v*CountW +: CountW] <= '0;
        given_q[v*CountW +: CountW] <= '0;
      end else begin
        seen_q[v*CountW +: CountW] <= seen;
        if (gives[v]) given_q[v*CountW +: CountW] <= given_q[v*CountW +: CountW] + CountW'(1);
      end
    end
  end
  mt_rr_arb #(.N(NumVc)) u_turns (
    .clk_i, .rst_ni, .req_i(owed), .en_i(1'b1), .gnt_o(gives), .gnt_idx_o(credit_vc_o));
  assign credit_valid_o = owed != '0;

  // Time since the other end last had something new, or had everything.
  logic [TimeW-1:0] time_q;
  logic news;
  assign news = good && (ack != ack_q || ack == head_q);
  assign dead_o = time_q == TimeW'(DeadCycles);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) time_q <= '0;
    else if (!dead_o) time_q <= out_q == '0 || news ? '0 : time_q + TimeW'(1);
  end

  `MT_ASSERT(ThereIsAPlace, !valid_i || head_q - ack_q < SeqW'(Depth))
  `MT_ASSERT(AnswersInRange, !good || (ack - ack_q <= head_q - ack_q && ack - ack_q <= send_q - ack_q))
endmodule
