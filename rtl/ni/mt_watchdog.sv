// SPDX-License-Identifier: BSD-3-Clause
// Says when nothing has moved for too long.
`include "mt_assert.svh"

module mt_watchdog #(
  // Width of the limit.
  parameter int unsigned Width = 24
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic running_i,
  // Cycles without a move; 0: any number.
  input  logic [Width-1:0] limit_i,
  input  logic moves_i,
  output logic expires_o
);

  // Cycles that are left, less one: it expires in the cycle in which there are none. A limit of 0
  // stays there.
  logic [Width-1:0] left_q;
  assign expires_o = running_i && left_q == '0 && limit_i != '0;
  always_ff @(posedge clk_i) begin
    if (!running_i || moves_i) left_q <= limit_i;
    else if (left_q != '0) left_q <= ~(~left_q + Width'(1));  // cheaper than - 1
  end

  `MT_ASSERT_NEXT(OnlyInQuiet, moves_i, !expires_o)

endmodule
