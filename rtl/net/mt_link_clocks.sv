// SPDX-License-Identifier: BSD-3-Clause
// The links of a node, at its clock or, with EnLinkClock, at one of their own: an mt_link_cross for each.

module mt_link_clocks #(
  // Links; 1: they have a clock of their own. What follows is then as of mt_link_cross.
  parameter int unsigned NumLinks = mt_pkg::NumPorts,
  parameter int unsigned EnLinkClock = 0,
  parameter int unsigned NumVc = mt_pkg::NumVc,
  parameter int unsigned CreditW = mt_pkg::CreditW,
  parameter int unsigned RxDepth = NumVc * mt_pkg::VcDepth,
  parameter int unsigned EnRetry = 0,
  localparam int unsigned P = NumLinks,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1,
  localparam int unsigned F = mt_pkg::FlitW
) (
  // The node's; port p in bits p*W +: W.
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [P-1:0]     valid_i,
  input  logic [P*VcW-1:0] vc_i,
  input  logic [P*F-1:0]   flit_i,
  output logic [P-1:0]     ready_o,
  output logic [P-1:0]     credit_valid_o,
  output logic [P*VcW-1:0] credit_vc_o,
  output logic [P-1:0]     valid_o,
  output logic [P*VcW-1:0] vc_o,
  output logic [P*F-1:0]   flit_o,
  input  logic [P-1:0]     credit_valid_i,
  input  logic [P*VcW-1:0] credit_vc_i,
  output logic [P-1:0]     dead_o,
  output logic [P-1:0]     over_o,

  // The links'; without EnLinkClock clock and reset are those of the node, whatever is given here.
  input  logic             link_clk_i,
  input  logic             link_rst_ni,
  output logic [P-1:0]     link_valid_o,
  output logic [P*VcW-1:0] link_vc_o,
  output logic [P*F-1:0]   link_flit_o,
  input  logic [P-1:0]     link_ready_i,
  input  logic [P-1:0]     link_credit_valid_i,
  input  logic [P*VcW-1:0] link_credit_vc_i,
  input  logic [P-1:0]     link_valid_i,
  input  logic [P*VcW-1:0] link_vc_i,
  input  logic [P*F-1:0]   link_flit_i,
  output logic [P-1:0]     link_credit_valid_o,
  output logic [P*VcW-1:0] link_credit_vc_o,
  input  logic [P-1:0]     link_dead_i
);

  if (EnLinkClock == 0) begin : gen_wires
    assign {link_valid_o, link_vc_o, link_flit_o} = {valid_i, vc_i, flit_i};
    assign {credit_valid_o, credit_vc_o} = {link_credit_valid_i, link_credit_vc_i};
    assign {valid_o, vc_o, flit_o} = {link_valid_i, link_vc_i, link_flit_i};
    assign {link_credit_valid_o, link_credit_vc_o} = {credit_valid_i, credit_vc_i};
    assign {ready_o, dead_o, over_o} = {link_ready_i, link_dead_i, P'(0)};
    logic unused;
    assign unused = &{1'b0, clk_i, rst_ni, link_clk_i, link_rst_ni};
  end else begin : gen_clocks
    for (genvar p = 0; p < P; p++) begin : gen_link
      mt_link_cross #(.NumVc(NumVc), .CreditW(CreditW), .RxDepth(RxDepth), .EnRetry(EnRetry)) u_cross (
        .clk_i, .rst_ni, .valid_i(valid_i[p]), .vc_i(vc_i[p*VcW +: VcW]), .flit_i(flit_i[p*F +: F]),
        .ready_o(ready_o[p]), .credit_valid_o(credit_valid_o[p]), .credit_vc_o(credit_vc_o[p*VcW +: VcW]),
        .valid_o(valid_o[p]), .vc_o(vc_o[p*VcW +: VcW]), .flit_o(flit_o[p*F +: F]),
        .credit_valid_i(credit_valid_i[p]), .credit_vc_i(credit_vc_i[p*VcW +: VcW]), .dead_o(dead_o[p]),
        .over_o(over_o[p]), .link_clk_i, .link_rst_ni, .link_valid_o(link_valid_o[p]),
        .link_vc_o(link_vc_o[p*VcW +: VcW]), .link_flit_o(link_flit_o[p*F +: F]),
        .link_ready_i(link_ready_i[p]), .link_credit_valid_i(link_credit_valid_i[p]),
        .link_credit_vc_i(link_credit_vc_i[p*VcW +: VcW]), .link_valid_i(link_valid_i[p]),
        .link_vc_i(link_vc_i[p*VcW +: VcW]), .link_flit_i(link_flit_i[p*F +: F]),
        .link_credit_valid_o(link_credit_valid_o[p]), .link_credit_vc_o(link_credit_vc_o[p*VcW +: VcW]),
        .link_dead_i(link_dead_i[p]));
    end
  end

endmodule
