// SPDX-License-Identifier: BSD-3-Clause
// A send port: takes the entries of its table in order, each as soon as what it waits for has been
// taken in, and sends it as one worm (message) or as several (packets): header, then payload.
//
// The payload is read while it is sent: the first word is asked for in the cycle of the header, so
// a memory that answers in the next cycle keeps the link busy without a gap.
`include "mt_assert.svh"
`include "mt_bip.svh"

module mt_tx_port #(
  // Widths of the fields of an entry, in the order of the image, docs/nic-spec.md.
  parameter int unsigned StepW = 12,
  parameter int unsigned FlowW = 6,
  parameter int unsigned PieceOfFlowW = 4,
  parameter int unsigned RouteW = 6,
  parameter int unsigned CntW = 6,
  parameter int unsigned StartW = 24,
  parameter int unsigned SizeW = 24,
  parameter int unsigned GroupW = 0,
  // Pieces of the collective: 2^PieceW.
  parameter int unsigned PieceW = 10,
  // Virtual channels of the way to the router, and the width of their credit counters.
  parameter int unsigned NumVc = 4,
  parameter int unsigned CreditW = 10,
  // 1: routes may be longer than mt_pkg::ShortHops.
  parameter int unsigned LongRoutes = 1,
  // 1: packets are supported.
  parameter int unsigned EnPackets = 1,
  // 1: sums may lack late contributions, and headers have their counts.
  parameter int unsigned EnLosses = 0,
  // Words that may be asked for before they are sent.
  parameter int unsigned MaxOutstanding = 4,
  localparam int unsigned EntryW = 2 + StepW + FlowW + PieceOfFlowW + RouteW + 3 * CntW + StartW
                                   + SizeW + GroupW + 1,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Configuration: quasi-static.
  input  logic [mt_pkg::SrcW-1:0]   rank_i,
  input  logic                      wide_i,     // elements of 4 bytes, else of 2
  input  logic                      packets_i,
  input  logic [mt_pkg::LenW-1:0]   packet_flits_i,
  input  logic [NumVc-1:0]          vc_mask_i,
  input  logic                      uniform_i,  // all chunks have size_i elements,
  input  logic [mt_pkg::StartW-1:0] start_i,    // and that of piece_o starts here
  input  logic [mt_pkg::StartW-1:0] size_i,
  input  logic [PieceOfFlowW:0]     pieces_i,   // of a flow, at most
  input  logic                      load_i,
  input  logic [CreditW-1:0]        places_i,

  // A collective is running; rewind_i goes before it.
  input  logic                      running_i,
  input  logic                      rewind_i,
  // Next entry of the table; its parity is checked there.
  input  logic                      entry_valid_i,
  input  logic                      entry_error_i,
  input  logic [EntryW-1:0]         entry_i,
  output logic                      entry_pop_o,
  // Route of that entry.
  output logic [RouteW-1:0]         route_o,
  input  logic [mt_pkg::LongRouteW-1:0] route_i,
  input  logic                      route_long_i,
  // It is looked at.
  output logic                      takes_route_o,
  // Messages of that entry's piece that are taken in; the step.
  output logic [PieceW-1:0]         piece_o,
  input  logic [CntW-1:0]           taken_i,
  input  logic                      lockstep_i,
  input  logic [StepW-1:0]          step_i,
  input  logic [StepW-1:0]          current_step_i,
  // Sums may lack contributions: what a message of that entry holds; group 0 may go; the rank's own
  // contribution to others is nothing.
  input  logic                      losses_i,
  input  logic [mt_pkg::SrcW-1:0]   count_i,
  input  logic                      settled_i,
  input  logic                      absent_i,

  // The entry is being sent, or begins to be.
  output logic                      active_o,
  // State: sending a message of piece_o; how many of its payload flits are sent.
  output logic                      sending_o,
  output logic [mt_pkg::LenW-1:0]   sent_flits_o,
  // The last flit leaves in this cycle.
  output logic                      sent_o,
  output logic                      begun_o,
  // No entry of current_step_i or an earlier one is left.
  output logic                      idle_in_step_o,
  output logic                      waits_for_credit_o,
  output logic                      opcode_error_o,
  output logic                      credit_over_o,

  // AXI4-Stream: byte addresses of words to be read, and the words.
  output logic                      req_tvalid_o,
  input  logic                      req_tready_i,
  output logic [mt_pkg::AddrW-1:0]  req_tdata_o,
  input  logic                      data_tvalid_i,
  output logic                      data_tready_o,
  input  logic [mt_pkg::DataW-1:0]  data_tdata_i,

  // To the router; registered.
  output logic                      valid_o,
  output logic [VcW-1:0]            vc_o,
  output logic [mt_pkg::FlitW-1:0]  flit_o,
  input  logic                      credit_valid_i,
  input  logic [VcW-1:0]            credit_vc_i
);

  localparam int unsigned LenW = mt_pkg::LenW;
  localparam int unsigned AddrW = mt_pkg::AddrW;
  localparam int unsigned LvlW = $clog2(MaxOutstanding + 1);
  `MT_BIP_SIGNALS

  // The entry.
  localparam int unsigned StepAt = 2;
  localparam int unsigned FlowAt = StepAt + StepW;
  localparam int unsigned PieceAt = FlowAt + FlowW;
  localparam int unsigned RouteAt = PieceAt + PieceOfFlowW;
  localparam int unsigned WaitAt = RouteAt + RouteW;
  localparam int unsigned TurnAt = WaitAt + CntW;
  localparam int unsigned AfterAt = TurnAt + CntW;
  localparam int unsigned StartAt = AfterAt + CntW;
  localparam int unsigned SizeAt = StartAt + StartW;
  localparam int unsigned GroupAt = SizeAt + SizeW;

  logic [1:0] op;
  logic [mt_pkg::GroupW-1:0] group;
  logic [StepW-1:0] entry_step;
  logic [CntW-1:0] wait_for;
  logic [mt_pkg::StartW-1:0] start, size;
  assign op = entry_i[1:0];
  assign entry_step = entry_i[StepAt +: StepW];
  assign route_o = entry_i[RouteAt +: RouteW];
  assign wait_for = entry_i[WaitAt +: CntW];
  if (GroupW > 0) begin : gen_group
    assign group = mt_pkg::GroupW'(entry_i[GroupAt +: GroupW]);
  end else begin : gen_no_group
    assign group = '0;
  end
  // Fields of no bits are 0, and chunks are uniform without their own start and size.
  if (PieceOfFlowW > 0) begin : gen_piece
    assign piece_o = PieceW'(PieceW'(entry_i[FlowAt +: FlowW]) * PieceW'(pieces_i))
                     + PieceW'(entry_i[PieceAt +: PieceOfFlowW]);
  end else begin : gen_no_piece
    logic unused_pieces;
    assign piece_o = PieceW'(entry_i[FlowAt +: FlowW]);
    assign unused_pieces = &{1'b0, pieces_i};
  end
  if (StartW > 0 && SizeW > 0) begin : gen_own
    assign start = uniform_i ? start_i : mt_pkg::StartW'(entry_i[StartAt +: StartW]);
    assign size = uniform_i ? size_i : mt_pkg::StartW'(entry_i[SizeAt +: SizeW]);
  end else begin : gen_uniform
    logic unused_uniform;
    assign start = start_i;
    assign size = size_i;
    assign unused_uniform = uniform_i;
  end

  // Flits of the message, elements in its last one less one, first byte.
  logic [LenW-1:0] total;
  logic [mt_pkg::LanesW-1:0] lanes;
  logic [AddrW-1:0] base;
  localparam int unsigned LanesW = mt_pkg::LanesW;  // 2^LanesW elements of 2 bytes, half as many of 4
  assign total = LenW'((size + (wide_i ? mt_pkg::StartW'((1 << LanesW) / 2 - 1) : mt_pkg::StartW'((1 << LanesW) - 1)))
                       >> (wide_i ? LanesW - 1 : LanesW));
  assign lanes = wide_i ? {1'b0, (LanesW-1)'(size[LanesW-2:0] - (LanesW-1)'(1))} : size[LanesW-1:0] - LanesW'(1);
  assign base = wide_i ? {1'b0, start, 2'b0} : {2'b0, start, 1'b0};

  logic unused_parity, unused_losses;
  assign unused_parity = entry_i[EntryW-1];
  assign unused_losses = &{1'b0, EnLosses == 0 && (losses_i || settled_i || absent_i || count_i != '0)};

  // What may begin.
  logic sending_q, ready;
  assign ready = running_i && entry_valid_i && !entry_error_i && op != mt_pkg::OpNop
                 && taken_i >= wait_for && (!lockstep_i || entry_step <= step_i)
                 && (EnLosses == 0 || settled_i || group != '0);
  assign opcode_error_o = running_i && entry_valid_i && !entry_error_i && op == 2'd3;
  assign idle_in_step_o = !sending_q && (!entry_valid_i || entry_step > current_step_i);
  logic skips, active;
  assign skips = running_i && entry_valid_i && !entry_error_i && op == mt_pkg::OpNop;
  assign active = running_i && (sending_q || ready);
  assign active_o = active;
  assign begun_o = active && !sending_q;
  assign sending_o = sending_q;

  // Worms.
  logic in_worm_q, route_sent_q;
  logic [LenW-1:0] rest_q, sent_q;   // payload flits of the message that are not sent, that are
  logic [LenW-1:0] left_q;           // that are not sent of the worm
  logic [VcW-1:0] vc_q;
  logic [LenW-1:0] rest, worm;       // of the message; of the worm that begins
  assign rest = EnPackets != 0 && sending_q ? rest_q : total;  // at a worm's header
  assign worm = EnPackets != 0 && packets_i && packet_flits_i < rest ? packet_flits_i : rest;
  assign sent_flits_o = sent_q;

  logic send, is_route, is_header, is_payload, ends_worm, ends_message;
  logic [VcW-1:0] vc;

  // Virtual channels of the way to the router: an empty one, or one with a place.
  logic [NumVc-1:0] has, full, over, usable;
  logic [VcW-1:0] new_vc;
  logic [NumVc-1:0] takes, gives;
  assign takes = send ? NumVc'(1) << vc : '0;
  assign gives = credit_valid_i ? NumVc'(1) << credit_vc_i : '0;
  logic [NumVc*CreditW-1:0] unused_available;
  mt_credit #(.CntW(CreditW), .NumVc(NumVc)) u_credit (
    .clk_i, .rst_ni, .load_i, .initial_i(places_i),
    .take_i(takes), .give_i(gives),
    .available_o(unused_available), .has_o(has), .full_o(full), .error_o(over));
  assign credit_over_o = over != '0;
  assign usable = (full & has & vc_mask_i) != '0 ? full & has & vc_mask_i : has & vc_mask_i;
  always_comb begin
    new_vc = '0;
    for (int unsigned i = NumVc; i > 0; i--) if (usable[i-1]) new_vc = VcW'(i - 1);
  end

  // Payload words, asked for ahead: as many as are left without those that are under way.
  logic [AddrW-1:0] addr_q;
  logic [LvlW-1:0] under_way_q;  // asked for and not sent
  logic req_waits_q;  // a request that was offered stays, whatever went wrong since
  logic word_taken, asks, more, wants;
  assign more = sending_q ? rest_q > LenW'(under_way_q) : total != '0;
  assign wants = active && more && under_way_q != LvlW'(MaxOutstanding);
  assign req_tvalid_o = wants || req_waits_q;
  assign req_tdata_o = sending_q || req_waits_q ? addr_q : base;
  assign asks = req_tvalid_o && req_tready_i;
  assign data_tready_o = word_taken;
  always_ff @(posedge clk_i) begin
    if (asks) addr_q <= req_tdata_o + AddrW'(mt_pkg::KeepW);
    else if (!sending_q && !req_waits_q) addr_q <= base;
    req_waits_q <= rst_ni && req_tvalid_o && !req_tready_i;
  end

  // The flit of this cycle.
  mt_pkg::header_t header;
  logic head;
  logic [mt_pkg::DataW-1:0] data;
  logic has_place;
  logic [LenW-1:0] left;
  assign left = EnPackets != 0 ? left_q : rest_q;
  assign is_route = LongRoutes != 0 && route_long_i && !in_worm_q && !route_sent_q;
  assign is_header = !in_worm_q && !is_route;
  assign takes_route_o = !in_worm_q && active;
  assign is_payload = in_worm_q;
  assign vc = in_worm_q || route_sent_q ? vc_q : new_vc;
  assign head = !in_worm_q && !route_sent_q;
  assign has_place = in_worm_q || route_sent_q ? has[vc_q] : usable != '0;
  assign send = active && has_place && (!is_payload || data_tvalid_i);
  assign word_taken = send && is_payload;
  assign ends_worm = send && (is_header ? worm == '0 : is_payload && left == LenW'(1));
  assign ends_message = ends_worm && (EnPackets == 0 || is_header || rest_q == LenW'(1));
  assign sent_o = ends_message;
  assign entry_pop_o = ends_message || skips;
  assign waits_for_credit_o = active && !has_place;

  logic [mt_pkg::ParityW-1:0] bip;
  always_comb begin
    `MT_BIP_NONE
    bip = '0;
    header = '0;
    data = '0;
    if (send || mt_pkg::AnyWord) begin
      data = EnLosses != 0 && absent_i && wait_for == '0 && op == mt_pkg::OpReduce ? '0 : data_tdata_i;
      if (is_route) begin
        data = mt_pkg::DataW'({1'b1, {(mt_pkg::HeaderW - 1 - mt_pkg::LongRouteW) {1'b0}}, route_i});
      end else if (is_header) begin
        header.group = group;
        header.gather = op == mt_pkg::OpGather;
        header.last = worm == rest;
        header.lanes = lanes;
        header.src = EnLosses != 0 && losses_i ? count_i : rank_i;
        header.turn = mt_pkg::CountW'(entry_i[TurnAt +: CntW]);
        header.after = mt_pkg::CountW'(entry_i[AfterAt +: CntW]);
        header.piece = mt_pkg::PieceW'(piece_o);
        header.flits = worm;
        header.offset = EnPackets != 0 ? sent_q : '0;
        header.start = start;
        header.route = LongRoutes != 0 && route_long_i ? '0 : route_i[mt_pkg::ShortRouteW-1:0];
        data = mt_pkg::DataW'(header);
      end
      `MT_BIP(bip, {head, ends_worm, data})
    end
  end
  always_ff @(posedge clk_i) begin
    if (send) begin
      vc_o <= vc;
      flit_o <= mt_pkg::FlitW'({head, ends_worm, bip, data});
      vc_q <= vc;
    end
    if (send && is_header) left_q <= worm;
    else if (word_taken) left_q <= ~(~left_q + LenW'(1));  // cheaper than - 1
    if (!sending_q) rest_q <= total;
    else if (word_taken) rest_q <= ~(~rest_q + LenW'(1));
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || rewind_i) begin
      valid_o <= 1'b0;
      sending_q <= 1'b0;
      in_worm_q <= 1'b0;
      route_sent_q <= 1'b0;
      sent_q <= '0;
      under_way_q <= '0;
    end else begin
      valid_o <= send;
      sending_q <= active && !ends_message;
      if (send) begin
        route_sent_q <= is_route;
        if (is_header || is_payload) in_worm_q <= !ends_worm;
        if (ends_message) sent_q <= '0;
        else if (is_payload) sent_q <= sent_q + LenW'(1);
      end
      under_way_q <= under_way_q + LvlW'(asks) - LvlW'(word_taken);
    end
  end

  `MT_ASSERT(AsksNoMoreThanThereIs, !sending_q || LenW'(under_way_q) <= rest_q)
  `MT_ASSERT(SendsAllOfIt, !sending_q || sent_q + rest_q == total)
  `MT_ASSERT_NEXT(IssuesOnlyWhenDue, begun_o, $past(taken_i >= wait_for))
  `MT_ASSERT_NEXT(PopsOnce, entry_pop_o, $past(entry_valid_i))

endmodule
