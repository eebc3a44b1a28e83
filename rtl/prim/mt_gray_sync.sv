// SPDX-License-Identifier: BSD-3-Clause
// The count of a counter of another clock (mt_gray): one that it had some cycles ago.

module mt_gray_sync #(
  // Bits, as of the counter.
  parameter int unsigned Width = 4,
  // As of mt_sync.
  parameter int unsigned Stages = 2
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic [Width-1:0] gray_i,
  output logic [Width-1:0] value_o
);

  logic [Width-1:0] gray;
  mt_sync #(.Width(Width), .Stages(Stages)) u_sync (.clk_i, .rst_ni, .data_i(gray_i), .data_o(gray));
  for (genvar b = 0; b < Width; b++) begin : gen_bit
    assign value_o[b] = ^gray[Width-1:b];
  end

endmodule
