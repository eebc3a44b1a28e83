// SPDX-License-Identifier: BSD-3-Clause
// Words on their way into the buffer: what belongs to each waits for the words of memory, goes
// through the reduction unit, and is written. In order; any memory may take its time.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_rx_words #(
  // Pieces of the collective: 2^PieceW; width of their counts.
  parameter int unsigned PieceW = 10,
  parameter int unsigned CntW = 6,
  // Cycles of the reduction unit.
  parameter int unsigned Latency = 2,
  // Words that may be asked for before they are there; a power of two.
  parameter int unsigned MaxOutstanding = 2,
  // 1: the rank's own contribution may be nothing.
  parameter int unsigned EnLosses = 0,
  localparam int unsigned LenW = mt_pkg::LenW,
  localparam int unsigned AddrW = mt_pkg::AddrW,
  localparam int unsigned DataW = mt_pkg::DataW,
  localparam int unsigned StageW = mt_pkg::CountW + AddrW
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  input  logic halt_i,  // write no more
  input  logic wide_i,  // elements of 4 bytes, else of 2

  // A word is issued; all that it needs is asked for from this cycle on. Only when ready_o.
  output logic              ready_o,
  input  logic              issue_i,
  input  logic              adds_i,    // needs the buffer's word
  input  logic              nothing_i,  // the buffer's word counts as 0
  input  logic              staged_i,  // needs the word beside the buffer instead of data_i
  input  logic              ends_i,    // the last of its message
  input  logic              empty_i,   // there is no word
  input  logic [mt_pkg::LanesW-1:0] lanes_i,  // elements in the last of a message, less one
  input  logic [AddrW-1:0]  addr_i,
  input  logic [PieceW-1:0] piece_i,
  input  logic [CntW-1:0]   turn_i,
  input  logic [LenW-1:0]   count_i,   // words of the message up to this one
  input  logic [LenW-1:0]   finish_i,  // and up to the end of its worm
  input  logic [DataW-1:0]  data_i,

  // The last write, from the cycle after it on; and a message that is taken in by this one.
  output logic              wrote_valid_o,
  output logic [PieceW-1:0] wrote_piece_o,
  output logic [CntW-1:0]   wrote_turn_o,
  output logic [LenW-1:0]   wrote_count_o,
  output logic [LenW-1:0]   wrote_end_o,
  output logic              taken_o,
  output logic [PieceW-1:0] taken_piece_o,

  // AXI4-Stream, as mt_rx_port.
  output logic              acc_req_tvalid_o,
  input  logic              acc_req_tready_i,
  output logic [AddrW-1:0]  acc_req_tdata_o,
  input  logic              acc_tvalid_i,
  output logic              acc_tready_o,
  input  logic [DataW-1:0]  acc_tdata_i,
  output logic              stage_req_tvalid_o,
  input  logic              stage_req_tready_i,
  output logic [StageW-1:0] stage_req_tdata_o,
  input  logic              stage_tvalid_i,
  output logic              stage_tready_o,
  input  logic [DataW-1:0]  stage_tdata_i,
  output logic              res_tvalid_o,
  input  logic              res_tready_i,
  output logic [AddrW-1:0]  res_taddr_o,
  output logic [mt_pkg::KeepW-1:0] res_tkeep_o,
  output logic [DataW-1:0]  res_tdata_o,

  // The reduction unit, as mt_rx_port.
  output logic              unit_ready_o,
  input  logic              unit_take_i,
  output logic              unit_valid_o,
  output logic              unit_copy_o,
  output logic [DataW-1:0]  unit_a_o,
  output logic [DataW-1:0]  unit_b_o,
  input  logic              unit_valid_i,
  input  logic [DataW-1:0]  unit_result_i
);

  typedef struct packed {
    logic ends;
    logic empty;
    logic [mt_pkg::LanesW-1:0] lanes;
    logic [AddrW-1:0] addr;
    logic [PieceW-1:0] piece;
    logic [CntW-1:0] turn;
    logic [LenW-1:0] count;
    logic [LenW-1:0] finish;
  } word_t;
  localparam int unsigned WordW = 2 + mt_pkg::LanesW + AddrW + PieceW + CntW + 2 * LenW;
  localparam int unsigned LvlW = $clog2(MaxOutstanding + 1);

  // A request that is not accepted at once waits here, whatever becomes of the other; the next word
  // is issued when none waits. So whether one is asked does not depend on who is ready.
  logic way_ready, way_valid, way_taken, adds, staged, nothing;
  logic [DataW-1:0] way_data;
  logic [LvlW-1:0] unused_level;
  logic acc_free, stage_free, unused_acc_level, unused_stage_level;
  assign ready_o = way_ready && acc_free && stage_free;
  mt_fifo #(.Width(AddrW), .Depth(1), .Bypass(1)) u_acc_req (
    .clk_i, .rst_ni, .in_valid_i(issue_i && adds_i), .in_ready_o(acc_free), .in_data_i(addr_i),
    .out_valid_o(acc_req_tvalid_o), .out_ready_i(acc_req_tready_i), .out_data_o(acc_req_tdata_o),
    .level_o(unused_acc_level));
  mt_fifo #(.Width(StageW), .Depth(1), .Bypass(1)) u_stage_req (
    .clk_i, .rst_ni, .in_valid_i(issue_i && staged_i), .in_ready_o(stage_free),
    .in_data_i({mt_pkg::CountW'(turn_i), addr_i}), .out_valid_o(stage_req_tvalid_o),
    .out_ready_i(stage_req_tready_i), .out_data_o(stage_req_tdata_o),
    .level_o(unused_stage_level));
  if (EnLosses != 0) begin : gen_nothing
    mt_fifo #(.Width(3 + DataW), .Depth(MaxOutstanding)) u_data (
      .clk_i, .rst_ni, .in_valid_i(issue_i), .in_ready_o(way_ready),
      .in_data_i({nothing_i, adds_i, staged_i, data_i}), .out_valid_o(way_valid), .out_ready_i(way_taken),
      .out_data_o({nothing, adds, staged, way_data}), .level_o(unused_level));
  end else begin : gen_all
    logic unused_nothing;
    mt_fifo #(.Width(2 + DataW), .Depth(MaxOutstanding)) u_data (
      .clk_i, .rst_ni, .in_valid_i(issue_i), .in_ready_o(way_ready),
      .in_data_i({adds_i, staged_i, data_i}), .out_valid_o(way_valid), .out_ready_i(way_taken),
      .out_data_o({adds, staged, way_data}), .level_o(unused_level));
    assign nothing = 1'b0;
    assign unused_nothing = nothing_i;
  end

  // What belongs to each word stays here until it is written.
  localparam int unsigned PlaceW = $clog2(MaxOutstanding + Latency);
  logic [WordW-1:0] places [1 << PlaceW];
  logic [PlaceW-1:0] issue_q, done_q;
  word_t done;
  assign done = places[done_q];
  always_ff @(posedge clk_i) begin
    if (issue_i) begin
      places[issue_q] <= {ends_i, empty_i, lanes_i, addr_i, piece_i, turn_i, count_i, finish_i};
    end
    if (!rst_ni) begin
      issue_q <= '0;
      done_q <= '0;
    end else begin
      if (issue_i) issue_q <= issue_q + PlaceW'(1);
      if (unit_valid_i && unit_ready_o) done_q <= done_q + PlaceW'(1);
    end
  end

  // Memory keeps its words until they are taken.
  assign acc_tready_o = way_taken && adds;
  assign stage_tready_o = way_taken && staged;

  // The reduction unit.
  logic complete;
  assign unit_ready_o = !res_tvalid_o || res_tready_i;
  always_comb begin
    complete = 1'b0;
    if (`MT_WORK(way_valid)) begin
      complete = way_valid && (!adds || acc_tvalid_i) && (!staged || stage_tvalid_i);
    end
  end
  assign way_taken = complete && unit_take_i;
  assign unit_valid_o = complete && !halt_i;
  assign unit_copy_o = !adds;
  always_comb begin
    unit_a_o = '0;
    unit_b_o = '0;
    if (complete || mt_pkg::AnyWord) begin
      unit_a_o = EnLosses != 0 && nothing ? '0 : acc_tdata_i;
      unit_b_o = staged ? stage_tdata_i : way_data;
    end
  end
  // What has been offered stays, whatever went wrong since.
  logic writes, result_waits_q;
  assign res_tvalid_o = unit_valid_i && !done.empty && (!halt_i || result_waits_q);
  always_ff @(posedge clk_i) result_waits_q <= rst_ni && res_tvalid_o && !res_tready_i;
  assign res_taddr_o = done.addr;
  always_comb begin
    res_tkeep_o = '1;
    // The bytes of a message's last word: other messages' lie behind it.
    if (done.ends) begin
      for (int unsigned k = 0; k < mt_pkg::KeepW; k++) begin
        res_tkeep_o[k] = (wide_i ? k / 4 : k / 2) <= 32'(done.lanes);
      end
    end
  end
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

  `MT_ASSERT(IssuedWhenReady, !issue_i || ready_o)

endmodule
