// SPDX-License-Identifier: BSD-3-Clause
// Bits of another clock, through registers in which they settle. They come as they are, each bit by itself:
// several may change at once only if it does not matter in which order they are seen, as of a Gray code.
// ASYNC_REG tells tools that place the registers to keep them together and to make nothing else of them. A
// chip that has a cell for this gives a module of its own with this name and these ports.

module mt_sync #(
  // Bits.
  parameter int unsigned Width = 1,
  // Registers in a row, at least 2.
  parameter int unsigned Stages = 2
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic [Width-1:0] data_i,  // from registers of another clock, without logic behind them
  output logic [Width-1:0] data_o
);

  if (Stages < 2) begin : gen_check
    $error("mt_sync: expected at least 2 Stages");
  end

  logic [Width-1:0] seen;
`ifdef FORMAL
  // Of bits that change shortly before an edge, any are seen.
  (* anyseq *) logic [Width-1:0] late;
  logic [Width-1:0] before;
  always @($global_clock) before <= data_i;
  assign seen = (data_i & ~late) | (before & late);
`else
  assign seen = data_i;
`endif

  (* ASYNC_REG = "TRUE" *) logic [Stages*Width-1:0] stage_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) stage_q <= '0;
    else stage_q <= {stage_q[(Stages-1)*Width-1:0], seen};
  end
  assign data_o = stage_q[(Stages-1)*Width +: Width];

endmodule
