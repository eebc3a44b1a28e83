// SPDX-License-Identifier: BSD-3-Clause
// A rank of a generated network (multitree nic top): a node and, if asked for, its memory for
// simulation. Memory streams and traces have room for MaxPorts, the most ports of any rank, so that those
// of a network lie side by side evenly; what is above NumPorts is 0.
module mt_net_rank #(
  // Links of this rank, and the most of any.
  parameter int unsigned NumPorts = mt_pkg::NumPorts,
  parameter int unsigned MaxPorts = mt_pkg::NumPorts,
  // Cycles of the reduction unit; 1: its sums by a C function.
  parameter int unsigned ReduceLatency = mt_pkg::ReduceCycles,
  parameter int unsigned FpImpl = 0,
  // 1: with performance counters.
  parameter int unsigned EnCounters = 1,
  // 1: links that lose (mt_link with Retry).
  parameter int unsigned EnRetry = 0,
  // As of mt_node.
  parameter int unsigned DirectPorts = 0,
  // As of mt_ni: words that wait for memory.
  parameter int unsigned SendWords = mt_pkg::SendWords,
  parameter int unsigned AddWords = mt_pkg::AddWords,
  // 1: memory is that of C++ with the number handle_i; the memory streams are 0.
  parameter int unsigned Simulate = 0,
  localparam int unsigned P = NumPorts,
  localparam int unsigned M = MaxPorts,
  localparam int unsigned F = mt_pkg::FlitW,
  localparam int unsigned A = mt_pkg::AddrW,
  localparam int unsigned D = mt_pkg::DataW,
  localparam int unsigned K = mt_pkg::KeepW,
  localparam int unsigned S = mt_pkg::CountW + mt_pkg::AddrW
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [31:0] handle_i,

  // Registers, from mt_net_axil.
  input  logic        wvalid_i,
  output logic        wready_o,
  input  logic [11:0] awaddr_i,
  input  logic [31:0] wdata_i,
  input  logic [3:0]  wstrb_i,
  output logic        bvalid_o,
  output logic [1:0]  bresp_o,
  input  logic        arvalid_i,
  output logic        arready_o,
  input  logic [11:0] araddr_i,
  output logic        rvalid_o,
  output logic [31:0] rdata_o,
  output logic [1:0]  rresp_o,

  // The collective is over (until the next one starts); something is wrong with it.
  output logic done_o,
  output logic failed_o,

  // Links; port p in bits p*W +: W.
  input  logic [P-1:0] link_valid_i,
  input  logic [P*2-1:0] link_vc_i,
  input  logic [P*F-1:0] link_flit_i,
  output logic [P-1:0] link_credit_valid_o,
  output logic [P*2-1:0] link_credit_vc_o,
  output logic [P-1:0] link_valid_o,
  output logic [P*2-1:0] link_vc_o,
  output logic [P*F-1:0] link_flit_o,
  input  logic [P-1:0] link_credit_valid_i,
  input  logic [P*2-1:0] link_credit_vc_i,
  input  logic [P-1:0] link_ready_i,
  input  logic [P-1:0] link_dead_i,

  // Memory, AXI4-Stream, as in mt_node.
  output logic [M-1:0] tx_req_tvalid_o,
  input  logic [M-1:0] tx_req_tready_i,
  output logic [M*A-1:0] tx_req_tdata_o,
  input  logic [M-1:0] tx_tvalid_i,
  output logic [M-1:0] tx_tready_o,
  input  logic [M*D-1:0] tx_tdata_i,
  output logic [M-1:0] acc_req_tvalid_o,
  input  logic [M-1:0] acc_req_tready_i,
  output logic [M*A-1:0] acc_req_tdata_o,
  input  logic [M-1:0] acc_tvalid_i,
  output logic [M-1:0] acc_tready_o,
  input  logic [M*D-1:0] acc_tdata_i,
  output logic [M-1:0] stage_req_tvalid_o,
  input  logic [M-1:0] stage_req_tready_i,
  output logic [M*S-1:0] stage_req_tdata_o,
  input  logic [M-1:0] stage_tvalid_i,
  output logic [M-1:0] stage_tready_o,
  input  logic [M*D-1:0] stage_tdata_i,
  output logic [M-1:0] stage_wr_tvalid_o,
  input  logic [M-1:0] stage_wr_tready_i,
  output logic [M*(S+D)-1:0] stage_wr_tdata_o,
  output logic [M*K-1:0] stage_wr_tkeep_o,
  output logic [M-1:0] res_tvalid_o,
  input  logic [M-1:0] res_tready_i,
  output logic [M*A-1:0] res_taddr_o,
  output logic [M*K-1:0] res_tkeep_o,
  output logic [M*D-1:0] res_tdata_o,
  input  logic mem_idle_i,
  input  logic mem_error_i,

  // What happens, for comparison with the C++ model.
  output logic trace_running_o,
  output logic trace_done_o,
  output logic [M-1:0] trace_begun_o,
  output logic [M-1:0] trace_sent_o,
  output logic [M-1:0] trace_issued_o,
  output logic [M*16-1:0] trace_rx_piece_o,
  output logic [M*16-1:0] trace_rx_turn_o,
  output logic [M*16-1:0] trace_rx_pos_o,
  output logic [M-1:0] trace_taken_o,
  output logic [M*16-1:0] trace_taken_piece_o,
  output logic [15:0] trace_step_o
);

  logic [P-1:0] tx_req_tvalid;
  logic [P-1:0] tx_req_tready;
  logic [P*A-1:0] tx_req_tdata;
  logic [P-1:0] tx_tvalid;
  logic [P-1:0] tx_tready;
  logic [P*D-1:0] tx_tdata;
  logic [P-1:0] acc_req_tvalid;
  logic [P-1:0] acc_req_tready;
  logic [P*A-1:0] acc_req_tdata;
  logic [P-1:0] acc_tvalid;
  logic [P-1:0] acc_tready;
  logic [P*D-1:0] acc_tdata;
  logic [P-1:0] stage_req_tvalid;
  logic [P-1:0] stage_req_tready;
  logic [P*S-1:0] stage_req_tdata;
  logic [P-1:0] stage_tvalid;
  logic [P-1:0] stage_tready;
  logic [P*D-1:0] stage_tdata;
  logic [P-1:0] stage_wr_tvalid;
  logic [P-1:0] stage_wr_tready;
  logic [P*(S+D)-1:0] stage_wr_tdata;
  logic [P*K-1:0] stage_wr_tkeep;
  logic [P-1:0] res_tvalid;
  logic [P-1:0] res_tready;
  logic [P*A-1:0] res_taddr;
  logic [P*K-1:0] res_tkeep;
  logic [P*D-1:0] res_tdata;
  logic [P-1:0] trace_begun;
  logic [P-1:0] trace_sent;
  logic [P-1:0] trace_issued;
  logic [P*16-1:0] trace_rx_piece;
  logic [P*16-1:0] trace_rx_turn;
  logic [P*16-1:0] trace_rx_pos;
  logic [P-1:0] trace_taken;
  logic [P*16-1:0] trace_taken_piece;
  logic irq, unused_wready, mem_idle, mem_error;
  logic [mt_pkg::NumGroups-1:0] unused_over;  // registers say so too

  // Widths of entries: those of all networks, as verilated_layout() has them.
  mt_node #(
    .NumPorts(P), .PieceOfFlowW(mt_pkg::NetPieceOfFlowW), .PieceW(mt_pkg::NetPieceW),
    .Latency(ReduceLatency), .FpImpl(FpImpl), .EnCounters(EnCounters), .EnRetry(EnRetry), .DirectPorts(DirectPorts),
    .SendWords(SendWords), .AddWords(AddWords)
  ) u_node (
    .clk_i, .rst_ni, .s_axil_awvalid_i(wvalid_i), .s_axil_awready_o(wready_o),
    .s_axil_awaddr_i(awaddr_i), .s_axil_awprot_i('0), .s_axil_wvalid_i(wvalid_i),
    .s_axil_wready_o(unused_wready), .s_axil_wdata_i(wdata_i), .s_axil_wstrb_i(wstrb_i),
    .s_axil_bvalid_o(bvalid_o), .s_axil_bready_i(1'b1), .s_axil_bresp_o(bresp_o),
    .s_axil_arvalid_i(arvalid_i), .s_axil_arready_o(arready_o), .s_axil_araddr_i(araddr_i),
    .s_axil_arprot_i('0), .s_axil_rvalid_o(rvalid_o), .s_axil_rready_i(1'b1),
    .s_axil_rdata_o(rdata_o), .s_axil_rresp_o(rresp_o), .irq_o(irq), .over_o(unused_over),
    .link_valid_i, .link_vc_i, .link_flit_i, .link_credit_valid_o, .link_credit_vc_o, .link_valid_o,
    .link_vc_o, .link_flit_o, .link_credit_valid_i, .link_credit_vc_i, .link_ready_i, .link_dead_i,
    .tx_req_tvalid_o(tx_req_tvalid), .tx_req_tready_i(tx_req_tready), .tx_req_tdata_o(tx_req_tdata),
    .tx_tvalid_i(tx_tvalid), .tx_tready_o(tx_tready), .tx_tdata_i(tx_tdata),
    .acc_req_tvalid_o(acc_req_tvalid), .acc_req_tready_i(acc_req_tready),
    .acc_req_tdata_o(acc_req_tdata), .acc_tvalid_i(acc_tvalid), .acc_tready_o(acc_tready),
    .acc_tdata_i(acc_tdata), .stage_req_tvalid_o(stage_req_tvalid),
    .stage_req_tready_i(stage_req_tready), .stage_req_tdata_o(stage_req_tdata),
    .stage_tvalid_i(stage_tvalid), .stage_tready_o(stage_tready), .stage_tdata_i(stage_tdata),
    .stage_wr_tvalid_o(stage_wr_tvalid), .stage_wr_tready_i(stage_wr_tready),
    .stage_wr_tdata_o(stage_wr_tdata), .stage_wr_tkeep_o(stage_wr_tkeep), .res_tvalid_o(res_tvalid),
    .res_tready_i(res_tready), .res_taddr_o(res_taddr), .res_tkeep_o(res_tkeep),
    .res_tdata_o(res_tdata), .mem_idle_i(mem_idle), .mem_error_i(mem_error), .trace_running_o, .trace_done_o, .trace_begun_o(trace_begun),
    .trace_sent_o(trace_sent), .trace_issued_o(trace_issued), .trace_rx_piece_o(trace_rx_piece),
    .trace_rx_turn_o(trace_rx_turn), .trace_rx_pos_o(trace_rx_pos), .trace_taken_o(trace_taken),
    .trace_taken_piece_o(trace_taken_piece), .trace_step_o);

  logic done_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || (trace_running_o && !trace_done_o)) done_q <= 1'b0;
    else if (trace_done_o) done_q <= 1'b1;
  end
  assign done_o = done_q;
  assign failed_o = irq && !done_q;

  assign trace_begun_o = M'(trace_begun);
  assign trace_sent_o = M'(trace_sent);
  assign trace_issued_o = M'(trace_issued);
  assign trace_rx_piece_o = (M*16)'(trace_rx_piece);
  assign trace_rx_turn_o = (M*16)'(trace_rx_turn);
  assign trace_rx_pos_o = (M*16)'(trace_rx_pos);
  assign trace_taken_o = M'(trace_taken);
  assign trace_taken_piece_o = (M*16)'(trace_taken_piece);

  if (Simulate != 0) begin : gen_simulation
    mt_memory_model #(.NumPorts(P), .SendWords(SendWords), .AddWords(AddWords)) u_memory (
      .clk_i, .rst_ni, .handle_i, .stall_i('0), .shy_i(1'b0), .latency_i(10'd1), .words_i('0),
      .tx_req_tvalid_i(tx_req_tvalid),
      .tx_req_tready_o(tx_req_tready), .tx_req_tdata_i(tx_req_tdata), .tx_tvalid_o(tx_tvalid),
      .tx_tready_i(tx_tready), .tx_tdata_o(tx_tdata), .acc_req_tvalid_i(acc_req_tvalid),
      .acc_req_tready_o(acc_req_tready), .acc_req_tdata_i(acc_req_tdata), .acc_tvalid_o(acc_tvalid),
      .acc_tready_i(acc_tready), .acc_tdata_o(acc_tdata), .stage_req_tvalid_i(stage_req_tvalid),
      .stage_req_tready_o(stage_req_tready), .stage_req_tdata_i(stage_req_tdata),
      .stage_tvalid_o(stage_tvalid), .stage_tready_i(stage_tready), .stage_tdata_o(stage_tdata),
      .stage_wr_tvalid_i(stage_wr_tvalid), .stage_wr_tready_o(stage_wr_tready),
      .stage_wr_tdata_i(stage_wr_tdata), .stage_wr_tkeep_i(stage_wr_tkeep),
      .res_tvalid_i(res_tvalid), .res_tready_o(res_tready), .res_taddr_i(res_taddr),
      .res_tkeep_i(res_tkeep), .res_tdata_i(res_tdata));
    assign {mem_idle, mem_error} = 2'b10;  // what is accepted is written
    assign tx_req_tvalid_o = '0;
    assign tx_req_tdata_o = '0;
    assign tx_tready_o = '0;
    assign acc_req_tvalid_o = '0;
    assign acc_req_tdata_o = '0;
    assign acc_tready_o = '0;
    assign stage_req_tvalid_o = '0;
    assign stage_req_tdata_o = '0;
    assign stage_tready_o = '0;
    assign stage_wr_tvalid_o = '0;
    assign stage_wr_tdata_o = '0;
    assign stage_wr_tkeep_o = '0;
    assign res_tvalid_o = '0;
    assign res_taddr_o = '0;
    assign res_tkeep_o = '0;
    assign res_tdata_o = '0;
    logic unused;
    assign unused = &{
      1'b0, tx_req_tready_i, tx_tvalid_i, tx_tdata_i, acc_req_tready_i, acc_tvalid_i, acc_tdata_i,
      stage_req_tready_i, stage_tvalid_i, stage_tdata_i, stage_wr_tready_i, res_tready_i,
      mem_idle_i, mem_error_i};
  end else begin : gen_ports
    assign tx_req_tvalid_o = M'(tx_req_tvalid);
    assign tx_req_tready = tx_req_tready_i[P-1:0];
    assign tx_req_tdata_o = (M*A)'(tx_req_tdata);
    assign tx_tvalid = tx_tvalid_i[P-1:0];
    assign tx_tready_o = M'(tx_tready);
    assign tx_tdata = tx_tdata_i[P*D-1:0];
    assign acc_req_tvalid_o = M'(acc_req_tvalid);
    assign acc_req_tready = acc_req_tready_i[P-1:0];
    assign acc_req_tdata_o = (M*A)'(acc_req_tdata);
    assign acc_tvalid = acc_tvalid_i[P-1:0];
    assign acc_tready_o = M'(acc_tready);
    assign acc_tdata = acc_tdata_i[P*D-1:0];
    assign stage_req_tvalid_o = M'(stage_req_tvalid);
    assign stage_req_tready = stage_req_tready_i[P-1:0];
    assign stage_req_tdata_o = (M*S)'(stage_req_tdata);
    assign stage_tvalid = stage_tvalid_i[P-1:0];
    assign stage_tready_o = M'(stage_tready);
    assign stage_tdata = stage_tdata_i[P*D-1:0];
    assign stage_wr_tvalid_o = M'(stage_wr_tvalid);
    assign stage_wr_tready = stage_wr_tready_i[P-1:0];
    assign stage_wr_tdata_o = (M*(S+D))'(stage_wr_tdata);
    assign stage_wr_tkeep_o = (M*K)'(stage_wr_tkeep);
    assign res_tvalid_o = M'(res_tvalid);
    assign res_tready = res_tready_i[P-1:0];
    assign res_taddr_o = (M*A)'(res_taddr);
    assign res_tkeep_o = (M*K)'(res_tkeep);
    assign res_tdata_o = (M*D)'(res_tdata);
    assign {mem_idle, mem_error} = {mem_idle_i, mem_error_i};
    logic unused;  // above NumPorts
    assign unused = &{
      1'b0, handle_i, tx_req_tready_i, tx_tvalid_i, tx_tdata_i, acc_req_tready_i, acc_tvalid_i,
      acc_tdata_i, stage_req_tready_i, stage_tvalid_i, stage_tdata_i, stage_wr_tready_i,
      res_tready_i};
  end

endmodule
