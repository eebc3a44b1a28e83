// SPDX-License-Identifier: BSD-3-Clause
// with: prim/mt_sync.sv prim/mt_gray.sv prim/mt_gray_sync.sv prim/mt_sram.sv prim/mt_async_fifo.sv
// prove: Depth=2
// prove: Depth=4
// clocks: any
// bounded: 20
// cover: 30
`include "mt_assert.svh"

// A queue between two clocks that do as they like, with synchronizers that see any of the bits that change
// shortly before an edge: words come out once and in order, none is made, none is lost, and what is there is
// seen after some edges.
module async_fifo #(
  parameter int unsigned Depth = 4,
  localparam int unsigned Stages = 2,
  localparam int unsigned Width = $clog2(Depth) + 2,
  localparam int unsigned LevelW = $clog2(Depth) + 1
) (
  input logic in_clk_i,
  input logic out_clk_i,
  input logic offer_i,
  input logic take_i,
  input logic in_leaves_i,
  input logic out_leaves_i
);
  // Each side has been reset before either leaves its reset; when is up to it.
  logic in_reset_q, out_reset_q, in_rst_n, out_rst_n;
  initial {in_reset_q, out_reset_q, in_rst_n, out_rst_n} = '0;
  always_ff @(posedge in_clk_i) begin
    in_reset_q <= 1'b1;
    in_rst_n <= in_rst_n || (in_reset_q && out_reset_q && in_leaves_i);
  end
  always_ff @(posedge out_clk_i) begin
    out_reset_q <= 1'b1;
    out_rst_n <= out_rst_n || (in_reset_q && out_reset_q && out_leaves_i);
  end

  // A word is its number, so what comes out must count.
  logic in_ready, out_valid;
  logic [Width-1:0] sent_q, came_q, out, under_way;
  logic [LevelW-1:0] level;
  mt_async_fifo #(.Width(Width), .Depth(Depth), .Stages(Stages)) u_queue (
    .in_clk_i(in_clk_i), .in_rst_ni(in_rst_n), .in_valid_i(offer_i), .in_ready_o(in_ready),
    .in_data_i(sent_q), .in_level_o(level), .out_clk_i(out_clk_i), .out_rst_ni(out_rst_n),
    .out_valid_o(out_valid), .out_ready_i(take_i), .out_data_o(out));
  initial sent_q = '0;
  initial came_q = '0;
  always_ff @(posedge in_clk_i) begin
    if (!in_rst_n) sent_q <= '0;
    else sent_q <= sent_q + Width'(offer_i && in_ready);
  end
  always_ff @(posedge out_clk_i) begin
    if (!out_rst_n) came_q <= '0;
    else came_q <= came_q + Width'(out_valid && take_i);
  end
  assign under_way = sent_q - came_q;

  // Edges of each clock in which the other side has done nothing.
  logic [3:0] out_quiet_q, in_quiet_q;
  logic [Width-1:0] sent_seen_q, came_seen_q;
  logic valid_seen_q;
  initial {out_quiet_q, in_quiet_q, sent_seen_q, came_seen_q, valid_seen_q} = '0;
  always_ff @(posedge out_clk_i) begin
    sent_seen_q <= sent_q;
    if (!out_rst_n || sent_seen_q != sent_q) out_quiet_q <= '0;
    else if (out_quiet_q != '1) out_quiet_q <= out_quiet_q + 4'd1;
  end
  always_ff @(posedge in_clk_i) begin
    came_seen_q <= came_q;
    valid_seen_q <= out_valid;
    if (!in_rst_n || came_seen_q != came_q || valid_seen_q != out_valid) in_quiet_q <= '0;
    else if (in_quiet_q != '1) in_quiet_q <= in_quiet_q + 4'd1;
  end

  always @($global_clock) begin
    if (in_rst_n && out_rst_n) begin
      InOrder: assert (!out_valid || out == came_q);
      NoneIsMade: assert (!out_valid || under_way != '0);
      NoOverflow: assert (32'(under_way) <= Depth + 32'(out_valid));
      LevelIsNoLess: assert (32'(level) + 32'(out_valid) >= 32'(under_way) || out_valid);
      LevelInRange: assert (32'(level) <= Depth);
      WordsComeOut: assert (32'(out_quiet_q) < Stages + 1 || sent_seen_q != sent_q || out_valid || under_way == '0);
      PlacesComeBack: assert (32'(in_quiet_q) < Stages || came_seen_q != came_q || valid_seen_q != out_valid ||
                              32'(level) + 32'(out_valid) == 32'(under_way));
      Full: cover (!in_ready && 32'(under_way) == Depth + 1);
      GoesOnAfterFull: cover (32'(sent_q) == Depth + 2 && came_q != '0);
    end
  end
endmodule
