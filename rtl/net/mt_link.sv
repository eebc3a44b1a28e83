// SPDX-License-Identifier: BSD-3-Clause
// A link between two routers: flits one way, credits the other, both Latency cycles. The output
// register of the router (or the credit's) is the first of them, so that there are Latency - 1 here: a
// ring in memory, whose places are read and written again in turn, and a register behind it.
`include "mt_assert.svh"

module mt_link #(
  // Cycles, at least 1: wires alone.
  parameter int unsigned Latency = 2,
  // Virtual channels.
  parameter int unsigned NumVc = 4,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1,
  localparam int unsigned F = mt_pkg::FlitW
) (
  input  logic clk_i,
  input  logic rst_ni,

  // From the router at the beginning to the one at the end.
  input  logic           valid_i,
  input  logic [VcW-1:0] vc_i,
  input  logic [F-1:0]   flit_i,
  output logic           valid_o,
  output logic [VcW-1:0] vc_o,
  output logic [F-1:0]   flit_o,

  // From the end to the beginning.
  input  logic           credit_valid_i,
  input  logic [VcW-1:0] credit_vc_i,
  output logic           credit_valid_o,
  output logic [VcW-1:0] credit_vc_o
);

  if (Latency < 1) begin : gen_check
    $error("mt_link: expected a Latency of at least 1");
  end

  if (Latency <= 1) begin : gen_wires
    assign {valid_o, vc_o, flit_o} = {valid_i, vc_i, flit_i};
    assign {credit_valid_o, credit_vc_o} = {credit_valid_i, credit_vc_i};
    logic unused;
    assign unused = &{1'b0, clk_i, rst_ni};
  end else if (Latency == 2) begin : gen_register
    always_ff @(posedge clk_i) begin
      valid_o <= rst_ni && valid_i;
      credit_valid_o <= rst_ni && credit_valid_i;
      vc_o <= vc_i;
      credit_vc_o <= credit_vc_i;
      if (valid_i) flit_o <= flit_i;
    end
  end else begin : gen_ring
    localparam int unsigned Places = Latency - 2;
    localparam int unsigned PtrW = Places > 1 ? $clog2(Places) : 1;
    // Flits are read and written only where there are any: that is most of what a simulation
    // of an idle link would do.
    logic [2*VcW+1:0] control [Places];
    logic [F-1:0] flits [Places];
    logic [PtrW-1:0] at_q;
    logic round_q;  // every place has been written since the reset
    logic [2*VcW+1:0] old;
    logic old_valid, old_credit_valid;
    logic [VcW-1:0] old_vc, old_credit_vc;
    assign old = control[at_q];
    assign {old_valid, old_vc, old_credit_valid, old_credit_vc} = old;

    always_ff @(posedge clk_i) begin
      control[at_q] <= {valid_i, vc_i, credit_valid_i, credit_vc_i};
      if (valid_i) flits[at_q] <= flit_i;
      if (old_valid) flit_o <= flits[at_q];
      vc_o <= old_vc;
      credit_vc_o <= old_credit_vc;
      if (!rst_ni) begin
        at_q <= '0;
        round_q <= 1'b0;
        valid_o <= 1'b0;
        credit_valid_o <= 1'b0;
      end else begin
        if (at_q == PtrW'(Places - 1)) begin
          at_q <= '0;
          round_q <= 1'b1;
        end else begin
          at_q <= at_q + PtrW'(1);
        end
        valid_o <= round_q && old_valid;
        credit_valid_o <= round_q && old_credit_valid;
      end
    end

    `MT_ASSERT(PlaceExists, 32'(at_q) < Places)
  end

endmodule
