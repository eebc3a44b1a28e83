// SPDX-License-Identifier: BSD-3-Clause
// First-in first-out queue between two clocks of any frequencies. All outputs of a side are functions of
// registers of its clock; what crosses are two Gray counters, and words, which are read when their counter
// says that they are there: then they have stood still for some cycles. A word that goes in comes out after
// Stages + 1 edges of the clock of the output, or one more. With Depth 2 * Stages + 4 or more, clocks of equal
// frequency move a word in every cycle.
//
// Both sides are reset together: each reset is low for Stages + 1 cycles of the slower clock at least
// (mt_reset_sync makes both of one).

module mt_async_fifo #(
  // Bits of a word.
  parameter int unsigned Width = 8,
  // Words it holds besides the one at the output; a power of two, at least 2.
  parameter int unsigned Depth = 16,
  // As of mt_sync.
  parameter int unsigned Stages = 2,
  localparam int unsigned PtrW = $clog2(Depth),
  localparam int unsigned LevelW = PtrW + 1
) (
  input  logic              in_clk_i,
  input  logic              in_rst_ni,
  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [Width-1:0]  in_data_i,
  // Words that may be stored at the start of the cycle: no fewer than there are, and Depth at most.
  output logic [LevelW-1:0] in_level_o,

  input  logic              out_clk_i,
  input  logic              out_rst_ni,
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [Width-1:0]  out_data_o
);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_check
    $error("mt_async_fifo: expected a Depth that is a power of two, at least 2");
  end

  logic [LevelW-1:0] write, write_gray, read_seen;  // of the clock of the input
  logic [LevelW-1:0] read, read_gray, write_seen;   // of the clock of the output
  logic push, pop;

  assign in_level_o = write - read_seen;
  assign in_ready_o = in_level_o != LevelW'(Depth);
  assign push = in_valid_i && in_ready_o;
  mt_gray #(.Width(LevelW)) u_write (
    .clk_i(in_clk_i), .rst_ni(in_rst_ni), .count_i(push), .value_o(write), .gray_o(write_gray));
  mt_gray_sync #(.Width(LevelW), .Stages(Stages)) u_read_seen (
    .clk_i(in_clk_i), .rst_ni(in_rst_ni), .gray_i(read_gray), .value_o(read_seen));

  mt_sram #(.Width(Width), .Depth(Depth), .Registered(1)) u_mem (
    .wr_clk_i(in_clk_i), .wr_en_i(push), .wr_addr_i(write[PtrW-1:0]), .wr_data_i(in_data_i),
    .rd_clk_i(out_clk_i), .rd_en_i(pop), .rd_addr_i(read[PtrW-1:0]), .rd_data_o(out_data_o));

  assign pop = read != write_seen && (!out_valid_o || out_ready_i);
  mt_gray #(.Width(LevelW)) u_read (
    .clk_i(out_clk_i), .rst_ni(out_rst_ni), .count_i(pop), .value_o(read), .gray_o(read_gray));
  mt_gray_sync #(.Width(LevelW), .Stages(Stages)) u_write_seen (
    .clk_i(out_clk_i), .rst_ni(out_rst_ni), .gray_i(write_gray), .value_o(write_seen));
  always_ff @(posedge out_clk_i) begin
    if (!out_rst_ni) out_valid_o <= 1'b0;
    else out_valid_o <= pop || (out_valid_o && !out_ready_i);
  end

endmodule
