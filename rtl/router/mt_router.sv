// SPDX-License-Identifier: BSD-3-Clause
// A router with a cycle of latency: routes come with the flits, so it serves any network. The
// outputs NumLinks and up lead to interfaces and have no credits. docs/nic-spec.md, "Network".
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_router #(
  // Links to other routers; inputs and outputs 0 .. NumLinks-1.
  parameter int unsigned NumLinks = mt_pkg::NumPorts,
  // Ports of the interface at this router; inputs and outputs NumLinks and up. 0: a switch.
  parameter int unsigned NumLocal = mt_pkg::NumPorts,
  // Virtual channels of each link.
  parameter int unsigned NumVc = mt_pkg::NumVc,
  // Places of each virtual channel; a power of two.
  parameter int unsigned Depth = mt_pkg::VcDepth,
  // Width of credit counters.
  parameter int unsigned CreditW = mt_pkg::CreditW,
  // 1: links may be not ready (mt_link with Retry).
  parameter int unsigned EnRetry = 0,
  // 1: port p of the interface only sends to link p and only takes from it, as tables have it, and there are
  // as many: no ways between it and other links. What uses none of those takes the same cycles.
  parameter int unsigned DirectPorts = 0,
  localparam int unsigned P = NumLinks + NumLocal,
  localparam int unsigned L = NumLocal > 0 ? NumLocal : 1,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1,
  localparam int unsigned F = mt_pkg::FlitW
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Places of each virtual channel at the other ends of the links; taken over while load_i.
  input  logic                load_i,
  input  logic [CreditW-1:0]  places_i,

  // Flits and, in the other direction, credits; port p in bits p*W +: W.
  input  logic [P-1:0]        valid_i,
  input  logic [P*VcW-1:0]    vc_i,
  input  logic [P*F-1:0]      flit_i,
  output logic [P-1:0]        credit_valid_o,
  output logic [P*VcW-1:0]    credit_vc_o,

  output logic [P-1:0]        valid_o,
  output logic [P*VcW-1:0]    vc_o,
  output logic [P*F-1:0]      flit_o,
  input  logic [NumLinks-1:0] credit_valid_i,
  input  logic [NumLinks*VcW-1:0] credit_vc_i,
  // With EnRetry: the link has room for what is on the way to it and one more.
  input  logic [NumLinks-1:0] link_ready_i,
  // The interface takes flits.
  input  logic [L-1:0]        ready_i,
  // More credits than places came back on this link.
  output logic [NumLinks-1:0] credit_over_o
);

  localparam int unsigned PlaceW = P > 1 ? $clog2(P) : 1;
  localparam int unsigned LinkW = NumLinks > 1 ? $clog2(NumLinks) : 1;
  localparam int unsigned PortW = mt_pkg::HopPortW;

  logic [P*NumVc-1:0] free, has, empty;
  logic [P-1:0] req, tail, grant;
  logic [P*PortW-1:0] req_port;
  logic [P*VcW-1:0] req_vc;
  logic [F-1:0] flit [P];
  logic [P*P-1:0] asks;    // output o is asked by input i: o*P + i
  logic [P*P-1:0] grants;  // likewise

  for (genvar i = 0; i < P; i++) begin : gen_input
    // The outputs to which it has a way: the last of M, and those of links unless that is the only one.
    localparam int unsigned M = DirectPorts == 0 ? P : i < NumLinks ? NumLinks + 1 : 1;
    localparam int unsigned Last = DirectPorts == 0 ? P - 1 : i < NumLinks ? NumLinks + i : i - NumLinks;
    logic [M*NumVc-1:0] out_free, out_has, out_empty;
    if (M == 1) begin : gen_one
      assign out_free = free[Last*NumVc +: NumVc];
      assign out_has = has[Last*NumVc +: NumVc];
      assign out_empty = empty[Last*NumVc +: NumVc];
    end else begin : gen_some
      assign out_free = {free[Last*NumVc +: NumVc], free[(M-1)*NumVc-1:0]};
      assign out_has = {has[Last*NumVc +: NumVc], has[(M-1)*NumVc-1:0]};
      assign out_empty = {empty[Last*NumVc +: NumVc], empty[(M-1)*NumVc-1:0]};
    end
    mt_rt_input #(.NumPorts(M), .LastPort(Last), .AllPorts(M == P ? 1 : 0), .NumVc(NumVc), .Depth(Depth)) u_input (
      .clk_i, .rst_ni,
      .valid_i(valid_i[i]), .vc_i(vc_i[i*VcW +: VcW]), .flit_i(flit_i[i*F +: F]),
      .credit_valid_o(credit_valid_o[i]), .credit_vc_o(credit_vc_o[i*VcW +: VcW]),
      .out_free_i(out_free), .out_has_i(out_has), .out_empty_i(out_empty),
      .req_o(req[i]), .req_port_o(req_port[i*PortW +: PortW]), .req_vc_o(req_vc[i*VcW +: VcW]),
      .flit_o(flit[i]), .grant_i(grant[i]));
    assign tail[i] = flit[i][mt_pkg::FlitBits - 2];
  end

  int unsigned output_of;
  always_comb begin
    asks = '0;
    output_of = 0;
    for (int unsigned i = 0; i < P; i++) begin
      if (`MT_WORK(req[i])) begin
        output_of = 32'(req_port[i*PortW +: PortW]);
        if (DirectPorts != 0 && i >= NumLinks) output_of = i - NumLinks;
        else if (DirectPorts != 0 && output_of == NumLinks) output_of = NumLinks + i;
        asks[output_of * P + i] = req[i];
      end
    end
    grant = '0;
    for (int unsigned o = 0; o < P; o++) grant |= grants[o*P +: P];
  end

  if (NumLocal == 0) begin : gen_switch
    logic unused_ready;
    assign unused_ready = ready_i;
  end

  logic [NumLinks-1:0] link_ready;
  assign link_ready = EnRetry != 0 ? link_ready_i : {NumLinks{1'b1}};
  if (EnRetry == 0) begin : gen_always
    logic unused_link_ready;
    assign unused_link_ready = &{1'b0, link_ready_i};
  end

  logic [P-1:0] moves, valid_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= moves;
  end
  assign valid_o = valid_q;

  for (genvar o = 0; o < P; o++) begin : gen_output
    // The inputs with a way to it, in their order.
    localparam int unsigned N = DirectPorts == 0 ? P : o < NumLinks ? NumLinks + 1 : 1;
    localparam int unsigned IdxW = N > 1 ? $clog2(N) : 1;
    logic [N-1:0] ask, granted, is_tail;
    logic [N*VcW-1:0] to;
    logic [IdxW-1:0] from;
    logic [VcW-1:0] vc;
    logic [F-1:0] chosen;
    if (DirectPorts == 0) begin : gen_any
      assign {ask, is_tail, to} = {asks[o*P +: P], tail, req_vc};
      assign grants[o*P +: P] = granted;
      assign chosen = flit[from];
    end else if (o < NumLinks) begin : gen_merge
      localparam int unsigned Own = NumLinks + o;
      assign ask = {asks[o*P + Own], asks[o*P +: NumLinks]};
      assign is_tail = {tail[Own], tail[NumLinks-1:0]};
      assign to = {req_vc[Own*VcW +: VcW], req_vc[NumLinks*VcW-1:0]};
      always_comb begin
        grants[o*P +: P] = '0;
        grants[o*P +: NumLinks] = granted[NumLinks-1:0];
        grants[o*P + Own] = granted[NumLinks];
      end
      assign chosen = granted[NumLinks] ? flit[Own] : flit[PlaceW'(from[LinkW-1:0])];
      logic unused_from;
      assign unused_from = from[IdxW-1];
    end else begin : gen_direct
      localparam int unsigned Own = o - NumLinks;
      assign ask = asks[o*P + Own];
      assign is_tail = tail[Own];
      assign to = req_vc[Own*VcW +: VcW];
      always_comb begin
        grants[o*P +: P] = '0;
        grants[o*P + Own] = granted;
      end
      assign chosen = flit[Own];
      logic unused_from;
      assign unused_from = from;
    end
    if (o < NumLinks) begin : gen_link
      mt_rt_output #(.NumPorts(N), .NumVc(NumVc), .CreditW(CreditW), .Ejection(0)) u_output (
        .clk_i, .rst_ni, .load_i, .places_i, .ready_i(link_ready[o]),
        .credit_valid_i(credit_valid_i[o]), .credit_vc_i(credit_vc_i[o*VcW +: VcW]),
        .credit_over_o(credit_over_o[o]),
        .free_o(free[o*NumVc +: NumVc]), .has_o(has[o*NumVc +: NumVc]),
        .empty_o(empty[o*NumVc +: NumVc]),
        .req_i(ask), .gnt_o(granted), .req_vc_i(to), .req_tail_i(is_tail),
        .gnt_idx_o(from), .valid_o(moves[o]), .vc_o(vc));
    end else begin : gen_local
      logic unused_over;
      mt_rt_output #(.NumPorts(N), .NumVc(NumVc), .CreditW(CreditW), .Ejection(1)) u_output (
        .clk_i, .rst_ni, .load_i, .places_i, .ready_i(ready_i[o - NumLinks]),
        .credit_valid_i(1'b0), .credit_vc_i('0), .credit_over_o(unused_over),
        .free_o(free[o*NumVc +: NumVc]), .has_o(has[o*NumVc +: NumVc]),
        .empty_o(empty[o*NumVc +: NumVc]),
        .req_i(ask), .gnt_o(granted), .req_vc_i(to), .req_tail_i(is_tail),
        .gnt_idx_o(from), .valid_o(moves[o]), .vc_o(vc));
    end
    logic [VcW-1:0] vc_q;
    logic [F-1:0] flit_q;
    always_ff @(posedge clk_i) begin
      if (moves[o]) begin
        vc_q <= vc;
        flit_q <= chosen;
      end
    end
    assign vc_o[o*VcW +: VcW] = vc_q;
    assign flit_o[o*F +: F] = flit_q;
  end

endmodule
