// SPDX-License-Identifier: BSD-3-Clause
// A reset for the modules of one clock, from one that comes at any time: it begins at once, also while the
// clock stands still, and ends with an edge of the clock. All other modules see a synchronous reset, so the
// clock has to run for some cycles of it.

module mt_reset_sync #(
  // Edges of the clock until it ends, at least 2.
  parameter int unsigned Stages = 2
) (
  input  logic clk_i,
  input  logic rst_ni,
  output logic rst_no
);

  if (Stages < 2) begin : gen_check
    $error("mt_reset_sync: expected at least 2 Stages");
  end

  (* ASYNC_REG = "TRUE" *) logic [Stages-1:0] stage_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) stage_q <= '0;
    else stage_q <= {stage_q[Stages-2:0], 1'b1};
  end
  assign rst_no = stage_q[Stages-1];

endmodule
