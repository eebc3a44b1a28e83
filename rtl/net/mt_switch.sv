// SPDX-License-Identifier: BSD-3-Clause
// A switch that only forwards: a router without an interface, and with EnLinkClock links at a clock of their own.

module mt_switch #(
  // As of mt_router.
  parameter int unsigned NumLinks = mt_pkg::NumPorts,
  parameter int unsigned NumVc = mt_pkg::NumVc,
  parameter int unsigned Depth = mt_pkg::VcDepth,
  parameter int unsigned CreditW = mt_pkg::CreditW,
  parameter int unsigned EnRetry = 0,
  // As of mt_node.
  parameter int unsigned EnLinkClock = 0,
  parameter int unsigned LinkRxDepth = NumVc * Depth,
  localparam int unsigned P = NumLinks,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1,
  localparam int unsigned F = mt_pkg::FlitW
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic link_clk_i,
  input  logic link_rst_ni,

  // Places of each virtual channel at the other ends of the links; taken over while load_i.
  input  logic               load_i,
  input  logic [CreditW-1:0] places_i,

  // Links; port p in bits p*W +: W.
  input  logic [P-1:0]     valid_i,
  input  logic [P*VcW-1:0] vc_i,
  input  logic [P*F-1:0]   flit_i,
  output logic [P-1:0]     credit_valid_o,
  output logic [P*VcW-1:0] credit_vc_o,
  output logic [P-1:0]     valid_o,
  output logic [P*VcW-1:0] vc_o,
  output logic [P*F-1:0]   flit_o,
  input  logic [P-1:0]     credit_valid_i,
  input  logic [P*VcW-1:0] credit_vc_i,
  input  logic [P-1:0]     link_ready_i,
  input  logic [P-1:0]     link_dead_i,
  // Of the switch's clock: more credits than places or flits than credits came on this link; it is dead.
  output logic [P-1:0]     over_o,
  output logic [P-1:0]     dead_o
);

  logic [P-1:0] in_valid, in_credit, out_valid, out_credit, ready, dead, rx_over, credit_over;
  logic [P*VcW-1:0] in_vc, in_credit_vc, out_vc, out_credit_vc;
  logic [P*F-1:0] in_flit, out_flit;

  mt_link_clocks #(.NumLinks(P), .EnLinkClock(EnLinkClock), .NumVc(NumVc), .CreditW(CreditW),
                   .RxDepth(LinkRxDepth), .EnRetry(EnRetry)) u_links (
    .clk_i, .rst_ni, .valid_i(out_valid), .vc_i(out_vc), .flit_i(out_flit), .ready_o(ready),
    .credit_valid_o(out_credit), .credit_vc_o(out_credit_vc), .valid_o(in_valid), .vc_o(in_vc),
    .flit_o(in_flit), .credit_valid_i(in_credit), .credit_vc_i(in_credit_vc), .dead_o(dead),
    .over_o(rx_over), .link_clk_i, .link_rst_ni, .link_valid_o(valid_o), .link_vc_o(vc_o),
    .link_flit_o(flit_o), .link_ready_i, .link_credit_valid_i(credit_valid_i),
    .link_credit_vc_i(credit_vc_i), .link_valid_i(valid_i), .link_vc_i(vc_i), .link_flit_i(flit_i),
    .link_credit_valid_o(credit_valid_o), .link_credit_vc_o(credit_vc_o), .link_dead_i);

  mt_router #(.NumLinks(P), .NumLocal(0), .NumVc(NumVc), .Depth(Depth), .CreditW(CreditW),
              .EnRetry(EnRetry != 0 || EnLinkClock != 0 ? 1 : 0)) u_router (
    .clk_i, .rst_ni, .load_i, .places_i, .valid_i(in_valid), .vc_i(in_vc), .flit_i(in_flit),
    .credit_valid_o(in_credit), .credit_vc_o(in_credit_vc), .valid_o(out_valid), .vc_o(out_vc),
    .flit_o(out_flit), .credit_valid_i(out_credit), .credit_vc_i(out_credit_vc), .link_ready_i(ready),
    .ready_i(1'b1), .credit_over_o(credit_over));

  assign over_o = credit_over | rx_over;
  assign dead_o = EnRetry != 0 ? dead : '0;

endmodule
