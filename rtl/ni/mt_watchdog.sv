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

  logic [Width-1:0] quiet_q;
  assign expires_o = running_i && limit_i != '0 && quiet_q == limit_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !running_i || moves_i) quiet_q <= '0;
    else if (quiet_q != limit_i) quiet_q <= quiet_q + Width'(1);
  end

  `MT_ASSERT_NEXT(OnlyInQuiet, moves_i, !expires_o)

endmodule
