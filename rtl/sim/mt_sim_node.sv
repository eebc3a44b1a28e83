// SPDX-License-Identifier: BSD-3-Clause
// A node with a memory, for simulation: one of these is verilated, and any network is made of as
// many as it has nodes; what is between them is C++ (network.cpp). Inputs go through a register, the
// last one of their links', so that no logic has to be evaluated when they change. Traces are those of the cycle before.
module mt_sim_node #(
  // Links.
  parameter int unsigned NumPorts = mt_pkg::NumPorts,
  // Cycles of the reduction unit; 1: its sums by a C function.
  parameter int unsigned Latency = mt_pkg::ReduceCycles,
  parameter int unsigned FpImpl = 0,
  // Ports that take turns at a reduction unit.
  parameter int unsigned PortsPerUnit = 1,
  // Groups of entries.
  parameter int unsigned NumGroups = mt_pkg::NumGroups,
  // Places of a port for early worms.
  parameter int unsigned ParkSlots = mt_pkg::ParkSlots,
  // Words that wait for memory.
  parameter int unsigned SendWords = mt_pkg::SendWords,
  parameter int unsigned AddWords = mt_pkg::AddWords,
  // AXI4 ports of its memory; 0: answers as it is asked.
  parameter int unsigned NumAxi = 0,
  // 1: with performance counters.
  parameter int unsigned EnCounters = 1,
  // As of mt_node.
  parameter int unsigned DirectPorts = 0,
  // Where a roll call has a group: sums may lack late contributions.
  localparam int unsigned EnLosses = NumGroups > 1 ? 1 : 0,
  localparam int unsigned P = NumPorts,
  localparam int unsigned F = mt_pkg::FlitW
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Which memory, to the functions in C.
  input  logic [31:0] handle_i,
  // Requests that memory does not accept in this cycle: 5 for each port.
  input  logic [5*P-1:0] stall_i,
  // It accepts what was asked in the cycle before.
  input  logic           shy_i,
  // Its cycles until an answer; constant while anything is asked.
  input  logic [9:0]     latency_i,
  // Words that it reads, and that it writes, in a cycle; 0: as it is asked. Constant likewise.
  input  logic [5:0]     words_i,

  // Registers.
  input  logic        s_axil_awvalid_i,
  output logic        s_axil_awready_o,
  input  logic [11:0] s_axil_awaddr_i,
  input  logic [2:0]  s_axil_awprot_i,
  input  logic        s_axil_wvalid_i,
  output logic        s_axil_wready_o,
  input  logic [31:0] s_axil_wdata_i,
  input  logic [3:0]  s_axil_wstrb_i,
  output logic        s_axil_bvalid_o,
  input  logic        s_axil_bready_i,
  output logic [1:0]  s_axil_bresp_o,
  input  logic        s_axil_arvalid_i,
  output logic        s_axil_arready_o,
  input  logic [11:0] s_axil_araddr_i,
  input  logic [2:0]  s_axil_arprot_i,
  output logic        s_axil_rvalid_o,
  input  logic        s_axil_rready_i,
  output logic [31:0] s_axil_rdata_o,
  output logic [1:0]  s_axil_rresp_o,
  output logic        irq_o,  // done or failed
  output logic [NumGroups-1:0] over_o,  // groups

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
  // Of the cycle itself, without a register: links that lose say them from registers of theirs.
  input  logic [P-1:0]      link_ready_i,
  input  logic [P-1:0]      link_dead_i,

  // What happens, for comparison with the C++ model; no more than what runs, is done
  // and is taken in unless trace_i.
  input  logic             trace_i,
  output logic             trace_running_o,
  output logic             trace_done_o,
  output logic [P-1:0]     trace_begun_o,
  output logic [P-1:0]     trace_sent_o,
  output logic [P-1:0]     trace_issued_o,
  output logic [P*16-1:0]  trace_rx_piece_o,
  output logic [P*16-1:0]  trace_rx_turn_o,
  output logic [P*16-1:0]  trace_rx_pos_o,
  output logic [P-1:0]     trace_taken_o,
  output logic [P*16-1:0]  trace_taken_piece_o,
  output logic [15:0]      trace_step_o

);

  localparam int unsigned A = mt_pkg::AddrW;
  localparam int unsigned D = mt_pkg::DataW;
  localparam int unsigned K = mt_pkg::KeepW;
  localparam int unsigned S = mt_pkg::CountW + mt_pkg::AddrW;

  // Inputs of the cycle.
  logic rst_nq;
  logic [5*P-1:0] stall_q;
  logic shy_q;
  logic s_axil_awvalid_q, s_axil_wvalid_q, s_axil_arvalid_q, s_axil_bready_q, s_axil_rready_q;
  logic [11:0] s_axil_awaddr_q, s_axil_araddr_q;
  logic [31:0] s_axil_wdata_q;
  logic [3:0] s_axil_wstrb_q;
  logic [P-1:0] link_valid_q, link_credit_valid_q;
  logic [P*2-1:0] link_vc_q, link_credit_vc_q;
  logic [P*F-1:0] in_flit;
  always_ff @(posedge clk_i) begin
    rst_nq <= rst_ni;
    stall_q <= stall_i;
    shy_q <= shy_i;
    s_axil_awvalid_q <= s_axil_awvalid_i;
    s_axil_awaddr_q <= s_axil_awaddr_i;
    s_axil_wvalid_q <= s_axil_wvalid_i;
    s_axil_wdata_q <= s_axil_wdata_i;
    s_axil_wstrb_q <= s_axil_wstrb_i;
    s_axil_arvalid_q <= s_axil_arvalid_i;
    s_axil_araddr_q <= s_axil_araddr_i;
    s_axil_bready_q <= s_axil_bready_i;
    s_axil_rready_q <= s_axil_rready_i;
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
  logic mem_idle, mem_error;
  logic trace_running;
  logic trace_done;
  logic [P-1:0] trace_begun;
  logic [P-1:0] trace_sent;
  logic [P-1:0] trace_issued;
  logic [P*16-1:0] trace_rx_piece;
  logic [P*16-1:0] trace_rx_turn;
  logic [P*16-1:0] trace_rx_pos;
  logic [P-1:0] trace_taken;
  logic [P*16-1:0] trace_taken_piece;
  logic [15:0] trace_step;

  mt_node #(
    .NumPorts(P), .PieceOfFlowW(mt_pkg::NetPieceOfFlowW), .PieceW(mt_pkg::NetPieceW), .Latency(Latency), .FpImpl(FpImpl), .PortsPerUnit(PortsPerUnit), .EnCounters(EnCounters), .EnLosses(EnLosses), .EnRetry(1), .DirectPorts(DirectPorts), .NumGroups(NumGroups), .ParkSlots(ParkSlots), .SendWords(SendWords), .AddWords(AddWords)) u_node (
    .clk_i, .rst_ni(rst_nq),
    .s_axil_awvalid_i(s_axil_awvalid_q), .s_axil_awready_o, .s_axil_awaddr_i(s_axil_awaddr_q), .s_axil_awprot_i, .s_axil_wvalid_i(s_axil_wvalid_q), .s_axil_wready_o,
    .s_axil_wdata_i(s_axil_wdata_q), .s_axil_wstrb_i(s_axil_wstrb_q), .s_axil_bvalid_o, .s_axil_bready_i(s_axil_bready_q), .s_axil_bresp_o, .s_axil_arvalid_i(s_axil_arvalid_q), .s_axil_arready_o,
    .s_axil_araddr_i(s_axil_araddr_q), .s_axil_arprot_i, .s_axil_rvalid_o, .s_axil_rready_i(s_axil_rready_q), .s_axil_rdata_o, .s_axil_rresp_o, .irq_o, .over_o,
    .link_valid_i(link_valid_q), .link_vc_i(link_vc_q), .link_flit_i(in_flit), .link_credit_valid_o, .link_credit_vc_o,
    .link_valid_o, .link_vc_o, .link_flit_o, .link_credit_valid_i(link_credit_valid_q), .link_credit_vc_i(link_credit_vc_q), .link_ready_i, .link_dead_i,
    .tx_req_tvalid_o(tx_req_tvalid), .tx_req_tready_i(tx_req_tready),
    .tx_req_tdata_o(tx_req_tdata), .tx_tvalid_i(tx_tvalid), .tx_tready_o(tx_tready),
    .tx_tdata_i(tx_tdata), .acc_req_tvalid_o(acc_req_tvalid), .acc_req_tready_i(acc_req_tready),
    .acc_req_tdata_o(acc_req_tdata), .acc_tvalid_i(acc_tvalid), .acc_tready_o(acc_tready),
    .acc_tdata_i(acc_tdata), .stage_req_tvalid_o(stage_req_tvalid),
    .stage_req_tready_i(stage_req_tready), .stage_req_tdata_o(stage_req_tdata),
    .stage_tvalid_i(stage_tvalid), .stage_tready_o(stage_tready), .stage_tdata_i(stage_tdata),
    .stage_wr_tvalid_o(stage_wr_tvalid), .stage_wr_tready_i(stage_wr_tready),
    .stage_wr_tdata_o(stage_wr_tdata), .stage_wr_tkeep_o(stage_wr_tkeep), .res_tvalid_o(res_tvalid), .res_tready_i(res_tready),
    .res_taddr_o(res_taddr), .res_tkeep_o(res_tkeep), .res_tdata_o(res_tdata),
    .mem_idle_i(mem_idle), .mem_error_i(mem_error),
    .trace_running_o(trace_running), .trace_done_o(trace_done), .trace_begun_o(trace_begun),
    .trace_sent_o(trace_sent), .trace_issued_o(trace_issued), .trace_rx_piece_o(trace_rx_piece),
    .trace_rx_turn_o(trace_rx_turn), .trace_rx_pos_o(trace_rx_pos), .trace_taken_o(trace_taken),
    .trace_taken_piece_o(trace_taken_piece), .trace_step_o(trace_step));

  if (NumAxi == 0) begin : gen_memory
    mt_memory_model #(.NumPorts(P), .SendWords(SendWords), .AddWords(AddWords)) u_memory (
      .clk_i, .rst_ni(rst_nq), .handle_i, .stall_i(stall_q), .shy_i(shy_q), .latency_i, .words_i,
      .tx_req_tvalid_i(tx_req_tvalid), .tx_req_tready_o(tx_req_tready),
      .tx_req_tdata_i(tx_req_tdata), .tx_tvalid_o(tx_tvalid), .tx_tready_i(tx_tready),
      .tx_tdata_o(tx_tdata), .acc_req_tvalid_i(acc_req_tvalid), .acc_req_tready_o(acc_req_tready),
      .acc_req_tdata_i(acc_req_tdata), .acc_tvalid_o(acc_tvalid), .acc_tready_i(acc_tready),
      .acc_tdata_o(acc_tdata), .stage_req_tvalid_i(stage_req_tvalid),
      .stage_req_tready_o(stage_req_tready), .stage_req_tdata_i(stage_req_tdata),
      .stage_tvalid_o(stage_tvalid), .stage_tready_i(stage_tready), .stage_tdata_o(stage_tdata),
      .stage_wr_tvalid_i(stage_wr_tvalid), .stage_wr_tready_o(stage_wr_tready),
      .stage_wr_tdata_i(stage_wr_tdata), .stage_wr_tkeep_i(stage_wr_tkeep), .res_tvalid_i(res_tvalid), .res_tready_o(res_tready),
      .res_taddr_i(res_taddr), .res_tkeep_i(res_tkeep), .res_tdata_i(res_tdata));
    assign {mem_idle, mem_error} = 2'b10;  // a word that is accepted is written
  end else begin : gen_axi
    mt_sim_axi4 #(.NumPorts(P), .NumAxi(NumAxi), .SendWords(SendWords), .AddWords(AddWords)) u_memory (
      .clk_i, .rst_ni(rst_nq), .handle_i, .mem_idle_o(mem_idle), .mem_error_o(mem_error),
    .tx_req_tvalid_i(tx_req_tvalid), .tx_req_tready_o(tx_req_tready),
      .tx_req_tdata_i(tx_req_tdata), .tx_tvalid_o(tx_tvalid), .tx_tready_i(tx_tready),
      .tx_tdata_o(tx_tdata), .acc_req_tvalid_i(acc_req_tvalid), .acc_req_tready_o(acc_req_tready),
      .acc_req_tdata_i(acc_req_tdata), .acc_tvalid_o(acc_tvalid), .acc_tready_i(acc_tready),
      .acc_tdata_o(acc_tdata), .stage_req_tvalid_i(stage_req_tvalid),
      .stage_req_tready_o(stage_req_tready), .stage_req_tdata_i(stage_req_tdata),
      .stage_tvalid_o(stage_tvalid), .stage_tready_i(stage_tready), .stage_tdata_o(stage_tdata),
      .stage_wr_tvalid_i(stage_wr_tvalid), .stage_wr_tready_o(stage_wr_tready),
      .stage_wr_tdata_i(stage_wr_tdata), .stage_wr_tkeep_i(stage_wr_tkeep), .res_tvalid_i(res_tvalid), .res_tready_o(res_tready),
      .res_taddr_i(res_taddr), .res_tkeep_i(res_tkeep), .res_tdata_i(res_tdata));
    logic unused;
    assign unused = &{1'b0, stall_q, shy_q, latency_i, words_i};
  end

  always_ff @(posedge clk_i) begin
    trace_running_o <= trace_running;
    trace_done_o <= trace_done;
    trace_taken_o <= trace_taken;
    if (trace_i) begin
      trace_begun_o <= trace_begun;
      trace_sent_o <= trace_sent;
      trace_issued_o <= trace_issued;
      trace_rx_piece_o <= trace_rx_piece;
      trace_rx_turn_o <= trace_rx_turn;
      trace_rx_pos_o <= trace_rx_pos;
      trace_taken_piece_o <= trace_taken_piece;
      trace_step_o <= trace_step;
    end
  end

endmodule
