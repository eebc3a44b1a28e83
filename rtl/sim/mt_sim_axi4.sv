// SPDX-License-Identifier: BSD-3-Clause
// Memory of an interface behind AXI4, and that memory, for simulation: in place of mt_memory_model.
module mt_sim_axi4 #(
  parameter int unsigned NumPorts = mt_pkg::NumPorts,
  parameter int unsigned NumAxi = 1,
  parameter int unsigned SendWords = mt_pkg::SendWords,
  parameter int unsigned AddWords = mt_pkg::AddWords,
  parameter int unsigned MaxBeats = 16,
  parameter int unsigned NumBursts = 512,
  parameter int unsigned HashW = 12,
  localparam int unsigned AxiAddrW = 40,
  localparam int unsigned AxiIdW = 4,
  localparam int unsigned P = NumPorts,
  localparam int unsigned M = NumAxi,
  localparam int unsigned A = mt_pkg::AddrW,
  localparam int unsigned D = mt_pkg::DataW,
  localparam int unsigned K = mt_pkg::KeepW,
  localparam int unsigned S = mt_pkg::CountW + mt_pkg::AddrW,
  localparam int unsigned X = AxiAddrW
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Which memory, to the function in C.
  input  logic [31:0] handle_i,

  // The interface's streams, as in mt_ni.
  input  logic [P-1:0]   tx_req_tvalid_i,
  output logic [P-1:0]   tx_req_tready_o,
  input  logic [P*A-1:0] tx_req_tdata_i,
  output logic [P-1:0]   tx_tvalid_o,
  input  logic [P-1:0]   tx_tready_i,
  output logic [P*D-1:0] tx_tdata_o,
  input  logic [P-1:0]   acc_req_tvalid_i,
  output logic [P-1:0]   acc_req_tready_o,
  input  logic [P*A-1:0] acc_req_tdata_i,
  output logic [P-1:0]   acc_tvalid_o,
  input  logic [P-1:0]   acc_tready_i,
  output logic [P*D-1:0] acc_tdata_o,
  input  logic [P-1:0]   stage_req_tvalid_i,
  output logic [P-1:0]   stage_req_tready_o,
  input  logic [P*S-1:0] stage_req_tdata_i,
  output logic [P-1:0]   stage_tvalid_o,
  input  logic [P-1:0]   stage_tready_i,
  output logic [P*D-1:0] stage_tdata_o,
  input  logic [P-1:0]   stage_wr_tvalid_i,
  output logic [P-1:0]   stage_wr_tready_o,
  input  logic [P*(S+D)-1:0] stage_wr_tdata_i,
  input  logic [P*K-1:0] stage_wr_tkeep_i,
  input  logic [P-1:0]    res_tvalid_i,
  output logic [P-1:0]    res_tready_o,
  input  logic [P*A-1:0]  res_taddr_i,
  input  logic [P*K-1:0] res_tkeep_i,
  input  logic [P*D-1:0]  res_tdata_i,
  output logic mem_idle_o,
  output logic mem_error_o
);

  logic [M-1:0] awvalid;
  logic [M*AxiIdW-1:0] unused_awid;
  logic [M*X-1:0] awaddr;
  logic [M*8-1:0] awlen;
  logic [M*3-1:0] unused_awsize;
  logic [M*2-1:0] unused_awburst;
  logic [M-1:0] unused_awlock;
  logic [M*4-1:0] unused_awcache;
  logic [M*3-1:0] unused_awprot;
  logic [M-1:0] wvalid;
  logic [M*D-1:0] wdata;
  logic [M*K-1:0] wstrb;
  logic [M-1:0] wlast;
  logic [M-1:0] bready;
  logic [M-1:0] arvalid;
  logic [M*AxiIdW-1:0] arid;
  logic [M*X-1:0] araddr;
  logic [M*8-1:0] arlen;
  logic [M*3-1:0] unused_arsize;
  logic [M*2-1:0] unused_arburst;
  logic [M-1:0] unused_arlock;
  logic [M*4-1:0] unused_arcache;
  logic [M*3-1:0] unused_arprot;
  logic [M-1:0] rready;
  logic [M-1:0] awready;
  logic [M-1:0] wready;
  logic [M-1:0] bvalid;
  logic [M*2-1:0] bresp;
  logic [M-1:0] arready;
  logic [M-1:0] rvalid;
  logic [M*AxiIdW-1:0] rid;
  logic [M*D-1:0] rdata;
  logic [M*2-1:0] rresp;
  logic [M-1:0] rlast;

  // Addresses as in axi_slave.hpp, the buffer's of a whole word.
  localparam logic [X-1:0] Buffer = X'(40'h12_3450) & ~(X'(K) - X'(1));
  mt_axi4_memory #(
    .NumPorts(P), .NumAxi(M), .SendWords(SendWords), .AddWords(AddWords), .AxiAddrW(X), .AxiIdW(AxiIdW),
    .MaxBeats(MaxBeats), .NumBursts(NumBursts), .HashW(HashW)
  ) u_memory (
    .clk_i, .rst_ni, .buffer_i(Buffer), .beside_i(40'h40_0000_0fc0),
    .tx_req_tvalid_i, .tx_req_tready_o, .tx_req_tdata_i, .tx_tvalid_o, .tx_tready_i, .tx_tdata_o,
    .acc_req_tvalid_i, .acc_req_tready_o, .acc_req_tdata_i, .acc_tvalid_o, .acc_tready_i, .acc_tdata_o,
    .stage_req_tvalid_i, .stage_req_tready_o, .stage_req_tdata_i, .stage_tvalid_o, .stage_tready_i,
    .stage_tdata_o, .stage_wr_tvalid_i, .stage_wr_tready_o, .stage_wr_tdata_i, .stage_wr_tkeep_i,
    .res_tvalid_i, .res_tready_o, .res_taddr_i, .res_tkeep_i, .res_tdata_i, .mem_idle_o, .mem_error_o,
    .m_axi_awvalid_o(awvalid), .m_axi_awid_o(unused_awid), .m_axi_awaddr_o(awaddr), .m_axi_awlen_o(awlen),
    .m_axi_awsize_o(unused_awsize), .m_axi_awburst_o(unused_awburst), .m_axi_awlock_o(unused_awlock),
    .m_axi_awcache_o(unused_awcache), .m_axi_awprot_o(unused_awprot), .m_axi_wvalid_o(wvalid),
    .m_axi_wdata_o(wdata), .m_axi_wstrb_o(wstrb), .m_axi_wlast_o(wlast), .m_axi_bready_o(bready),
    .m_axi_arvalid_o(arvalid), .m_axi_arid_o(arid), .m_axi_araddr_o(araddr), .m_axi_arlen_o(arlen),
    .m_axi_arsize_o(unused_arsize), .m_axi_arburst_o(unused_arburst), .m_axi_arlock_o(unused_arlock),
    .m_axi_arcache_o(unused_arcache), .m_axi_arprot_o(unused_arprot), .m_axi_rready_o(rready),
    .m_axi_awready_i(awready), .m_axi_wready_i(wready), .m_axi_bvalid_i(bvalid), .m_axi_bid_i('0),
    .m_axi_bresp_i(bresp), .m_axi_arready_i(arready), .m_axi_rvalid_i(rvalid), .m_axi_rid_i(rid),
    .m_axi_rdata_i(rdata), .m_axi_rresp_i(rresp), .m_axi_rlast_i(rlast));
  for (genvar m = 0; m < M; m++) begin : gen_axi
    mt_axi4_model #(.AxiAddrW(X), .AxiIdW(AxiIdW)) u_model (
      .clk_i, .rst_ni, .handle_i, .port_i(m),
      .s_axi_awvalid_i(awvalid[m]), .s_axi_awready_o(awready[m]), .s_axi_awaddr_i(awaddr[m*X +: X]),
      .s_axi_awlen_i(awlen[m*8 +: 8]), .s_axi_wvalid_i(wvalid[m]), .s_axi_wready_o(wready[m]),
      .s_axi_wdata_i(wdata[m*D +: D]), .s_axi_wstrb_i(wstrb[m*K +: K]), .s_axi_wlast_i(wlast[m]),
      .s_axi_bvalid_o(bvalid[m]), .s_axi_bready_i(bready[m]), .s_axi_bresp_o(bresp[m*2 +: 2]),
      .s_axi_arvalid_i(arvalid[m]), .s_axi_arready_o(arready[m]), .s_axi_araddr_i(araddr[m*X +: X]),
      .s_axi_arlen_i(arlen[m*8 +: 8]), .s_axi_arid_i(arid[m*AxiIdW +: AxiIdW]), .s_axi_rvalid_o(rvalid[m]),
      .s_axi_rready_i(rready[m]), .s_axi_rid_o(rid[m*AxiIdW +: AxiIdW]), .s_axi_rdata_o(rdata[m*D +: D]),
      .s_axi_rresp_o(rresp[m*2 +: 2]), .s_axi_rlast_o(rlast[m]));
  end
  logic unused;
  assign unused = &{
    1'b0, unused_arburst, unused_arcache, unused_arlock, unused_arprot, unused_arsize, unused_awburst, unused_awcache, unused_awid, unused_awlock, unused_awprot, unused_awsize};

endmodule
