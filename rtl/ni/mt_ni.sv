// SPDX-License-Identifier: BSD-3-Clause
// The network interface: executes a schedule table. Send and receive ports, one pair a link, around
// a scoreboard; docs/nic-spec.md says what happens in which cycle.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_ni #(
  // Send and receive ports, each.
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
  // Groups of entries, each with a doorbell; a power of two.
  parameter int unsigned NumGroups = mt_pkg::NumGroups,
  // What is supported: lockstep, packets, exchanges of sums, long routes, counters.
  parameter int unsigned EnLockstep = 1,
  parameter int unsigned EnPackets = 1,
  parameter int unsigned EnExchange = 1,
  parameter int unsigned LongRoutes = 1,
  parameter int unsigned EnCounters = 1,
  // 1: sums may lack late contributions; with two groups at least.
  parameter int unsigned EnLosses = 0,
  // Types that can be added (without bf16 and fp16, types of 2 bytes cannot be copied either, but as
  // pairs); cycles that it takes; 1: simulation only, by a C function.
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
  output logic [NumGroups-1:0] over_o,  // groups that are over, as in OVER

  // To and from the router; port p in bits p*W +: W.
  output logic [P-1:0]     valid_o,
  output logic [P*VcW-1:0] vc_o,
  output logic [P*F-1:0]   flit_o,
  input  logic [P-1:0]     credit_valid_i,
  input  logic [P*VcW-1:0] credit_vc_i,
  input  logic [P-1:0]     valid_i,
  input  logic [P*F-1:0]   flit_i,
  output logic [P-1:0]     ready_o,
  // Credits of the router's links that came twice, or a link is dead; places, for the router.
  input  logic             credit_over_i, link_dead_i,
  output logic             load_o,
  output logic [CreditW-1:0] places_o,

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
  input  logic mem_idle_i, mem_error_i,

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

  localparam int unsigned GroupW = $clog2(NumGroups);
  localparam int unsigned EntryW = 2 + StepW + FlowW + PieceOfFlowW + RouteW + 3 * CntW + StartW + SizeW + GroupW + 1;
  localparam int unsigned LR = mt_pkg::LongRouteW;
  localparam int unsigned StoredW = LongRoutes != 0 ? LR + 1 : mt_pkg::ShortRouteW;  // of a route
  localparam int unsigned LenW = mt_pkg::LenW;
  localparam int unsigned StepLenW = 20;

  // ---- Registers.
  logic [mt_pkg::SrcW-1:0] rank, least;
  logic [1:0] dtype;
  logic lockstep, packets, uniform, grouped, wide;
  logic [NumVc-1:0] vc_mask;
  logic [LenW-1:0] packet_flits;
  logic [mt_pkg::StartW-1:0] size;
  logic [15:0] pieces;  // as many bits as an entry has for them
  localparam int unsigned TakenW = PieceW + CntW;  // all messages of all pieces
  logic [TakenW-1:0] arrivals, taken_count;
  logic [23:0] watchdog, deadline;
  logic clear, arm, go;
  logic entry_write, route_write, step_write, group_write;
  logic [EntryW-1:0] entry;
  logic [StoredW-1:0] route;
  logic [StepLenW-1:0] step_length;
  logic [TakenW-1:0] messages;
  logic [NumGroups-1:0] ring, rung;
  logic failed, overflow, expires, open;
  logic losses, hold, settled, absent;  // as mt_losses
  logic [mt_pkg::SrcW+3:0] fate;
  logic [mt_pkg::NumErrors-1:0] error;
  logic [3:0] error_port;
  logic [15:0] error_piece;
  logic arming_q, armed_q, starting_q, running_q, done, finished_q;
  logic [P-1:0] no_credit, parked;
  // Without adders for elements of 2 bytes all are of 4.
  assign wide = (EnBf16 == 0 && EnFp16 == 0) || !dtype[1];

  mt_csr #(
    .NumPorts(P), .NumVc(NumVc), .PieceW(PieceW), .ParkSlots(ParkSlots), .EntryW(EntryW),
    .RouteBits(StoredW), .TakenW(TakenW), .CreditW(CreditW), .StepLenW(StepLenW), .EnCounters(EnCounters), .NumGroups(NumGroups),
    .EnPackets(EnPackets), .PiecesW(PieceOfFlowW + 1), .EnLosses(EnLosses)
  ) u_csr (
    .clk_i, .rst_ni, .s_axil_awvalid_i, .s_axil_awready_o, .s_axil_awaddr_i, .s_axil_awprot_i, .s_axil_wvalid_i,
    .s_axil_wready_o, .s_axil_wdata_i, .s_axil_wstrb_i, .s_axil_bvalid_o, .s_axil_bready_i, .s_axil_bresp_o,
    .s_axil_arvalid_i, .s_axil_arready_o, .s_axil_araddr_i, .s_axil_arprot_i, .s_axil_rvalid_o, .s_axil_rready_i,
    .s_axil_rdata_o, .s_axil_rresp_o, .rank_o(rank), .dtype_o(dtype), .lockstep_o(lockstep), .packets_o(packets),
    .uniform_o(uniform), .grouped_o(grouped), .vc_mask_o(vc_mask), .packet_flits_o(packet_flits), .size_o(size),
    .pieces_o(pieces), .arrivals_o(arrivals), .watchdog_o(watchdog), .losses_o(losses), .deadline_o(deadline),
    .least_o(least), .hold_o(hold), .fate_i(fate), .load_o, .places_o, .clear_o(clear), .arm_o(arm), .go_o(go),
    .entry_write_o(entry_write), .entry_o(entry), .route_write_o(route_write), .route_o(route),
    .step_write_o(step_write), .step_length_o(step_length), .group_write_o(group_write), .messages_o(messages),
    .ring_o(ring), .rung_i(rung), .over_i(over_o), .running_i(running_q), .armed_i(armed_q || arming_q),
    .done_i(done || finished_q), .taken_i(taken_count), .error_i(error), .error_port_i(error_port),
    .error_piece_i(error_piece), .failed_o(failed), .sent_i(valid_o), .received_i(valid_i), .no_credit_i(no_credit),
    .parked_i(parked));

  logic [PieceW-1:0] clear_piece_q;
  mt_run_state #(.PieceW(PieceW)) u_state (
    .clk_i, .rst_ni, .arm_i(arm), .go_i(go), .done_i(done), .arming_o(arming_q),
    .piece_o(clear_piece_q), .armed_o(armed_q), .starting_o(starting_q), .running_o(running_q),
    .finished_o(finished_q));
  assign irq_o = finished_q || failed;

  // Where each uniform chunk starts: counted while arming, so that nothing is multiplied.
  logic [mt_pkg::StartW-1:0] starts [1 << PieceW];
  logic [mt_pkg::StartW-1:0] next_start_q;
  always_ff @(posedge clk_i) begin
    if (arming_q) starts[clear_piece_q] <= next_start_q;
    if (arm) next_start_q <= '0;
    else if (arming_q) next_start_q <= next_start_q + size;
  end

  // ---- Routes.
  localparam int unsigned RouteAt = 2 + StepW + FlowW + PieceOfFlowW;
  logic [P*RouteW-1:0] route_number;
  logic [P*StoredW-1:0] stored_route;
  logic [P-1:0] takes_route;
  logic routes_full, steps_full, groups_full;
  logic [mt_pkg::HopPortW-1:0] entry_port;  // the table that an entry belongs to
  mt_routes #(.NumRoutes(NumRoutes), .NumPorts(P), .RouteW(RouteW), .StoredW(StoredW)) u_routes (
    .clk_i, .rst_ni, .clear_i(clear), .write_i(route_write), .route_i(route),
    .full_o(routes_full), .of_entry_i(entry[RouteAt +: RouteW]), .port_o(entry_port),
    .reads_i(takes_route), .number_i(route_number), .route_o(stored_route));

  // ---- Step timer.
  logic [StepW-1:0] step, current_step;
  logic [P-1:0] idle_in_step;
  if (EnLockstep != 0) begin : gen_lockstep
    mt_step_timer #(.StepW(StepW), .Depth(StepDepth), .LenW(StepLenW)) u_steps (
      .clk_i, .rst_ni, .clear_i(clear), .write_i(step_write), .length_i(step_length),
      .full_o(steps_full), .start_i(starting_q), .running_i(running_q),
      .sent_i(idle_in_step == '1), .step_o(step), .current_o(current_step));
  end else begin : gen_no_lockstep
    logic unused_step;
    assign {step, current_step, steps_full} = '0;
    assign unused_step = &{1'b0, step_write, step_length, idle_in_step};
  end

  // ---- Scoreboard.
  logic [P*PieceW-1:0] tx_piece, rx_piece, taken_piece;
  logic [P*CntW-1:0] tx_taken, rx_taken, rx_sent, rx_claimed, rx_turn;
  logic [P-1:0] tx_sent, rx_claim, taken;
  localparam int unsigned GroupIdxW = GroupW > 0 ? GroupW : 1, PlaceW = GroupW + PieceW;
  logic [P-1:0] came, came_gather, tx_gather;
  logic [P*PlaceW-1:0] came_place;
  logic [P*mt_pkg::SrcW-1:0] came_count, tx_count;
  logic [P*GroupIdxW-1:0] tx_group, taken_group;
  mt_scoreboard #(.PieceW(PieceW), .CntW(CntW), .NumPorts(P), .EnExchange(EnExchange)) u_board (
    .clk_i, .rst_ni, .clear_i(arming_q), .clear_piece_i(clear_piece_q), .tx_piece_i(tx_piece), .tx_taken_o(tx_taken),
    .tx_sent_i(tx_sent), .rx_piece_i(rx_piece), .rx_taken_o(rx_taken), .rx_sent_o(rx_sent),
    .rx_claimed_o(rx_claimed), .rx_claim_i(rx_claim), .taken_i(taken), .taken_piece_i(taken_piece));

  // ---- Ports.
  logic [P-1:0] sending, begun, entry_valid, entry_left, parity_error, opcode_error, table_full,
      apart, credit_over;
  logic [P-1:0] wrote_valid, corrupt, length_error, piece_error, duplicate, parked_full, header;
  logic [P*LenW-1:0] sent_flits, wrote_count, wrote_end;
  logic [P*PieceW-1:0] wrote_piece;
  logic [P*CntW-1:0] wrote_turn;
  logic [P-1:0] unit_ask, unit_go, unit_ready, unit_take, unit_valid, unit_copy, unit_done;
  logic [P*D-1:0] unit_a, unit_b, unit_result;
  // A collective that has failed is over, even if its errors are cleared: words are missing.
  logic halt, broken_q;
  assign halt = failed || broken_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || arm) broken_q <= 1'b0;
    else if (failed && (armed_q || running_q)) broken_q <= 1'b1;
  end

  for (genvar p = 0; p < P; p++) begin : gen_port
    logic pop, write_entry, active;
    logic [EntryW-1:0] next_entry;
    assign write_entry = entry_write && 32'(entry_port) == p;
    mt_table #(.EntryW(EntryW), .Depth(TableDepth), .NumGroups(NumGroups)) u_table (
      .clk_i, .rst_ni, .clear_i(clear), .rewind_i(arm || go), .write_i(write_entry),
      .entry_i(entry), .full_o(table_full[p]), .apart_o(apart[p]), .rung_i(rung), .hold_i(active || halt),
      .valid_o(entry_valid[p]), .entry_o(next_entry), .parity_error_o(parity_error[p]),
      .pop_i(pop), .left_o(entry_left[p]));
    // Below the parity.
    assign tx_group[p*GroupIdxW +: GroupIdxW] = next_entry[EntryW-2 -: GroupIdxW];
    assign tx_gather[p] = EnLosses != 0 && next_entry[1:0] == mt_pkg::OpGather;

    mt_tx_port #(
      .StepW(StepW), .FlowW(FlowW), .PieceOfFlowW(PieceOfFlowW), .RouteW(RouteW), .CntW(CntW),
      .StartW(StartW), .SizeW(SizeW), .GroupW(GroupW), .PieceW(PieceW), .NumVc(NumVc),
      .CreditW(CreditW), .LongRoutes(LongRoutes), .EnPackets(EnPackets), .EnLosses(EnLosses), .MaxOutstanding(SendWords)
    ) u_tx (
      .clk_i, .rst_ni, .rank_i(rank), .wide_i(wide), .packets_i(packets), .packet_flits_i(packet_flits),
      .vc_mask_i(vc_mask), .uniform_i(uniform), .size_i(size), .start_i(starts[tx_piece[p*PieceW +: PieceW]]),
      .pieces_i(pieces[PieceOfFlowW:0]), .load_i(load_o), .places_i(places_o), .running_i(running_q && !halt),
      .rewind_i(arm || go), .entry_valid_i(entry_valid[p]), .entry_error_i(parity_error[p]), .entry_i(next_entry),
      .entry_pop_o(pop), .route_o(route_number[p*RouteW +: RouteW]), .takes_route_o(takes_route[p]),
      .route_i(LR'(stored_route[p*StoredW +: StoredW])),
      .route_long_i(LongRoutes != 0 && stored_route[(p+1)*StoredW-1]), .piece_o(tx_piece[p*PieceW +: PieceW]),
      .taken_i(tx_taken[p*CntW +: CntW]), .lockstep_i(lockstep && EnLockstep != 0), .step_i(step),
      .current_step_i(current_step), .losses_i(losses), .count_i(tx_count[p*mt_pkg::SrcW +: mt_pkg::SrcW]),
      .settled_i(settled), .absent_i(absent), .active_o(active), .sending_o(sending[p]),
      .sent_flits_o(sent_flits[p*LenW +: LenW]), .sent_o(tx_sent[p]), .begun_o(begun[p]),
      .idle_in_step_o(idle_in_step[p]), .waits_for_credit_o(no_credit[p]), .opcode_error_o(opcode_error[p]),
      .credit_over_o(credit_over[p]), .req_tvalid_o(tx_req_tvalid_o[p]), .req_tready_i(tx_req_tready_i[p]),
      .req_tdata_o(tx_req_tdata_o[p*A +: A]), .data_tvalid_i(tx_tvalid_i[p]), .data_tready_o(tx_tready_o[p]),
      .data_tdata_i(tx_tdata_i[p*D +: D]), .valid_o(valid_o[p]), .vc_o(vc_o[p*VcW +: VcW]),
      .flit_o(flit_o[p*F +: F]), .credit_valid_i(credit_valid_i[p]), .credit_vc_i(credit_vc_i[p*VcW +: VcW]));

    logic before_valid, reading, not_in_turn, not_read;
    logic [LenW-1:0] before_count, before_end, reading_count, pos;
    mt_others #(.NumPorts(P), .Port(p), .PieceW(PieceW), .CntW(CntW), .EnExchange(EnExchange)) u_others (
      .piece_i(rx_piece[p*PieceW +: PieceW]), .turn_i(rx_turn[p*CntW +: CntW]), .not_in_turn_i(not_in_turn),
      .not_read_i(not_read), .wrote_valid_i(wrote_valid), .wrote_piece_i(wrote_piece), .wrote_turn_i(wrote_turn),
      .wrote_count_i(wrote_count), .wrote_end_i(wrote_end), .sending_i(sending), .tx_piece_i(tx_piece),
      .sent_flits_i(sent_flits), .before_valid_o(before_valid), .before_count_o(before_count),
      .before_end_o(before_end), .reading_o(reading), .reading_count_o(reading_count));

    mt_rx_port #(
      .PieceW(PieceW), .CntW(CntW), .ParkSlots(ParkSlots), .EnPackets(EnPackets), .EnExchange(EnExchange),
      .Latency(Latency), .GroupW(GroupW), .EnLosses(EnLosses), .MaxOutstanding(AddWords)
    ) u_rx (
      .clk_i, .rst_ni, .clear_i(arming_q), .clear_piece_i(clear_piece_q), .wide_i(wide), .halt_i(halt),
      .rung_i(rung), .absent_i(absent), .valid_i(valid_i[p]), .flit_i(flit_i[p*F +: F]), .ready_o(ready_o[p]),
      .piece_o(rx_piece[p*PieceW +: PieceW]), .turn_o(rx_turn[p*CntW +: CntW]), .taken_i(rx_taken[p*CntW +: CntW]),
      .sent_i(rx_sent[p*CntW +: CntW]), .claimed_i(rx_claimed[p*CntW +: CntW]), .claim_o(rx_claim[p]),
      .before_valid_i(before_valid), .before_count_i(before_count), .before_end_i(before_end),
      .not_in_turn_o(not_in_turn), .not_read_o(not_read), .reading_i(reading), .reading_count_i(reading_count),
      .wrote_valid_o(wrote_valid[p]), .wrote_piece_o(wrote_piece[p*PieceW +: PieceW]),
      .wrote_turn_o(wrote_turn[p*CntW +: CntW]), .wrote_count_o(wrote_count[p*LenW +: LenW]),
      .wrote_end_o(wrote_end[p*LenW +: LenW]), .taken_o(taken[p]), .taken_piece_o(taken_piece[p*PieceW +: PieceW]),
      .taken_group_o(taken_group[p*GroupIdxW +: GroupIdxW]), .corrupt_o(corrupt[p]),
      .length_error_o(length_error[p]), .piece_error_o(piece_error[p]), .duplicate_o(duplicate[p]),
      .parked_full_o(parked_full[p]), .parked_o(parked[p]), .came_o(came[p]), .came_gather_o(came_gather[p]),
      .came_place_o(came_place[p*PlaceW +: PlaceW]), .came_count_o(came_count[p*mt_pkg::SrcW +: mt_pkg::SrcW]),
      .header_o(header[p]), .issued_o(trace_issued_o[p]), .issued_pos_o(pos), .acc_req_tvalid_o(acc_req_tvalid_o[p]),
      .acc_req_tready_i(acc_req_tready_i[p]), .acc_req_tdata_o(acc_req_tdata_o[p*A +: A]),
      .acc_tvalid_i(acc_tvalid_i[p]), .acc_tready_o(acc_tready_o[p]), .acc_tdata_i(acc_tdata_i[p*D +: D]),
      .stage_req_tvalid_o(stage_req_tvalid_o[p]), .stage_req_tready_i(stage_req_tready_i[p]),
      .stage_req_tdata_o(stage_req_tdata_o[p*S +: S]), .stage_tvalid_i(stage_tvalid_i[p]),
      .stage_tready_o(stage_tready_o[p]), .stage_tdata_i(stage_tdata_i[p*D +: D]),
      .stage_wr_tvalid_o(stage_wr_tvalid_o[p]), .stage_wr_tready_i(stage_wr_tready_i[p]),
      .stage_wr_tdata_o(stage_wr_tdata_o[p*(S+D) +: S+D]), .stage_wr_tkeep_o(stage_wr_tkeep_o[p*K +: K]),
      .res_tvalid_o(res_tvalid_o[p]), .res_tready_i(res_tready_i[p]), .res_taddr_o(res_taddr_o[p*A +: A]),
      .res_tkeep_o(res_tkeep_o[p*K +: K]), .res_tdata_o(res_tdata_o[p*D +: D]), .unit_ask_o(unit_ask[p]),
      .unit_go_i(unit_go[p]), .unit_ready_o(unit_ready[p]), .unit_take_i(unit_take[p]), .unit_valid_o(unit_valid[p]),
      .unit_copy_o(unit_copy[p]), .unit_a_o(unit_a[p*D +: D]), .unit_b_o(unit_b[p*D +: D]),
      .unit_valid_i(unit_done[p]), .unit_result_i(unit_result[p*D +: D]));

    assign trace_rx_piece_o[p*16 +: 16] = 16'(rx_piece[p*PieceW +: PieceW]);
    assign trace_rx_turn_o[p*16 +: 16] = 16'(rx_turn[p*CntW +: CntW]);
    assign trace_rx_pos_o[p*16 +: 16] = pos;
    assign trace_taken_piece_o[p*16 +: 16] = 16'(taken_piece[p*PieceW +: PieceW]);
  end

  mt_units #(
    .NumPorts(P), .PortsPerUnit(PortsPerUnit), .Latency(Latency), .EnInt32(EnInt32), .EnFp32(EnFp32), .EnBf16(EnBf16), .EnFp16(EnFp16), .FpImpl(FpImpl)
  ) u_units (
    .clk_i, .rst_ni, .clear_i(arming_q), .dtype_i(dtype), .ask_i(unit_ask), .go_o(unit_go),
    .valid_i(unit_valid), .copy_i(unit_copy), .a_i(unit_a), .b_i(unit_b), .take_o(unit_take), .valid_o(unit_done), .r_o(unit_result), .ready_i(unit_ready));

  // ---- Groups.
  mt_groups #(
    .NumGroups(NumGroups), .NumPorts(P), .PieceW(PieceW), .TakenW(TakenW), .EnLosses(EnLosses)
  ) u_groups (
    .clk_i, .rst_ni, .grouped_i(grouped), .clear_i(clear), .write_i(group_write), .messages_i(messages),
    .full_o(groups_full), .arm_i(arm), .arming_i(arming_q), .piece_i(clear_piece_q), .ring_i(ring), .rung_o(rung),
    .losses_i(losses), .deadline_i(deadline), .least_i(least), .hold_i(hold), .starting_i(starting_q),
    .running_i(running_q), .came_i(came), .came_gather_i(came_gather), .came_place_i(came_place),
    .came_count_i(came_count), .begun_i(begun), .tx_gather_i(tx_gather), .tx_piece_i(tx_piece),
    .tx_count_o(tx_count), .settled_o(settled), .absent_o(absent), .fate_o(fate), .sent_i(tx_sent),
    .sent_group_i(tx_group), .taken_i(taken), .taken_group_i(taken_group), .over_o, .open_o(open),
    .count_o(taken_count));

  // ---- Done: all is sent, all taken in, and all that was accepted is written.
  assign done = running_q && !halt && (entry_left | sending) == '0 && taken_count == arrivals && mem_idle_i;

  mt_watchdog #(.Width(24)) u_watchdog (
    .clk_i, .rst_ni, .running_i(running_q && !halt), .limit_i(watchdog),
    .moves_i((valid_o | valid_i | taken) != '0 || !open), .expires_o(expires));

  // ---- Errors.
  assign overflow = (entry_write && apart != '0) || (route_write && routes_full)
                    || (step_write && steps_full) || (group_write && groups_full);
  mt_errors #(.NumPorts(P), .PieceW(PieceW)) u_errors (
    .armed_i(armed_q || running_q), .running_i(running_q), .parity_i(parity_error), .opcode_i(opcode_error),
    .corrupt_i(corrupt), .length_i(length_error), .piece_error_i(piece_error), .duplicate_i(duplicate),
    .parked_full_i(parked_full), .header_i(header), .entry_write_i(entry_write), .entry_port_i(entry_port),
    .table_full_i(table_full), .overflow_i(overflow), .credit_over_i(credit_over), .router_over_i(credit_over_i), .link_dead_i,
    .mem_error_i, .expires_i(expires), .no_credit_i(no_credit), .piece_i(rx_piece), .error_o(error), .port_o(error_port),
    .error_piece_o(error_piece));

  assign {trace_running_o, trace_done_o, trace_begun_o, trace_sent_o, trace_taken_o} = {running_q, done, begun, tx_sent, taken};
  assign trace_step_o = 16'(step);

  `MT_ASSERT_NEXT(NoNewWordAfterError, 1'b1, !halt || (res_tvalid_o & ~$past(res_tvalid_o & ~res_tready_i)) == '0)
  `MT_ASSERT(DoneOnce, !(done && begun != '0))

endmodule
