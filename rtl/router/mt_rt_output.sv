// SPDX-License-Identifier: BSD-3-Clause
// An output of a router: which virtual channels of its link are held by worms, how many places the
// other end has left, and which input sends the next flit (they take turns).
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_rt_output #(
  // Inputs of the router.
  parameter int unsigned NumPorts = 8,
  // Virtual channels of the link.
  parameter int unsigned NumVc = 4,
  // Width of credit counters: up to 2^CreditW - 1 places.
  parameter int unsigned CreditW = 10,
  // 1: an interface, which says itself when it takes flits; there are no credits.
  parameter int unsigned Ejection = 0,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1,
  localparam int unsigned IdxW = NumPorts > 1 ? $clog2(NumPorts) : 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Places of each virtual channel at the other end; taken over while load_i.
  input  logic               load_i,
  input  logic [CreditW-1:0] places_i,
  // The interface (or a link that loses) has room for what is on the way to it and one more.
  input  logic               ready_i,
  input  logic               credit_valid_i,
  input  logic [VcW-1:0]     credit_vc_i,
  output logic               credit_over_o,

  // State of the virtual channels, to the inputs.
  output logic [NumVc-1:0]   free_o,
  output logic [NumVc-1:0]   has_o,
  output logic [NumVc-1:0]   empty_o,

  // Requests for this output, and the input that sends.
  input  logic [NumPorts-1:0] req_i,
  output logic [NumPorts-1:0] gnt_o,
  // Virtual channel and tail bit of each input's flit.
  input  logic [NumPorts*VcW-1:0] req_vc_i,
  input  logic [NumPorts-1:0] req_tail_i,
  output logic [IdxW-1:0]     gnt_idx_o,
  output logic                valid_o,
  output logic [VcW-1:0]      vc_o
);

  mt_rr_arb #(.N(NumPorts)) u_arb (
    .clk_i, .rst_ni, .req_i, .en_i(valid_o), .gnt_o, .gnt_idx_o);

  assign valid_o = req_i != '0;
  always_comb begin
    vc_o = '0;
    if (`MT_WORK(valid_o)) vc_o = req_vc_i[gnt_idx_o*VcW +: VcW];
  end

  logic [NumVc-1:0] taken_q;
  assign free_o = ~taken_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) taken_q <= '0;
    else if (valid_o) taken_q[vc_o] <= !req_tail_i[gnt_idx_o];
  end

  if (Ejection != 0) begin : gen_ejection
    assign has_o = {NumVc{ready_i}};
    assign empty_o = {NumVc{ready_i}};
    assign credit_over_o = 1'b0;
    logic unused;
    assign unused = &{1'b0, load_i, places_i, credit_valid_i, credit_vc_i};
  end else begin : gen_link
    logic [NumVc-1:0] over;
    logic [NumVc-1:0] takes, gives, has, empty;
    assign has_o = has & {NumVc{ready_i}};
    assign empty_o = empty & {NumVc{ready_i}};
    assign takes = valid_o ? NumVc'(1) << vc_o : '0;
    assign gives = credit_valid_i ? NumVc'(1) << credit_vc_i : '0;
    logic [NumVc*CreditW-1:0] unused_available;
    mt_credit #(.CntW(CreditW), .NumVc(NumVc)) u_credit (
      .clk_i, .rst_ni, .load_i, .initial_i(places_i),
      .take_i(takes), .give_i(gives),
      .available_o(unused_available), .has_o(has), .full_o(empty), .error_o(over));
    assign credit_over_o = over != '0;
  end

  `MT_ASSERT(OneGrant, (gnt_o & (gnt_o - NumPorts'(1))) == '0)
  `MT_ASSERT(SentWithPlace, !valid_o || has_o[vc_o])

endmodule
