// SPDX-License-Identifier: BSD-3-Clause
// The step counter of lockstep issue. A step lasts as long as it was estimated, and until all of
// its entries are sent. docs/nic-spec.md, "Issue".
`include "mt_assert.svh"

module mt_step_timer #(
  // Width of step numbers.
  parameter int unsigned StepW = 12,
  // Steps that lengths can be given for.
  parameter int unsigned Depth = 1024,
  // Width of lengths, in cycles.
  parameter int unsigned LenW = 20
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Lengths of the steps, one after the other, after clear_i.
  input  logic            clear_i,
  input  logic            write_i,
  input  logic [LenW-1:0] length_i,
  output logic            full_o,

  // In the cycle before the first step, at least two after the last length.
  input  logic start_i,
  input  logic running_i,
  // No port sends, and none has an entry of this step left.
  input  logic sent_i,
  // The step, as it counts in this cycle.
  output logic [StepW-1:0] step_o,
  // The step that sent_i is about.
  output logic [StepW-1:0] current_o
);

  localparam int unsigned PtrW = $clog2(Depth + 1);
  localparam int unsigned IdxW = Depth > 1 ? $clog2(Depth) : 1;

  logic [PtrW-1:0] written_q;
  logic [StepW-1:0] step_q;
  logic [LenW-1:0] left_q;         // cycles, with this one
  logic begins_q;                  // the first step's time begins with the next cycle
  logic [LenW-1:0] next_length_q;  // of step_q + 1; before the run, of the first

  logic over, advance;
  assign over = left_q[LenW-1:1] == '0 && !(begins_q && left_q[0]);
  assign advance = running_i && sent_i && over && 32'(step_q) + 1 < 32'(written_q);
  assign step_o = advance ? step_q + StepW'(1) : step_q;
  assign current_o = step_q;
  assign full_o = written_q == PtrW'(Depth);

  // Read ahead, as a memory with a register at its output does.
  logic [IdxW-1:0] read;
  always_comb begin
    read = '0;
    if (start_i) read = IdxW'(1);
    else if (running_i) read = IdxW'(step_o + StepW'(1));
  end

  mt_sram #(.Width(LenW), .Depth(Depth), .Registered(1)) u_mem (
    .wr_clk_i(clk_i), .wr_en_i(write_i && !full_o), .wr_addr_i(written_q[IdxW-1:0]), .wr_data_i(length_i),
    .rd_clk_i(clk_i), .rd_en_i(1'b1), .rd_addr_i(read), .rd_data_o(next_length_q));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_q <= '0;
      step_q <= '0;
      left_q <= '0;
      begins_q <= 1'b0;
    end else begin
      if (clear_i) written_q <= '0;
      else if (write_i && !full_o) written_q <= written_q + PtrW'(1);
      begins_q <= start_i;
      if (start_i) step_q <= '0;
      else step_q <= step_o;
      if (start_i || advance) left_q <= next_length_q;
      else if (running_i && !over && !begins_q) left_q <= ~(~left_q + LenW'(1));  // cheaper than - 1
    end
  end

  `MT_ASSERT_NEXT(StepsGoUpByOne, running_i && !start_i,
                  step_q == $past(step_q) || step_q == $past(step_q) + StepW'(1))
  `MT_ASSERT(NeverEarly, !advance || (sent_i && left_q <= LenW'(1)))

endmodule
