// SPDX-License-Identifier: BSD-3-Clause
// A node of a network: an interface and its router, a port of the interface for each link.
module mt_node #(
  // Links, and so ports of the interface.
  parameter int unsigned NumPorts = mt_pkg::NumPorts,
  // Virtual channels, and the width of their credit counters.
  parameter int unsigned NumVc = mt_pkg::NumVc,
  parameter int unsigned CreditW = mt_pkg::CreditW,
  // Widths of the fields of an entry, docs/nic-spec.md.
  parameter int unsigned StepW = mt_pkg::StepW,
  parameter int unsigned FlowW = mt_pkg::FlowW,
  parameter int unsigned PieceOfFlowW = mt_pkg::PieceOfFlowW,
  // Width of a piece's number, flow * (pieces of a flow) + piece.
  parameter int unsigned PieceW = FlowW + PieceOfFlowW,
  parameter int unsigned RouteW = mt_pkg::RouteW,
  parameter int unsigned CntW = mt_pkg::CountW,
  parameter int unsigned StartW = mt_pkg::StartW,
  parameter int unsigned SizeW = mt_pkg::SizeW,
  // Entries of each port; steps that have lengths; routes.
  parameter int unsigned TableDepth = mt_pkg::TableDepth,
  parameter int unsigned StepDepth = mt_pkg::StepDepth,
  parameter int unsigned NumRoutes = mt_pkg::NumRoutes,
  // Places of each port for early worms.
  parameter int unsigned ParkSlots = mt_pkg::ParkSlots,
  // Groups of entries, each with a doorbell.
  parameter int unsigned NumGroups = mt_pkg::NumGroups,
  // What is supported: lockstep, packets, exchanges of sums, long routes, counters.
  parameter int unsigned EnLockstep = 1,
  parameter int unsigned EnPackets = 1,
  parameter int unsigned EnExchange = 1,
  parameter int unsigned LongRoutes = 1,
  parameter int unsigned EnCounters = 1,
  // 1: sums may lack late contributions.
  parameter int unsigned EnLosses = 0,
  // 1: links that lose (mt_link with Retry).
  parameter int unsigned EnRetry = 0,
  // 1: the router has no ways between a port of the interface and other links than its own (mt_router): far
  // fewer cells, and the same cycles with all tables that the program makes.
  parameter int unsigned DirectPorts = 0,
  // Types that can be added; cycles that it takes; 1: simulation only, by a C function.
  parameter int unsigned EnInt32 = 1,
  parameter int unsigned EnFp32 = 1,
  parameter int unsigned EnBf16 = 1,
  parameter int unsigned EnFp16 = 1,
  parameter int unsigned Latency = mt_pkg::ReduceCycles,
  parameter int unsigned FpImpl = 0,
  // Ports that take turns at a reduction unit, 1 or 2.
  parameter int unsigned PortsPerUnit = 1,
  // Words that a port may ask memory for before it sends them; that wait for memory before they are added.
  parameter int unsigned SendWords = mt_pkg::SendWords,
  parameter int unsigned AddWords = mt_pkg::AddWords,
  // Places of each virtual channel; a power of two.
  parameter int unsigned Depth = mt_pkg::VcDepth,
  localparam int unsigned P = NumPorts,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1,
  localparam int unsigned F = mt_pkg::FlitW,
  localparam int unsigned A = mt_pkg::AddrW,
  localparam int unsigned D = mt_pkg::DataW,
  localparam int unsigned K = mt_pkg::KeepW,
  localparam int unsigned S = mt_pkg::CountW + mt_pkg::AddrW
) (
  input  logic clk_i,
  input  logic rst_ni,

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

  // Links; port p in bits p*W +: W.
  input  logic [P-1:0]     link_valid_i,
  input  logic [P*VcW-1:0] link_vc_i,
  input  logic [P*F-1:0]   link_flit_i,
  output logic [P-1:0]     link_credit_valid_o,
  output logic [P*VcW-1:0] link_credit_vc_o,
  output logic [P-1:0]     link_valid_o,
  output logic [P*VcW-1:0] link_vc_o,
  output logic [P*F-1:0]   link_flit_o,
  input  logic [P-1:0]     link_credit_valid_i,
  input  logic [P*VcW-1:0] link_credit_vc_i,
  // With EnRetry: what mt_link says of the links from here.
  input  logic [P-1:0]     link_ready_i,
  input  logic [P-1:0]     link_dead_i,

  // Memory, AXI4-Stream: payload to be sent,
  output logic [P-1:0]   tx_req_tvalid_o,
  input  logic [P-1:0]   tx_req_tready_i,
  output logic [P*A-1:0] tx_req_tdata_o,
  input  logic [P-1:0]   tx_tvalid_i,
  output logic [P-1:0]   tx_tready_o,
  input  logic [P*D-1:0] tx_tdata_i,
  // words to be added to,
  output logic [P-1:0]   acc_req_tvalid_o,
  input  logic [P-1:0]   acc_req_tready_i,
  output logic [P*A-1:0] acc_req_tdata_o,
  input  logic [P-1:0]   acc_tvalid_i,
  output logic [P-1:0]   acc_tready_o,
  input  logic [P*D-1:0] acc_tdata_i,
  // words beside the buffer,
  output logic [P-1:0]   stage_req_tvalid_o,
  input  logic [P-1:0]   stage_req_tready_i,
  output logic [P*S-1:0] stage_req_tdata_o,
  input  logic [P-1:0]   stage_tvalid_i,
  output logic [P-1:0]   stage_tready_o,
  input  logic [P*D-1:0] stage_tdata_i,
  output logic [P-1:0]   stage_wr_tvalid_o,
  input  logic [P-1:0]   stage_wr_tready_i,
  output logic [P*(S+D)-1:0] stage_wr_tdata_o,
  output logic [P*K-1:0] stage_wr_tkeep_o,
  // results.
  output logic [P-1:0]    res_tvalid_o,
  input  logic [P-1:0]    res_tready_i,
  output logic [P*A-1:0]  res_taddr_o,
  output logic [P*K-1:0] res_tkeep_o,
  output logic [P*D-1:0]  res_tdata_o,
  // All that memory has accepted is written; it has answered with an error.
  input  logic            mem_idle_i,
  input  logic            mem_error_i,

  // What happens, for comparison with the C++ model.
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

  logic [P-1:0] in_valid, in_credit, out_valid, out_ready, credit_over;
  logic [P*VcW-1:0] in_vc, in_credit_vc, unused_out_vc;
  logic [P*F-1:0] in_flit, out_flit;
  logic load;
  logic [CreditW-1:0] places;

  mt_ni #(
    .NumPorts(NumPorts), .NumVc(NumVc), .CreditW(CreditW), .StepW(StepW), .FlowW(FlowW),
    .PieceOfFlowW(PieceOfFlowW), .PieceW(PieceW), .RouteW(RouteW), .CntW(CntW), .StartW(StartW), .SizeW(SizeW),
    .TableDepth(TableDepth), .StepDepth(StepDepth), .NumRoutes(NumRoutes), .ParkSlots(ParkSlots),
    .NumGroups(NumGroups),
    .EnLockstep(EnLockstep), .EnPackets(EnPackets), .EnExchange(EnExchange),
    .LongRoutes(LongRoutes), .EnCounters(EnCounters), .EnLosses(EnLosses), .EnInt32(EnInt32), .EnFp32(EnFp32),
    .EnBf16(EnBf16), .EnFp16(EnFp16), .Latency(Latency), .FpImpl(FpImpl),
    .PortsPerUnit(PortsPerUnit), .SendWords(SendWords), .AddWords(AddWords)
  ) u_ni (
    .clk_i, .rst_ni,
    .s_axil_awvalid_i, .s_axil_awready_o, .s_axil_awaddr_i, .s_axil_awprot_i, .s_axil_wvalid_i,
    .s_axil_wready_o, .s_axil_wdata_i, .s_axil_wstrb_i, .s_axil_bvalid_o, .s_axil_bready_i,
    .s_axil_bresp_o, .s_axil_arvalid_i, .s_axil_arready_o, .s_axil_araddr_i, .s_axil_arprot_i,
    .s_axil_rvalid_o, .s_axil_rready_i, .s_axil_rdata_o, .s_axil_rresp_o, .irq_o, .over_o,
    .valid_o(in_valid), .vc_o(in_vc), .flit_o(in_flit),
    .credit_valid_i(in_credit), .credit_vc_i(in_credit_vc),
    .valid_i(out_valid), .flit_i(out_flit), .ready_o(out_ready),
    .credit_over_i(credit_over != '0), .link_dead_i(EnRetry != 0 && link_dead_i != '0), .load_o(load), .places_o(places),
    .tx_req_tvalid_o, .tx_req_tready_i, .tx_req_tdata_o, .tx_tvalid_i, .tx_tready_o, .tx_tdata_i,
    .acc_req_tvalid_o, .acc_req_tready_i, .acc_req_tdata_o, .acc_tvalid_i, .acc_tready_o,
    .acc_tdata_i, .stage_req_tvalid_o, .stage_req_tready_i, .stage_req_tdata_o, .stage_tvalid_i,
    .stage_tready_o, .stage_tdata_i, .stage_wr_tvalid_o, .stage_wr_tready_i, .stage_wr_tdata_o, .stage_wr_tkeep_o,
    .res_tvalid_o, .res_tready_i, .res_taddr_o, .res_tkeep_o, .res_tdata_o, .mem_idle_i, .mem_error_i, .trace_running_o,
    .trace_done_o, .trace_begun_o, .trace_sent_o, .trace_issued_o, .trace_rx_piece_o,
    .trace_rx_turn_o, .trace_rx_pos_o, .trace_taken_o, .trace_taken_piece_o, .trace_step_o);

  mt_router #(
    .NumLinks(P), .NumLocal(P), .NumVc(NumVc), .Depth(Depth), .CreditW(CreditW), .EnRetry(EnRetry),
    .DirectPorts(DirectPorts)
  ) u_router (
    .clk_i, .rst_ni, .load_i(load), .places_i(places),
    .valid_i({in_valid, link_valid_i}), .vc_i({in_vc, link_vc_i}),
    .flit_i({in_flit, link_flit_i}),
    .credit_valid_o({in_credit, link_credit_valid_o}),
    .credit_vc_o({in_credit_vc, link_credit_vc_o}),
    .valid_o({out_valid, link_valid_o}), .vc_o({unused_out_vc, link_vc_o}),
    .flit_o({out_flit, link_flit_o}),
    .credit_valid_i(link_credit_valid_i), .credit_vc_i(link_credit_vc_i), .link_ready_i,
    .ready_i(out_ready), .credit_over_o(credit_over));

endmodule
