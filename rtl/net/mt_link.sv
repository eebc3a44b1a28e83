// SPDX-License-Identifier: BSD-3-Clause
// A link between two routers: flits one way, credits the other, both Latency cycles, of which the
// output register of the router (or the credit's) is the first. With Retry it may lose and corrupt what is
// on its wires, and takes 2 cycles more each way.

module mt_link #(
  // Cycles, at least 1: wires alone.
  parameter int unsigned Latency = 2,
  // Virtual channels.
  parameter int unsigned NumVc = 4,
  // 1: what is lost or corrupt is sent again, from so many flits that are kept; their number is a power
  // of two and covers the round trip.
  parameter int unsigned Retry = 0,
  parameter int unsigned ReplayDepth = mt_pkg::ReplayDepth,
  // Cycles without anything new at the other end until the link is dead.
  parameter int unsigned DeadCycles = mt_pkg::DeadCycles,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1,
  localparam int unsigned F = mt_pkg::FlitW
) (
  input  logic clk_i,
  input  logic rst_ni,

  // From the router at the beginning to the one at the end. The router may choose a flit while ready_o;
  // without Retry that is always.
  input  logic           valid_i,
  input  logic [VcW-1:0] vc_i,
  input  logic [F-1:0]   flit_i,
  output logic           ready_o,
  output logic           valid_o,
  output logic [VcW-1:0] vc_o,
  output logic [F-1:0]   flit_o,

  // From the end to the beginning.
  input  logic           credit_valid_i,
  input  logic [VcW-1:0] credit_vc_i,
  output logic           credit_valid_o,
  output logic [VcW-1:0] credit_vc_o,

  // With Retry: nothing gets across.
  output logic dead_o
);

  if (Latency < 1) begin : gen_check
    $error("mt_link: expected a Latency of at least 1");
  end

  if (Retry == 0) begin : gen_plain
    mt_wires #(.Latency(Latency), .Width(VcW + F), .BackW(VcW)) u_wires (
      .clk_i, .rst_ni, .valid_i, .data_i({vc_i, flit_i}), .valid_o, .data_o({vc_o, flit_o}),
      .back_valid_i(credit_valid_i), .back_i(credit_vc_i), .back_valid_o(credit_valid_o),
      .back_o(credit_vc_o));
    assign ready_o = 1'b1;
    assign dead_o = 1'b0;
  end else begin : gen_retry
    localparam int unsigned B = mt_pkg::FlitBits;
    localparam int unsigned CountW = mt_pkg::CreditW;
    localparam int unsigned SeqW = $clog2(ReplayDepth) + 1;
    localparam int unsigned FrameW = 32 + 2 + SeqW + VcW + B;
    localparam int unsigned WordW = 32 + 2 + SeqW + VcW + CountW;

    if (ReplayDepth < 2 * Latency + 4) begin : gen_check_depth
      $error("mt_link: expected a ReplayDepth of at least 2 * Latency + 4, what is on its way in a round trip");
    end

    logic sent, arrives, answers, answered, came, credit;
    logic [FrameW-1:0] sent_frame, frame;
    logic [WordW-1:0] answer, word;
    logic [VcW+B-1:0] data;
    logic [VcW-1:0] credit_vc;
    logic [B-1:0] flit_q;
    mt_retry_tx #(.Width(VcW + B), .NumVc(NumVc), .CountW(CountW), .Depth(ReplayDepth),
                  .DeadCycles(DeadCycles)) u_tx (
      .clk_i, .rst_ni, .valid_i, .data_i({vc_i, flit_i[B-1:0]}), .ready_o,
      .credit_valid_o(credit), .credit_vc_o(credit_vc), .frame_valid_o(sent), .frame_o(sent_frame),
      .word_valid_i(answered), .word_i(word), .dead_o);
    mt_wires #(.Latency(Latency), .Width(FrameW), .BackW(WordW)) u_wires (
      .clk_i, .rst_ni, .valid_i(sent), .data_i(sent_frame), .valid_o(arrives), .data_o(frame),
      .back_valid_i(answers), .back_i(answer), .back_valid_o(answered), .back_o(word));
    mt_retry_rx #(.Width(VcW + B), .NumVc(NumVc), .CountW(CountW), .Depth(ReplayDepth)) u_rx (
      .clk_i, .rst_ni, .frame_valid_i(arrives), .frame_i(frame), .word_valid_o(answers),
      .word_o(answer), .valid_o(came), .data_o(data), .credit_valid_i, .credit_vc_i);
    always_ff @(posedge clk_i) begin
      valid_o <= rst_ni && came;
      credit_valid_o <= rst_ni && credit;
      credit_vc_o <= credit_vc;
      if (came) {vc_o, flit_q} <= data;
    end
    assign flit_o = F'(flit_q);
    logic unused;
    assign unused = &{1'b0, flit_i[F-1:B]};
  end

endmodule
