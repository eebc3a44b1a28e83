// SPDX-License-Identifier: BSD-3-Clause
// Wires of Latency - 1 registers, forth and back: a ring in memory, whose places are read and written
// again in turn, and a register behind it.
`include "mt_assert.svh"

module mt_wires #(
  // Registers and one, at least 1.
  parameter int unsigned Latency = 2,
  // Bits forth and back.
  parameter int unsigned Width = 8,
  parameter int unsigned BackW = 2
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic             valid_i,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o,

  input  logic             back_valid_i,
  input  logic [BackW-1:0] back_i,
  output logic             back_valid_o,
  output logic [BackW-1:0] back_o
);

  if (Latency < 1) begin : gen_check
    $error("mt_wires: expected a Latency of at least 1");
  end

  if (Latency <= 1) begin : gen_wires
    assign {valid_o, data_o} = {valid_i, data_i};
    assign {back_valid_o, back_o} = {back_valid_i, back_i};
    logic unused;
    assign unused = &{1'b0, clk_i, rst_ni};
  end else if (Latency == 2) begin : gen_register
    always_ff @(posedge clk_i) begin
      valid_o <= rst_ni && valid_i;
      back_valid_o <= rst_ni && back_valid_i;
      back_o <= back_i;
      if (valid_i) data_o <= data_i;
    end
  end else begin : gen_ring
    localparam int unsigned Places = Latency - 2;
    localparam int unsigned PtrW = Places > 1 ? $clog2(Places) : 1;
    // Data are read and written only where there are any: that is most of what a simulation of idle
    // wires would do.
    logic [BackW+1:0] control [Places];
    logic [Width-1:0] data [Places];
    logic [PtrW-1:0] at_q;
    logic round_q;  // every place has been written since the reset
    logic old_valid, old_back_valid;
    logic [BackW-1:0] old_back;
    assign {old_valid, old_back_valid, old_back} = control[at_q];

    always_ff @(posedge clk_i) begin
      control[at_q] <= {valid_i, back_valid_i, back_i};
      if (valid_i) data[at_q] <= data_i;
      if (old_valid) data_o <= data[at_q];
      back_o <= old_back;
      if (!rst_ni) begin
        at_q <= '0;
        round_q <= 1'b0;
        valid_o <= 1'b0;
        back_valid_o <= 1'b0;
      end else begin
        if (at_q == PtrW'(Places - 1)) begin
          at_q <= '0;
          round_q <= 1'b1;
        end else begin
          at_q <= at_q + PtrW'(1);
        end
        valid_o <= round_q && old_valid;
        back_valid_o <= round_q && old_back_valid;
      end
    end

    `MT_ASSERT(PlaceExists, 32'(at_q) < Places)
  end

endmodule
