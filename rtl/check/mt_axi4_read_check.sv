// SPDX-License-Identifier: BSD-3-Clause
// What AXI4 asks of AR and R, to be bound to who reads: what has been offered stays until it is accepted;
// bursts lie in 4 KiB; no word comes that was not asked for.
`include "mt_assert.svh"

module mt_axi4_read_check #(
  parameter int unsigned AxiAddrW = 40,
  parameter int unsigned AxiIdW = 4,
  localparam int unsigned D = mt_pkg::DataW
) (
  input logic clk_i,
  input logic rst_ni,
  input logic arvalid_i,
  input logic arready_i,
  input logic [AxiIdW-1:0] arid_i,
  input logic [AxiAddrW-1:0] araddr_i,
  input logic [7:0] arlen_i,
  input logic rvalid_i,
  input logic rready_i,
  input logic [AxiIdW-1:0] rid_i,
  input logic [D-1:0] rdata_i,
  input logic [1:0] rresp_i
);
  mt_stream_check #(.Width(AxiIdW + AxiAddrW + 8)) u_ar (
    .clk_i, .rst_ni, .valid_i(arvalid_i), .ready_i(arready_i), .data_i({arid_i, araddr_i, arlen_i}));
  mt_stream_check #(.Width(AxiIdW + D + 2)) u_r (
    .clk_i, .rst_ni, .valid_i(rvalid_i), .ready_i(rready_i), .data_i({rid_i, rdata_i, rresp_i}));

  // The last byte, from the page's first one on.
  `MT_ASSERT(InAPage, !arvalid_i || 32'(araddr_i[11:0]) + (32'(arlen_i) + 1) * (D / 8) <= 4096)
  `MT_ASSERT(WholeWords, !arvalid_i || araddr_i[mt_pkg::ByteW-1:0] == '0)
  int reads_q;  // words that are asked for, and have not come
  always_ff @(posedge clk_i) begin
    if (!rst_ni) reads_q <= 0;
    else reads_q <= reads_q + (arvalid_i && arready_i ? 32'(arlen_i) + 1 : 0) - (rvalid_i && rready_i ? 1 : 0);
  end
  `MT_ASSERT(AnswersReads, !rvalid_i || reads_q > 0)
endmodule
