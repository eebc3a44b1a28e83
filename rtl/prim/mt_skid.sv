// SPDX-License-Identifier: BSD-3-Clause
// Register slice: cuts every path between its two sides, loses no throughput. A word that comes
// while the output is stalled waits in a second register.
`include "mt_assert.svh"

module mt_skid #(
  // Bits of a word.
  parameter int unsigned Width = 8
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_data_i,

  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_data_o
);
  // The second register is in use while ready_q is 0.
  logic [Width-1:0] out_q, skid_q;
  logic valid_q, ready_q, move;

  assign move = out_ready_i || !valid_q;

  always_ff @(posedge clk_i) begin
    if (move) out_q <= ready_q ? in_data_i : skid_q;
    if (ready_q) skid_q <= in_data_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      ready_q <= 1'b1;
    end else begin
      if (move) valid_q <= in_valid_i || !ready_q;
      ready_q <= move || (ready_q && !in_valid_i);
    end
  end

  assign in_ready_o = ready_q;
  assign out_valid_o = valid_q;
  assign out_data_o = out_q;

  `MT_ASSERT(SkidOrder, ready_q || valid_q)
  `MT_ASSERT_NEXT(SkidStable, out_valid_o && !out_ready_i, out_valid_o && $stable(out_data_o))
endmodule
