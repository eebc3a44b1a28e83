// SPDX-License-Identifier: BSD-3-Clause
// One end of a link, between a node's clock and the link's: flits and credits both ways. A node sees a link with
// Retry (ready_o), whose end holds back flits when the link's clock is slow. Nothing holds back flits that
// arrive but the credits of the sender, so there is a place for each that it may have.
`include "mt_assert.svh"

module mt_link_cross #(
  // Virtual channels, and the width of credit counters: places are fewer than 2**CreditW.
  parameter int unsigned NumVc = mt_pkg::NumVc,
  parameter int unsigned CreditW = mt_pkg::CreditW,
  // Flits to the link, and from it, that are held; powers of two. To the link 16 are enough for a flit in
  // every cycle. From the link NumVc * (places of each virtual channel) are enough for all clocks. Where the
  // clocks of all nodes have one frequency and links lose nothing, 16 are.
  parameter int unsigned TxDepth = 16,
  parameter int unsigned RxDepth = NumVc * mt_pkg::VcDepth,
  // 1: the link may be not ready (mt_link with Retry).
  parameter int unsigned EnRetry = 0,
  // As of mt_sync.
  parameter int unsigned Stages = 2,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1,
  localparam int unsigned F = mt_pkg::FlitW
) (
  // The node's: as of mt_router, but for dead_o (the link is) and over_o (more flits came than RxDepth; until
  // reset).
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           valid_i,
  input  logic [VcW-1:0] vc_i,
  input  logic [F-1:0]   flit_i,
  output logic           ready_o,
  output logic           credit_valid_o,
  output logic [VcW-1:0] credit_vc_o,
  output logic           valid_o,
  output logic [VcW-1:0] vc_o,
  output logic [F-1:0]   flit_o,
  input  logic           credit_valid_i,
  input  logic [VcW-1:0] credit_vc_i,
  output logic           dead_o,
  output logic           over_o,

  // The link's: as of mt_link.
  input  logic           link_clk_i,
  input  logic           link_rst_ni,
  output logic           link_valid_o,
  output logic [VcW-1:0] link_vc_o,
  output logic [F-1:0]   link_flit_o,
  input  logic           link_ready_i,
  input  logic           link_credit_valid_i,
  input  logic [VcW-1:0] link_credit_vc_i,
  input  logic           link_valid_i,
  input  logic [VcW-1:0] link_vc_i,
  input  logic [F-1:0]   link_flit_i,
  output logic           link_credit_valid_o,
  output logic [VcW-1:0] link_credit_vc_o,
  input  logic           link_dead_i
);

  localparam int unsigned B = mt_pkg::FlitBits;
  localparam int unsigned TxLevelW = $clog2(TxDepth) + 1;
  localparam int unsigned RxLevelW = $clog2(RxDepth) + 1;

  if (TxDepth < 4) begin : gen_check
    $error("mt_link_cross: expected a TxDepth of at least 4");
  end

  // To the link.
  logic tx_room, tx_valid, link_ready;
  logic [TxLevelW-1:0] tx_level;
  logic [B-1:0] tx_flit;
  mt_async_fifo #(.Width(VcW + B), .Depth(TxDepth), .Stages(Stages)) u_tx (
    .in_clk_i(clk_i), .in_rst_ni(rst_ni), .in_valid_i(valid_i), .in_ready_o(tx_room),
    .in_data_i({vc_i, flit_i[B-1:0]}), .in_level_o(tx_level), .out_clk_i(link_clk_i),
    .out_rst_ni(link_rst_ni), .out_valid_o(tx_valid), .out_ready_i(link_ready),
    .out_data_o({link_vc_o, tx_flit}));
  assign link_ready = EnRetry == 0 || link_ready_i;
  assign link_valid_o = tx_valid && link_ready;
  assign link_flit_o = F'(tx_flit);
  always_ff @(posedge clk_i) begin
    // One may be on its way here, and one be chosen until this is seen.
    ready_o <= rst_ni && tx_level <= TxLevelW'(TxDepth - 3);
  end

  // From the link.
  logic rx_room, over_q;
  logic [RxLevelW-1:0] unused_level;
  logic [B-1:0] rx_flit;
  mt_async_fifo #(.Width(VcW + B), .Depth(RxDepth), .Stages(Stages)) u_rx (
    .in_clk_i(link_clk_i), .in_rst_ni(link_rst_ni), .in_valid_i(link_valid_i), .in_ready_o(rx_room),
    .in_data_i({link_vc_i, link_flit_i[B-1:0]}), .in_level_o(unused_level), .out_clk_i(clk_i),
    .out_rst_ni(rst_ni), .out_valid_o(valid_o), .out_ready_i(1'b1), .out_data_o({vc_o, rx_flit}));
  assign flit_o = F'(rx_flit);
  always_ff @(posedge link_clk_i) begin
    over_q <= link_rst_ni && (over_q || (link_valid_i && !rx_room));
  end

  // Credits for what was sent, and of what has been moved on.
  mt_credit_cross #(.NumVc(NumVc), .CountW(CreditW), .Stages(Stages)) u_to_node (
    .in_clk_i(link_clk_i), .in_rst_ni(link_rst_ni), .in_valid_i(link_credit_valid_i),
    .in_vc_i(link_credit_vc_i), .out_clk_i(clk_i), .out_rst_ni(rst_ni), .out_valid_o(credit_valid_o),
    .out_vc_o(credit_vc_o));
  mt_credit_cross #(.NumVc(NumVc), .CountW(CreditW), .Stages(Stages)) u_to_link (
    .in_clk_i(clk_i), .in_rst_ni(rst_ni), .in_valid_i(credit_valid_i), .in_vc_i(credit_vc_i),
    .out_clk_i(link_clk_i), .out_rst_ni(link_rst_ni), .out_valid_o(link_credit_valid_o),
    .out_vc_o(link_credit_vc_o));

  // mt_link says dead_o from a comparison, which may be anything between two edges.
  logic dead_q;
  always_ff @(posedge link_clk_i) dead_q <= link_rst_ni && EnRetry != 0 && link_dead_i;
  mt_sync #(.Width(2), .Stages(Stages)) u_bad (
    .clk_i, .rst_ni, .data_i({dead_q, over_q}), .data_o({dead_o, over_o}));

  logic unused;
  assign unused = &{1'b0, flit_i[mt_pkg::FlitW-1:B], link_flit_i[mt_pkg::FlitW-1:B], link_ready_i};
  `MT_ASSERT(TxHasRoom, !valid_i || tx_room)
endmodule
