// SPDX-License-Identifier: BSD-3-Clause
// with: prim/mt_onehot.sv prim/mt_prio_enc.sv prim/mt_rr_arb.sv prim/mt_sync.sv prim/mt_gray.sv prim/mt_gray_sync.sv net/mt_credit_cross.sv
// prove: NumVc=1
// prove: NumVc=2
// clocks: any
// bounded: 18
// cover: 30
`include "mt_assert.svh"

// Credits between two clocks that do as they like: as many come out as went in, each of its channel, as long as
// fewer are under way than the counts can tell.
module credit_cross #(
  parameter int unsigned NumVc = 2,
  localparam int unsigned CountW = 2,
  localparam int unsigned Stages = 2
) (
  input logic in_clk_i,
  input logic out_clk_i,
  input logic give_i,
  input logic vc_i,
  input logic in_leaves_i,
  input logic out_leaves_i
);
  logic in_reset_q, out_reset_q, in_rst_n, out_rst_n;
  initial {in_reset_q, out_reset_q, in_rst_n, out_rst_n} = '0;
  always_ff @(posedge in_clk_i) begin
    in_reset_q <= 1'b1;
    in_rst_n <= in_rst_n || (in_reset_q && out_reset_q && in_leaves_i);
  end
  always_ff @(posedge out_clk_i) begin
    out_reset_q <= 1'b1;
    out_rst_n <= out_rst_n || (in_reset_q && out_reset_q && out_leaves_i);
  end

  // Counts of each channel, of more bits than the module has; a quarter of what they can tell is enough.
  localparam int unsigned W = CountW + 2;
  logic [NumVc*W-1:0] gave_q, came_q;
  logic vc, gives, valid, out_vc;
  assign vc = NumVc > 1 && vc_i;
  logic [W-1:0] open;
  assign open = gave_q[vc*W +: W] - came_q[vc*W +: W];
  assign gives = give_i && in_rst_n && 32'(open) < 3;
  mt_credit_cross #(.NumVc(NumVc), .CountW(CountW), .Stages(Stages)) u_cross (
    .in_clk_i(in_clk_i), .in_rst_ni(in_rst_n), .in_valid_i(gives), .in_vc_i(vc),
    .out_clk_i(out_clk_i), .out_rst_ni(out_rst_n), .out_valid_o(valid), .out_vc_o(out_vc));
  initial gave_q = '0;
  initial came_q = '0;
  always_ff @(posedge in_clk_i) if (gives) gave_q[vc*W +: W] <= gave_q[vc*W +: W] + W'(1);
  always_ff @(posedge out_clk_i) begin
    if (out_rst_n && valid) came_q[out_vc*W +: W] <= came_q[out_vc*W +: W] + W'(1);
  end

  // Edges of the clock of the output in which nothing has come in.
  logic [3:0] quiet_q;
  logic [NumVc*W-1:0] gave_seen_q;
  initial {quiet_q, gave_seen_q} = '0;
  always_ff @(posedge out_clk_i) begin
    gave_seen_q <= gave_q;
    if (!out_rst_n || gave_seen_q != gave_q) quiet_q <= '0;
    else if (quiet_q != '1) quiet_q <= quiet_q + 4'd1;
  end

  always @($global_clock) begin
    if (in_rst_n && out_rst_n) begin
      NoneIsMade: assert (!valid || gave_q[out_vc*W +: W] != came_q[out_vc*W +: W]);
      AllCome: assert (32'(quiet_q) < Stages || gave_seen_q != gave_q || valid || came_q == gave_q);
      Wraps: cover (32'(came_q[W-1:0]) == 5);
    end
  end
endmodule
