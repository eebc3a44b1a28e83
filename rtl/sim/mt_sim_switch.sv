// SPDX-License-Identifier: BSD-3-Clause
// A switch for simulation: a router without interface. Lanes and registers as in
// mt_sim_node.
module mt_sim_switch #(
  // Links.
  parameter int unsigned NumPorts = 8,
  localparam int unsigned P = NumPorts,
  localparam int unsigned F = mt_pkg::FlitW
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Places of each virtual channel at the other ends; taken over while load_i.
  input  logic              load_i,
  input  logic [mt_pkg::CreditW-1:0] places_i,
  input  logic [P-1:0]      link_valid_i,
  input  logic [P*2-1:0]    link_vc_i,
  input  logic [P*F-1:0] link_flit_i,
  output logic [P-1:0]      link_credit_valid_o,
  output logic [P*2-1:0]    link_credit_vc_o,
  output logic [P-1:0]      link_valid_o,
  output logic [P*2-1:0]    link_vc_o,
  output logic [P*F-1:0] link_flit_o,
  input  logic [P-1:0]      link_credit_valid_i,
  input  logic [P*2-1:0]    link_credit_vc_i,
  input  logic [P-1:0]      link_ready_i,
  output logic [P-1:0]      credit_over_o
);


  logic rst_nq, load_q;
  logic [mt_pkg::CreditW-1:0] places_q;
  logic [P-1:0] link_valid_q, link_credit_valid_q;
  logic [P*2-1:0] link_vc_q, link_credit_vc_q;
  logic [P*F-1:0] in_flit;
  always_ff @(posedge clk_i) begin
    rst_nq <= rst_ni;
    load_q <= load_i;
    places_q <= places_i;
    link_valid_q <= link_valid_i;
    link_vc_q <= link_vc_i;
    link_credit_valid_q <= link_credit_valid_i;
    link_credit_vc_q <= link_credit_vc_i;
  end
  for (genvar p = 0; p < P; p++) begin : gen_lane
    logic [F-1:0] flit_q;
    always_ff @(posedge clk_i) if (link_valid_i[p]) flit_q <= link_flit_i[p*F +: F];
    assign in_flit[p*F +: F] = flit_q;
  end

  mt_router #(.NumLinks(P), .NumLocal(0), .EnRetry(1)) u_router (
    .clk_i, .rst_ni(rst_nq), .load_i(load_q), .places_i(places_q),
    .valid_i(link_valid_q), .vc_i(link_vc_q), .flit_i(in_flit),
    .credit_valid_o(link_credit_valid_o), .credit_vc_o(link_credit_vc_o),
    .valid_o(link_valid_o), .vc_o(link_vc_o), .flit_o(link_flit_o),
    .credit_valid_i(link_credit_valid_q), .credit_vc_i(link_credit_vc_q),
    .link_ready_i, .ready_i(1'b1), .credit_over_o);

endmodule
