// SPDX-License-Identifier: BSD-3-Clause
// with: prim/mt_onehot.sv prim/mt_prio_enc.sv prim/mt_rr_arb.sv prim/mt_crc32c.sv prim/mt_sram.sv net/mt_retry_tx.sv net/mt_retry_rx.sv
// prove: Latency=1 Depth=4
// prove: Latency=2 Depth=8
// bounded: 14
// cover: 14
`include "mt_assert.svh"

// Both ends of a link and wires of Latency cycles that lose and corrupt whatever they like, as long as
// checksums see it: flits come out once and in order, credits come back once, none of either is made, and
// as soon as the wires behave for a while everything is there.
module retry_link #(
  parameter int unsigned Latency = 1,
  parameter int unsigned Depth = 4,
  localparam int unsigned Width = 4,
  localparam int unsigned NumVc = 2,
  localparam int unsigned CountW = 3,
  localparam int unsigned SeqW = $clog2(Depth) + 1,
  localparam int unsigned FrameW = 34 + SeqW + Width,
  localparam int unsigned WordW = 34 + SeqW + 1 + CountW
) (
  input logic clk_i,
  input logic rst_ni,
  // What the routers do, and what becomes of what is on the wires.
  input logic send_i,
  input logic send_vc_i,
  input logic give_i,
  input logic give_vc_i,
  input logic lose_frame_i,
  input logic lose_word_i,
  input logic [FrameW-1:0] frame_noise_i,
  input logic [WordW-1:0] word_noise_i
);
  localparam int unsigned Places = 3;  // of each virtual channel

  initial assume (!rst_ni);

  logic ready, credit_valid, credit_vc, frame_valid, word_valid, dead, out_valid;
  logic [FrameW-1:0] frame;
  logic [WordW-1:0] word;
  logic [Width-1:0] out;
  logic frame_there, word_there;
  logic [FrameW-1:0] frame_there_bits;
  logic [WordW-1:0] word_there_bits;

  // A flit is its number, so what comes out must count. The router chooses it a cycle before it is there.
  logic valid_q, vc_q;
  logic [Width-2:0] sent_q, come_q;
  logic [NumVc*CountW-1:0] room_q, full_q;  // places that the sender knows of; flits at the other end
  logic chosen, given;
  assign chosen = send_i && ready && room_q[send_vc_i*CountW +: CountW] != '0;
  assign given = give_i && full_q[give_vc_i*CountW +: CountW] != '0;

  mt_retry_tx #(.Width(Width), .NumVc(NumVc), .CountW(CountW), .Depth(Depth), .DeadCycles(1024)) u_tx (
    .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(valid_q), .data_i({vc_q, sent_q}), .ready_o(ready),
    .credit_valid_o(credit_valid), .credit_vc_o(credit_vc), .frame_valid_o(frame_valid),
    .frame_o(frame), .word_valid_i(word_there), .word_i(word_there_bits), .dead_o(dead));
  mt_retry_rx #(.Width(Width), .NumVc(NumVc), .CountW(CountW), .Depth(Depth)) u_rx (
    .clk_i(clk_i), .rst_ni(rst_ni), .frame_valid_i(frame_there), .frame_i(frame_there_bits),
    .word_valid_o(word_valid), .word_o(word), .valid_o(out_valid), .data_o(out),
    .credit_valid_i(given), .credit_vc_i(give_vc_i));

  // The wires: registers, and at their end what goes wrong.
  logic frame_at_end, word_at_end;
  logic [FrameW-1:0] frame_bits;
  logic [WordW-1:0] word_bits;
  if (Latency == 1) begin : gen_wire
    assign {frame_at_end, frame_bits} = {frame_valid, frame};
    assign {word_at_end, word_bits} = {word_valid, word};
  end else begin : gen_register
    logic frame_valid_q, word_valid_q;
    logic [FrameW-1:0] frame_q;
    logic [WordW-1:0] word_q;
    always_ff @(posedge clk_i) begin
      frame_valid_q <= rst_ni && frame_valid;
      word_valid_q <= rst_ni && word_valid;
      frame_q <= frame;
      word_q <= word;
    end
    assign {frame_at_end, frame_bits} = {frame_valid_q, frame_q};
    assign {word_at_end, word_bits} = {word_valid_q, word_q};
  end
  assign frame_there = frame_at_end && !lose_frame_i;
  assign word_there = word_at_end && !lose_word_i;
  assign frame_there_bits = frame_bits ^ frame_noise_i;
  assign word_there_bits = word_bits ^ word_noise_i;
  logic [31:0] frame_crc, word_crc;
  mt_crc32c #(.Width(FrameW - 32)) u_frame_crc (
    .data_i(frame_there_bits[FrameW-33:0]), .crc_o(frame_crc));
  mt_crc32c #(.Width(WordW - 32)) u_word_crc (
    .data_i(word_there_bits[WordW-33:0]), .crc_o(word_crc));
  `MT_ASSUME(FrameNoiseSeen, frame_noise_i == '0 || frame_there_bits[FrameW-1 -: 32] != frame_crc)
  `MT_ASSUME(WordNoiseSeen, word_noise_i == '0 || word_there_bits[WordW-1 -: 32] != word_crc)

  logic comes_vc;
  assign comes_vc = out[Width-1];
  always_ff @(posedge clk_i) begin
    valid_q <= rst_ni && chosen;
    vc_q <= send_vc_i;
    if (!rst_ni) begin
      sent_q <= '0;
      come_q <= '0;
      room_q <= {NumVc{CountW'(Places)}};
      full_q <= '0;
    end else begin
      sent_q <= sent_q + (Width - 1)'(valid_q);
      come_q <= come_q + (Width - 1)'(out_valid);
      for (int unsigned v = 0; v < NumVc; v++) begin
        room_q[v*CountW +: CountW] <= room_q[v*CountW +: CountW] -
            CountW'(chosen && 32'(send_vc_i) == v) + CountW'(credit_valid && 32'(credit_vc) == v);
        full_q[v*CountW +: CountW] <= full_q[v*CountW +: CountW] -
            CountW'(given && 32'(give_vc_i) == v) + CountW'(out_valid && 32'(comes_vc) == v);
      end
    end
  end

  // At most 6 flits are anywhere, fewer than numbers are: none is missing, twice, or before another.
  `MT_ASSERT(InOrder, !out_valid || out[Width-2:0] == come_q)
  `MT_ASSERT(NoneIsMade, !out_valid || come_q != sent_q)
  // Places are the sender's, or on the way, or full: never more than there are.
  logic [NumVc-1:0] whole;
  for (genvar v = 0; v < NumVc; v++) begin : gen_places
    assign whole[v] = 32'(room_q[v*CountW +: CountW]) + 32'(full_q[v*CountW +: CountW]) <= Places;
  end
  `MT_ASSERT(PlacesConserved, whole == '1)

  // As long as nothing is lost or corrupt: a round trip, and as many cycles as flits and credits may wait.
  localparam int unsigned Enough = 2 * Latency + 4;
  logic [4:0] well_q;
  logic [Width-2:0] oldest_q;
  logic well;
  assign well = !lose_frame_i && !lose_word_i && frame_noise_i == '0 && word_noise_i == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !well || out_valid || come_q == sent_q) well_q <= '0;
    else if (well_q != '1) well_q <= well_q + 5'd1;
    oldest_q <= come_q;
  end
  `MT_ASSERT(EverythingComes, 32'(well_q) <= Enough)
  `MT_ASSERT(AliveWhileItComes, !dead)

  // {empty, round, number} of what leaves, and {nack, round} of what is answered.
  logic empty, round;
  logic [SeqW-1:0] number;
  assign {empty, round, number} = frame[FrameW-33 -: SeqW + 2];
  `MT_COVER(SentAgain, frame_valid && !empty && round && number == SeqW'(1))
  `MT_COVER(TailFoundMissing, word_valid && word[WordW-33] && sent_q == (Width - 1)'(1) && empty)
  `MT_COVER(CreditLate, credit_valid && !word_there)
  `MT_COVER(NotReady, rst_ni && !ready && come_q != '0)
endmodule
