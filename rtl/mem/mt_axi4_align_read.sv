// SPDX-License-Identifier: BSD-3-Clause
// Words of a stream from whole words of memory: a word that lies across two of them is asked for, and put
// together, as two.
module mt_axi4_align_read #(
  parameter int unsigned AxiAddrW = 40,
  // Words under way; words that may be asked for while other streams have their turn.
  parameter int unsigned Words = 4,
  parameter int unsigned Requests = 64,
  localparam int unsigned A = AxiAddrW,
  localparam int unsigned D = mt_pkg::DataW,
  localparam int unsigned B = mt_pkg::ByteW
) (
  input  logic clk_i,
  input  logic rst_ni,

  // The interface's: addresses of any byte, words.
  input  logic         req_tvalid_i,
  output logic         req_tready_o,
  input  logic [A-1:0] req_taddr_i,
  output logic         tvalid_o,
  input  logic         tready_i,
  output logic [D-1:0] tdata_o,

  // Memory's: addresses of whole words, those.
  output logic         line_req_tvalid_o,
  input  logic         line_req_tready_i,
  output logic [A-1:0] line_req_taddr_o,
  input  logic         line_tvalid_i,
  output logic         line_tready_o,
  input  logic [D-1:0] line_tdata_i
);

  // A port that receives puts aside what it cannot ask for at once, which costs more of memory than waiting.
  logic second_q, has_place, is_whole, accepts, asked;
  logic [A-1:0] addr;
  logic [$clog2(Requests+1)-1:0] unused_requests;
  mt_fifo #(.Width(A), .Depth(Requests), .Bypass(1)) u_requests (
    .clk_i, .rst_ni, .in_valid_i(req_tvalid_i), .in_ready_o(req_tready_o), .in_data_i(req_taddr_i),
    .out_valid_o(asked), .out_ready_i(accepts && (is_whole || second_q)), .out_data_o(addr),
    .level_o(unused_requests));

  // Asked for: the second of two is next.
  assign is_whole = addr[B-1:0] == '0;
  assign line_req_tvalid_o = asked && (second_q || has_place);
  assign line_req_taddr_o = {addr[A-1:B] + (A-B)'(second_q), {B{1'b0}}};
  assign accepts = line_req_tvalid_o && line_req_tready_i;

  // Where in the first of its two each word begins.
  logic at_valid, next;
  logic [B-1:0] at;
  logic [$clog2(Words+1)-1:0] unused_level;
  mt_fifo #(.Width(B), .Depth(Words)) u_at (
    .clk_i, .rst_ni, .in_valid_i(accepts && !second_q), .in_ready_o(has_place),
    .in_data_i(addr[B-1:0]), .out_valid_o(at_valid), .out_ready_i(next), .out_data_o(at),
    .level_o(unused_level));

  logic has_first_q;
  logic [D-1:0] first_q;
  logic waits_for_second;  // the word that is there is the first of two
  assign waits_for_second = at_valid && at != '0 && !has_first_q;
  assign tvalid_o = line_tvalid_i && at_valid && !waits_for_second;
  assign tdata_o = at == '0 ? line_tdata_i : D'({line_tdata_i, first_q} >> {at, 3'b0});
  assign next = tvalid_o && tready_i;
  assign line_tready_o = waits_for_second || next;
  always_ff @(posedge clk_i) begin
    if (waits_for_second && line_tvalid_i) first_q <= line_tdata_i;
    if (!rst_ni) begin
      second_q <= 1'b0;
      has_first_q <= 1'b0;
    end else begin
      if (accepts) second_q <= !is_whole && !second_q;
      if (line_tvalid_i && line_tready_o) has_first_q <= waits_for_second;
    end
  end

endmodule
