// SPDX-License-Identifier: BSD-3-Clause
// What AXI4 asks of AW, W and B, to be bound to who writes: what has been offered stays until it is accepted;
// bursts lie in 4 KiB, no longer than their words say; no B of a burst before its last word.
`include "mt_assert.svh"

module mt_axi4_write_check #(
  parameter int unsigned AxiAddrW = 40,
  localparam int unsigned D = mt_pkg::DataW
) (
  input logic clk_i,
  input logic rst_ni,
  input logic awvalid_i,
  input logic awready_i,
  input logic [AxiAddrW-1:0] awaddr_i,
  input logic [7:0] awlen_i,
  input logic wvalid_i,
  input logic wready_i,
  input logic [D-1:0] wdata_i,
  input logic [D/8-1:0] wstrb_i,
  input logic wlast_i,
  input logic bvalid_i,
  input logic bready_i,
  input logic [1:0] bresp_i
);
  mt_stream_check #(.Width(AxiAddrW + 8)) u_aw (
    .clk_i, .rst_ni, .valid_i(awvalid_i), .ready_i(awready_i), .data_i({awaddr_i, awlen_i}));
  mt_stream_check #(.Width(D + D / 8 + 1)) u_w (
    .clk_i, .rst_ni, .valid_i(wvalid_i), .ready_i(wready_i), .data_i({wdata_i, wstrb_i, wlast_i}));
  mt_stream_check #(.Width(2)) u_b (
    .clk_i, .rst_ni, .valid_i(bvalid_i), .ready_i(bready_i), .data_i(bresp_i));

  // The last byte, from the page's first one on.
  `MT_ASSERT(InAPage, !awvalid_i || 32'(awaddr_i[11:0]) + (32'(awlen_i) + 1) * (D / 8) <= 4096)
  `MT_ASSERT(WholeWords, !awvalid_i || awaddr_i[mt_pkg::ByteW-1:0] == '0)
  int unanswered_q;  // bursts whose words have all gone, and whose B has not come
  always_ff @(posedge clk_i) begin
    if (!rst_ni) unanswered_q <= 0;
    else unanswered_q <= unanswered_q + (wvalid_i && wready_i && wlast_i ? 1 : 0) - (bvalid_i && bready_i ? 1 : 0);
  end
  `MT_ASSERT(AnswersWrites, !bvalid_i || unanswered_q > 0)
endmodule
