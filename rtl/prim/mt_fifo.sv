// SPDX-License-Identifier: BSD-3-Clause
// First-in first-out queue of any depth. The first word falls through: it stands at the output as
// soon as it is stored. No path leads from out_ready_i to in_ready_o, so a full queue of one word
// takes the next one the cycle after it was emptied.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_fifo #(
  // Bits of a word.
  parameter int unsigned Width = 8,
  // Words it holds, at least 1.
  parameter int unsigned Depth = 4,
  // 1: while it is empty the input is the output, and is not stored if it is taken at once.
  parameter int unsigned Bypass = 0,
  localparam int unsigned LevelW = $clog2(Depth + 1)
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [Width-1:0]  in_data_i,

  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [Width-1:0]  out_data_o,

  // Words stored at the start of the cycle.
  output logic [LevelW-1:0] level_o
);
  localparam int unsigned PtrW = Depth > 1 ? $clog2(Depth) : 1;
  localparam logic [PtrW-1:0] Last = PtrW'(Depth - 1);

  if (Depth < 1 || Width < 1) begin : gen_illegal
    $fatal(1, "mt_fifo: Depth and Width are at least 1");
  end

  logic [PtrW-1:0] write_q, read_q;
  logic [LevelW-1:0] level_q;
  logic empty, pass, push, pop;
  logic [Width-1:0] front;

  assign empty = level_q == '0;
  assign pass = Bypass != 0 && empty;
  assign push = in_valid_i && in_ready_o && !(pass && out_ready_i);
  assign pop = out_ready_i && !empty;

  assign in_ready_o = level_q != LevelW'(Depth);
  assign out_valid_o = !empty || (pass && in_valid_i);
  assign out_data_o = pass ? in_data_i : front;
  assign level_o = level_q;

  mt_sram #(.Width(Width), .Depth(Depth)) u_mem (
    .wr_clk_i(clk_i), .wr_en_i(push), .wr_addr_i(write_q), .wr_data_i(in_data_i),
    .rd_clk_i(clk_i), .rd_en_i(1'b1), .rd_addr_i(read_q), .rd_data_o(front));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q <= '0;
      level_q <= '0;
    end else if (`MT_WORK(push || pop)) begin
      if (push) write_q <= write_q == Last ? '0 : write_q + 1'b1;
      if (pop) read_q <= read_q == Last ? '0 : read_q + 1'b1;
      if (push && !pop) level_q <= level_q + 1'b1;
      if (pop && !push) level_q <= level_q - 1'b1;
    end
  end

  `MT_ASSERT(FifoLevel, level_q <= LevelW'(Depth))
  `MT_ASSERT(FifoPointers, write_q <= Last && read_q <= Last &&
      32'(write_q) == (32'(read_q) + 32'(level_q) >= Depth ?
                       32'(read_q) + 32'(level_q) - Depth : 32'(read_q) + 32'(level_q)))
  `MT_ASSERT_NEXT(FifoStable, out_valid_o && !out_ready_i, out_valid_o && $stable(out_data_o))
endmodule
