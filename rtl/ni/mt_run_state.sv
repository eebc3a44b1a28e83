// SPDX-License-Identifier: BSD-3-Clause
// Where an interface is. Arming sets the counts of all pieces to 0, one a cycle. Armed: messages may
// come. Starting rewinds the tables; then their first entries are read; then it runs.

module mt_run_state #(
  // Pieces of the collective: 2^PieceW.
  parameter int unsigned PieceW = 10
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic arm_i,
  input  logic go_i,
  input  logic done_i,
  output logic arming_o,
  output logic [PieceW-1:0] piece_o,  // whose counts are set
  output logic armed_o,
  output logic starting_o,
  output logic running_o,
  output logic finished_o             // since it was armed
);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || arm_i) piece_o <= '0;
    else if (arming_o) piece_o <= piece_o + PieceW'(1);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      arming_o <= 1'b0;
      armed_o <= 1'b0;
      starting_o <= 1'b0;
      running_o <= 1'b0;
    end else begin
      if (arm_i) arming_o <= 1'b1;
      else if (piece_o == '1) arming_o <= 1'b0;
      if (arming_o && piece_o == '1) armed_o <= 1'b1;
      else if (done_i) armed_o <= 1'b0;
      starting_o <= go_i && armed_o;
      if (starting_o) running_o <= 1'b1;
      else if (done_i) running_o <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || arm_i) finished_o <= 1'b0;
    else if (done_i) finished_o <= 1'b1;
  end

endmodule
