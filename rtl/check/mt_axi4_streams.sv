// SPDX-License-Identifier: BSD-3-Clause
// Every AXI4 port is checked, wherever one is simulated.
bind mt_axi4_read mt_axi4_read_check #(.AxiAddrW(AxiAddrW), .AxiIdW(AxiIdW)) u_check (
  .clk_i(clk_i), .rst_ni(rst_ni), .arvalid_i(m_axi_arvalid_o), .arready_i(m_axi_arready_i),
  .arid_i(m_axi_arid_o), .araddr_i(m_axi_araddr_o), .arlen_i(m_axi_arlen_o), .rvalid_i(m_axi_rvalid_i),
  .rready_i(m_axi_rready_o), .rid_i(m_axi_rid_i), .rdata_i(m_axi_rdata_i), .rresp_i(m_axi_rresp_i));
bind mt_axi4_write mt_axi4_write_check #(.AxiAddrW(AxiAddrW)) u_check (
  .clk_i(clk_i), .rst_ni(rst_ni), .awvalid_i(m_axi_awvalid_o), .awready_i(m_axi_awready_i),
  .awaddr_i(m_axi_awaddr_o), .awlen_i(m_axi_awlen_o), .wvalid_i(m_axi_wvalid_o), .wready_i(m_axi_wready_i),
  .wdata_i(m_axi_wdata_o), .wstrb_i(m_axi_wstrb_o), .wlast_i(m_axi_wlast_o), .bvalid_i(m_axi_bvalid_i),
  .bready_i(m_axi_bready_o), .bresp_i(m_axi_bresp_i));
