// SPDX-License-Identifier: BSD-3-Clause
// Every stream between ports and memory is checked, wherever a port is simulated.
bind mt_tx_port mt_stream_check #(.Width(mt_pkg::AddrW)) u_check_req (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(req_tvalid_o), .ready_i(req_tready_i),
  .data_i(req_tdata_o));
bind mt_tx_port mt_stream_check #(.Width(mt_pkg::DataW)) u_check_data (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(data_tvalid_i), .ready_i(data_tready_o),
  .data_i(data_tdata_i));
bind mt_rx_port mt_stream_check #(.Width(mt_pkg::AddrW)) u_check_acc_req (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(acc_req_tvalid_o), .ready_i(acc_req_tready_i),
  .data_i(acc_req_tdata_o));
bind mt_rx_port mt_stream_check #(.Width(mt_pkg::DataW)) u_check_acc (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(acc_tvalid_i), .ready_i(acc_tready_o),
  .data_i(acc_tdata_i));
bind mt_rx_port mt_stream_check #(.Width(mt_pkg::CountW + mt_pkg::AddrW)) u_check_stage_req (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(stage_req_tvalid_o), .ready_i(stage_req_tready_i),
  .data_i(stage_req_tdata_o));
bind mt_rx_port mt_stream_check #(.Width(mt_pkg::DataW)) u_check_stage (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(stage_tvalid_i), .ready_i(stage_tready_o),
  .data_i(stage_tdata_i));
bind mt_rx_port mt_stream_check #(
  .Width(mt_pkg::CountW + mt_pkg::AddrW + mt_pkg::DataW + mt_pkg::KeepW)
) u_check_stage_wr (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(stage_wr_tvalid_o), .ready_i(stage_wr_tready_i),
  .data_i({stage_wr_tdata_o, stage_wr_tkeep_o}));
bind mt_rx_port mt_stream_check #(.Width(mt_pkg::AddrW + mt_pkg::DataW + mt_pkg::KeepW)) u_check_res (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(res_tvalid_o), .ready_i(res_tready_i),
  .data_i({res_taddr_o, res_tdata_o, res_tkeep_o}));
