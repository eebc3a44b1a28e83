// SPDX-License-Identifier: BSD-3-Clause
// Words of a stream as whole words of memory: one that lies across two of them is written as two, with the
// bytes of each.
module mt_axi4_align_write #(
  parameter int unsigned AxiAddrW = 40,
  localparam int unsigned A = AxiAddrW,
  localparam int unsigned D = mt_pkg::DataW,
  localparam int unsigned K = D / 8,
  localparam int unsigned B = mt_pkg::ByteW
) (
  input  logic clk_i,
  input  logic rst_ni,

  // The interface's: addresses of any byte, which bytes, words.
  input  logic         tvalid_i,
  output logic         tready_o,
  input  logic [A-1:0] taddr_i,
  input  logic [K-1:0] tkeep_i,
  input  logic [D-1:0] tdata_i,

  // Memory's: addresses of whole words, which bytes, those.
  output logic         line_tvalid_o,
  input  logic         line_tready_i,
  output logic [A-1:0] line_taddr_o,
  output logic [K-1:0] line_tkeep_o,
  output logic [D-1:0] line_tdata_o
);

  logic second_q, more;
  logic [2*K-1:0] keep;
  logic [2*D-1:0] data;
  assign keep = {{K{1'b0}}, tkeep_i} << taddr_i[B-1:0];
  assign data = {{D{1'b0}}, tdata_i} << {taddr_i[B-1:0], 3'b0};
  assign more = !second_q && keep[2*K-1:K] != '0;
  assign line_tvalid_o = tvalid_i;
  assign line_taddr_o = {taddr_i[A-1:B] + (A-B)'(second_q), {B{1'b0}}};
  assign line_tkeep_o = second_q ? keep[2*K-1:K] : keep[K-1:0];
  assign line_tdata_o = second_q ? data[2*D-1:D] : data[D-1:0];
  assign tready_o = line_tready_i && !more;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) second_q <= 1'b0;
    else if (tvalid_i && line_tready_i) second_q <= more;
  end

endmodule
