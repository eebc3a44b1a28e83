// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a link that loses, for simulation: what is on the wires between them is C++
// (retry_wire.cpp). What comes out goes through the registers at the inputs of mt_sim_node, which are those
// behind the ends in mt_link.
module mt_sim_link #(
  parameter int unsigned Depth = mt_pkg::ReplayDepth,
  parameter int unsigned DeadCycles = mt_pkg::DeadCycles,
  localparam int unsigned F = mt_pkg::FlitW,
  localparam int unsigned B = mt_pkg::FlitBits,
  localparam int unsigned SeqW = $clog2(Depth) + 1,
  localparam int unsigned FrameW = 32 + 2 + SeqW + 2 + B,
  localparam int unsigned WordW = 32 + 2 + SeqW + 2 + mt_pkg::CreditW
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic         valid_i,
  input  logic [1:0]   vc_i,
  input  logic [F-1:0] flit_i,
  output logic         ready_o,
  output logic         credit_valid_o,
  output logic [1:0]   credit_vc_o,
  output logic         frame_valid_o,
  output logic [FrameW-1:0] frame_o,
  input  logic         word_valid_i,
  input  logic [WordW-1:0]  word_i,
  output logic         dead_o,

  input  logic         frame_valid_i,
  input  logic [FrameW-1:0] frame_i,
  output logic         word_valid_o,
  output logic [WordW-1:0]  word_o,
  output logic         valid_o,
  output logic [1:0]   vc_o,
  output logic [F-1:0] flit_o,
  input  logic         credit_valid_i,
  input  logic [1:0]   credit_vc_i
);

  localparam int unsigned CountW = mt_pkg::CreditW;

  mt_retry_tx #(.Width(2 + B), .NumVc(4), .CountW(CountW), .Depth(Depth), .DeadCycles(DeadCycles)) u_tx (
    .clk_i, .rst_ni, .valid_i, .data_i({vc_i, flit_i[B-1:0]}), .ready_o, .credit_valid_o,
    .credit_vc_o, .frame_valid_o, .frame_o, .word_valid_i, .word_i, .dead_o);
  mt_retry_rx #(.Width(2 + B), .NumVc(4), .CountW(CountW), .Depth(Depth)) u_rx (
    .clk_i, .rst_ni, .frame_valid_i, .frame_i, .word_valid_o, .word_o, .valid_o,
    .data_o({vc_o, flit_o[B-1:0]}), .credit_valid_i, .credit_vc_i);
  assign flit_o[F-1:B] = '0;
  logic unused;
  assign unused = &{1'b0, flit_i[F-1:B]};

endmodule
