// SPDX-License-Identifier: BSD-3-Clause
// The receiving end of a link that loses: docs/nic-spec.md, "Links that lose". It hands on each flit
// once, in order. What does not follow, or is corrupt, it asks for again, and takes nothing then but of the
// round in which the sender has started again. Each frame is answered, and each credit goes at once.

module mt_retry_rx #(
  // As in mt_retry_tx.
  parameter int unsigned Width = 8,
  parameter int unsigned NumVc = 4,
  parameter int unsigned CountW = 10,
  parameter int unsigned Depth = 512,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1,
  localparam int unsigned SeqW = $clog2(Depth) + 1,
  localparam int unsigned FrameW = 32 + 2 + SeqW + Width,
  localparam int unsigned WordW = 32 + 2 + SeqW + VcW + CountW
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic              frame_valid_i,
  input  logic [FrameW-1:0] frame_i,
  output logic              word_valid_o,
  output logic [WordW-1:0]  word_o,

  // Flits, from frame_i on, and credits of those that have been moved on.
  output logic             valid_o,
  output logic [Width-1:0] data_o,
  input  logic             credit_valid_i,
  input  logic [VcW-1:0]   credit_vc_i
);

  logic [31:0] frame_crc;
  logic good, is_empty, frame_round;
  logic [SeqW-1:0] number;
  mt_crc32c #(.Width(FrameW - 32)) u_frame_crc (.data_i(frame_i[FrameW-33:0]), .crc_o(frame_crc));
  assign good = frame_valid_i && frame_i[FrameW-1 -: 32] == frame_crc;
  assign {is_empty, frame_round, number, data_o} = frame_i[FrameW-33:0];

  // The flit that is next; the sender's round; whether it is to start again.
  logic [SeqW-1:0] next_q, next;
  logic round_q, round, nack_q, nack, counts, follows;
  assign counts = good && (frame_round != round_q || !nack_q);
  assign follows = number == next_q;
  assign valid_o = counts && follows && !is_empty;
  assign next = next_q + SeqW'(valid_o);
  assign round = counts ? frame_round : round_q;
  assign nack = counts ? !follows : nack_q || (frame_valid_i && !good);

  // Credits so far; those of which channel are told next when none has come.
  logic [NumVc*CountW-1:0] count_q;
  logic [VcW-1:0] turn_q, vc;
  logic [CountW-1:0] count;
  assign vc = credit_valid_i ? credit_vc_i : turn_q;
  assign count = count_q[vc*CountW +: CountW] + CountW'(credit_valid_i);

  logic answer;
  logic [WordW-33:0] body;
  logic [31:0] word_crc;
  assign answer = frame_valid_i || credit_valid_i;
  assign body = {nack, round, next, vc, count};
  mt_crc32c #(.Width(WordW - 32)) u_word_crc (.data_i(body), .crc_o(word_crc));

  always_ff @(posedge clk_i) begin
    if (answer) word_o <= {word_crc, body};
    if (!rst_ni) begin
      next_q <= '0;
      round_q <= 1'b0;
      nack_q <= 1'b0;
      count_q <= '0;
      turn_q <= '0;
      word_valid_o <= 1'b0;
    end else begin
      next_q <= next;
      round_q <= round;
      nack_q <= nack;
      if (credit_valid_i) count_q[vc*CountW +: CountW] <= count;
      else if (answer) turn_q <= turn_q == VcW'(NumVc - 1) ? '0 : turn_q + VcW'(1);
      word_valid_o <= answer;
    end
  end
endmodule
