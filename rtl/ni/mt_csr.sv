// SPDX-License-Identifier: BSD-3-Clause
// Control and status registers behind AXI4-Lite, docs/nic-spec.md "Registers": configuration, tables
// (a word at a time), errors, counters. One access at a time; every access is answered in the cycle
// after it was accepted. Answered with SLVERR, and without effect: addresses at which there is no
// register or none that can be written, writes of parts of a word, and what may not be written now.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_csr #(
  // Ports of the interface.
  parameter int unsigned NumPorts = 4,
  // Virtual channels.
  parameter int unsigned NumVc = 4,
  // Shape of the interface, as it reports it.
  parameter int unsigned PieceW = 10,
  parameter int unsigned ParkSlots = 8,
  // Bits of a table entry; of a route, from the lowest up, those that are looked at.
  parameter int unsigned EntryW = 64,
  parameter int unsigned RouteBits = 128,
  // Width of the number of messages to be taken in.
  parameter int unsigned TakenW = 24,
  // Width of credit counters and step lengths.
  parameter int unsigned CreditW = 10,
  parameter int unsigned StepLenW = 20,
  // 1: with performance counters.
  parameter int unsigned EnCounters = 1,
  // Groups, each with a doorbell.
  parameter int unsigned NumGroups = 1,
  // 1: packets are supported; bits of the number of pieces of a flow.
  parameter int unsigned EnPackets = 1,
  parameter int unsigned PiecesW = 16,
  // 1: sums may lack late contributions.
  parameter int unsigned EnLosses = 0,
  localparam int unsigned NumErrors = mt_pkg::NumErrors
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic        s_axil_awvalid_i,
  output logic        s_axil_awready_o,
  input  logic [11:0] s_axil_awaddr_i,
  input  logic [2:0]  s_axil_awprot_i,  // all accesses are alike
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

  // Configuration.
  output logic [mt_pkg::SrcW-1:0]   rank_o,
  output logic [1:0]                dtype_o,
  output logic                      lockstep_o,
  output logic                      packets_o,
  output logic                      uniform_o,
  output logic                      grouped_o,
  output logic [NumVc-1:0]          vc_mask_o,
  output logic [mt_pkg::LenW-1:0]   packet_flits_o,
  output logic [mt_pkg::StartW-1:0] size_o,
  output logic [15:0]               pieces_o,   // of a flow
  output logic [TakenW-1:0]         arrivals_o,
  output logic [23:0]               watchdog_o,
  output logic                      losses_o,
  output logic [23:0]               deadline_o,
  output logic [mt_pkg::SrcW-1:0]   least_o,
  output logic                      load_o,
  output logic [CreditW-1:0]        places_o,

  // Commands: forget tables; get ready for a collective; start it.
  output logic clear_o,
  output logic arm_o,
  output logic go_o,

  // Tables, an entry at a time.
  output logic                 entry_write_o,
  output logic [EntryW-1:0]    entry_o,
  output logic                 route_write_o,
  output logic [RouteBits-1:0] route_o,
  output logic                 step_write_o,
  output logic [StepLenW-1:0]  step_length_o,
  output logic                 group_write_o,
  output logic [TakenW-1:0]    messages_o,

  // Doorbells that are rung in this cycle; that have been; groups that are over.
  output logic [NumGroups-1:0] ring_o,
  input  logic [NumGroups-1:0] rung_i,
  input  logic [NumGroups-1:0] over_i,
  // The rank's contribution is about to come; what became of it, as LOSSES is read.
  output logic                 hold_o,
  input  logic [mt_pkg::SrcW+3:0] fate_i,

  // Status.
  input  logic                 running_i,
  input  logic                 armed_i,
  input  logic                 done_i,
  input  logic [TakenW-1:0]    taken_i,
  input  logic [NumErrors-1:0] error_i,
  input  logic [3:0]           error_port_i,
  input  logic [15:0]          error_piece_i,
  output logic                 failed_o,

  // Events that are counted.
  input  logic [NumPorts-1:0]  sent_i,
  input  logic [NumPorts-1:0]  received_i,
  input  logic [NumPorts-1:0]  no_credit_i,
  input  logic [NumPorts-1:0]  parked_i
);

  localparam int unsigned EntryWords = (EntryW + 31) / 32;
  localparam int unsigned RouteWords = (mt_pkg::LongRouteW + 32) / 32;
  localparam int unsigned KeptWords = (RouteBits + 31) / 32;

  // ---- AXI4-Lite.
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] SlvErr = 2'b10;
  logic accepted, read;
  logic write;           // accepted, and it may be done
  logic there, refused;  // what is read is a register; what is written may not be
  logic [31:0] wdata;
  logic [9:0] waddr, raddr;
  assign accepted = s_axil_awvalid_i && s_axil_wvalid_i && (!s_axil_bvalid_o || s_axil_bready_i);
  assign s_axil_awready_o = accepted;
  assign s_axil_wready_o = accepted;
  assign waddr = s_axil_awaddr_i[11:2];
  assign wdata = s_axil_wdata_i;
  assign read = s_axil_arvalid_i && (!s_axil_rvalid_o || s_axil_rready_i);
  assign s_axil_arready_o = read;
  assign raddr = s_axil_araddr_i[11:2];
  logic unused_addr;
  assign unused_addr = &{1'b0, s_axil_awaddr_i[1:0], s_axil_araddr_i[1:0], s_axil_awprot_i,
                         s_axil_arprot_i};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      s_axil_bvalid_o <= 1'b0;
      s_axil_rvalid_o <= 1'b0;
    end else begin
      if (accepted) s_axil_bvalid_o <= 1'b1;
      else if (s_axil_bready_i) s_axil_bvalid_o <= 1'b0;
      if (read) s_axil_rvalid_o <= 1'b1;
      else if (s_axil_rready_i) s_axil_rvalid_o <= 1'b0;
    end
    if (accepted) s_axil_bresp_o <= refused ? SlvErr : Okay;
    if (read) s_axil_rresp_o <= there ? Okay : SlvErr;
  end

  // ---- Registers, by word address.
  localparam logic [9:0] RegCtrl = 10'h02;
  localparam logic [9:0] RegError = 10'h04;
  localparam logic [9:0] RegMode = 10'h06;
  localparam logic [9:0] RegRank = 10'h07;
  localparam logic [9:0] RegPacket = 10'h08;
  localparam logic [9:0] RegPlaces = 10'h09;
  localparam logic [9:0] RegSize = 10'h0a;
  localparam logic [9:0] RegPieces = 10'h0b;
  localparam logic [9:0] RegArrivals = 10'h0c;
  localparam logic [9:0] RegWatchdog = 10'h0d;
  localparam logic [9:0] RegTable = 10'h0e;
  localparam logic [9:0] RegRoute = 10'h10;
  localparam logic [9:0] RegStep = 10'h11;
  localparam logic [9:0] RegGroup = 10'h12;
  localparam logic [9:0] RegCycles = 10'h13;
  localparam logic [9:0] RegDoorbell = 10'h14;
  localparam logic [9:0] RegOver = 10'h15;
  localparam logic [9:0] RegDeadline = 10'h16;
  localparam logic [9:0] RegLeast = 10'h17;
  localparam logic [9:0] RegLosses = 10'h18;
  localparam logic [9:0] RegTaken = 10'h20;
  localparam logic [9:0] RegGroups = 10'h21;
  localparam logic [9:0] RegCounters = 10'h40;

  localparam int unsigned ModeW = 8 + NumVc;
  localparam logic [31:0] UsedMode = EnLosses != 0 ? 32'hffffff7f
                                     : NumGroups > 1 ? 32'hffffff3f : 32'hffffff37;  // others are 0
  logic [ModeW-1:0] mode_q;
  assign lockstep_o = mode_q[0];
  assign packets_o = mode_q[1];
  assign uniform_o = mode_q[2];
  assign grouped_o = mode_q[3];
  assign dtype_o = mode_q[5:4];
  assign vc_mask_o = mode_q[8 +: NumVc];
  logic unused_mode;
  assign losses_o = EnLosses != 0 && mode_q[6];
  assign unused_mode = &{1'b0, mode_q[7:6]};

  // What is configuration must not change while a collective is under way, and doorbells are rung only
  // then.
  logic whole, under_way, configures, rings, acts, config_error;
  assign whole = accepted && s_axil_wstrb_i == '1;
  assign under_way = running_i || armed_i;
  assign configures = (waddr >= RegMode && waddr <= RegTable) || waddr == RegRoute
                      || waddr == RegStep || (NumGroups > 1 && waddr == RegGroup)
                      || (EnLosses != 0 && (waddr == RegDeadline || waddr == RegLeast));
  assign rings = (NumGroups > 1 && waddr == RegDoorbell) || (EnLosses != 0 && waddr == RegLosses);
  assign acts = waddr == RegCtrl || waddr == RegError;
  assign config_error = whole && under_way && configures;
  assign write = whole && !refused;
  assign refused = s_axil_wstrb_i != '1
                   || !(acts || (under_way ? rings : configures));

  // Words are collected from the lowest up. Routes that are kept in part go on with the last word
  // that is kept.
  localparam int unsigned CollectW = (EntryWords > KeptWords ? EntryWords : KeptWords) * 32;
  logic [CollectW-1:0] collected;
  logic [3:0] words_q;
  logic collects, last_word, whole_entry, whole_route;
  assign collects = write && (waddr == RegTable || waddr == RegRoute);
  assign whole_entry = collects && waddr == RegTable && words_q == 4'(EntryWords - 1);
  assign whole_route = collects && waddr == RegRoute && words_q == 4'(KeptWords - 1);
  assign last_word = whole_entry || (waddr == RegRoute && words_q == 4'(RouteWords - 1));
  assign entry_write_o = whole_entry;
  assign route_write_o = whole_route;
  assign entry_o = collected[CollectW - EntryWords*32 +: EntryW];
  assign route_o = collected[CollectW - KeptWords*32 +: RouteBits];
  if (CollectW > 32) begin : gen_collect
    logic [CollectW-1:32] collected_q;  // without the lowest word, which is about to go
    assign collected = {wdata, collected_q};
    always_ff @(posedge clk_i) if (collects) collected_q <= collected[CollectW-1:32];
  end else begin : gen_one_word
    assign collected = wdata;
  end
  assign step_write_o = write && waddr == RegStep;
  assign step_length_o = wdata[StepLenW-1:0];
  assign group_write_o = write && NumGroups > 1 && waddr == RegGroup;
  assign messages_o = wdata[TakenW-1:0];
  assign ring_o = write && rings && (EnLosses == 0 || waddr == RegDoorbell) ? wdata[NumGroups-1:0] : '0;
  assign hold_o = EnLosses != 0 && write && waddr == RegLosses && wdata[0];

  logic commands;
  assign commands = write && waddr == RegCtrl;
  assign go_o = commands && wdata[0] && armed_i && !running_i;
  assign clear_o = commands && wdata[1] && !running_i;
  assign arm_o = commands && wdata[2] && !running_i;
  assign load_o = write && waddr == RegPlaces;
  logic [CreditW-1:0] places_q;
  assign places_o = load_o ? wdata[CreditW-1:0] : places_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_o) words_q <= '0;
    else if (collects) words_q <= last_word ? '0 : words_q + 4'd1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      mode_q <= '0;
      rank_o <= '0;
      packet_flits_o <= mt_pkg::LenW'(16);
      places_q <= '0;
      size_o <= '0;
      pieces_o <= 16'd1;
      arrivals_o <= '0;
      watchdog_o <= '0;
      deadline_o <= '0;
      least_o <= '0;
    end else if (write) begin
      case (waddr)
        RegMode: mode_q <= ModeW'(wdata & UsedMode);
        RegRank: rank_o <= wdata[mt_pkg::SrcW-1:0];
        RegPacket: if (EnPackets != 0) packet_flits_o <= wdata[mt_pkg::LenW-1:0];
        RegPlaces: places_q <= wdata[CreditW-1:0];
        RegSize: size_o <= wdata[mt_pkg::StartW-1:0];
        RegPieces: pieces_o <= 16'(wdata[PiecesW-1:0]);
        RegArrivals: arrivals_o <= wdata[TakenW-1:0];
        RegWatchdog: watchdog_o <= wdata[23:0];
        default: ;
      endcase
      if (EnLosses != 0 && waddr == RegDeadline) deadline_o <= wdata[23:0];
      if (EnLosses != 0 && waddr == RegLeast) least_o <= wdata[mt_pkg::SrcW-1:0];
    end
  end

  // ---- Errors stay until they are cleared by a one; the first is kept with its place.
  logic [NumErrors-1:0] error_q, error, kept;
  logic [31:0] first_q;
  assign kept = write && waddr == RegError ? error_q & ~wdata[NumErrors-1:0] : error_q;
  assign error = error_i | (NumErrors'(config_error) << mt_pkg::ErrConfig);
  assign failed_o = error_q != '0;
  logic [3:0] code;
  always_comb begin
    code = '0;
    if (`MT_WORK(error != '0)) begin
      for (int unsigned i = NumErrors; i > 0; i--) if (error[i-1]) code = 4'(i - 1);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      error_q <= '0;
      first_q <= '0;
    end else begin
      error_q <= kept | error;
      if (error != '0 && kept == '0) first_q <= {error_piece_i, 4'b0, error_port_i, 4'b0, code};
    end
  end

  // ---- Counters. A few events of each are counted beside a memory, into which they are put in turn
  // by the only wide adder: what is read is behind by as many cycles as there are counters, at most.
  logic [31:0] counter;
  if (EnCounters != 0) begin : gen_counters
    localparam int unsigned Num = 4 * NumPorts;
    localparam int unsigned NumW = $clog2(Num);
    logic [31:0] cycles_q;
    logic [31:0] counts [Num];
    logic [Num-1:0] events;
    logic [Num*NumW-1:0] few_q;
    logic [NumW-1:0] turn_q;
    logic clears_q;  // the first turn of each since it was armed
    for (genvar p = 0; p < NumPorts; p++) begin : gen_events
      assign events[4*p +: 4] = {parked_i[p], no_credit_i[p], received_i[p], sent_i[p]};
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni || arm_o) begin
        cycles_q <= '0;
        few_q <= '0;
        turn_q <= '0;
        clears_q <= 1'b1;
      end else begin
        if (running_i && !done_i) cycles_q <= cycles_q + 32'd1;
        turn_q <= turn_q == NumW'(Num - 1) ? '0 : turn_q + NumW'(1);
        if (turn_q == NumW'(Num - 1)) clears_q <= 1'b0;
        for (int unsigned i = 0; i < Num; i++) begin
          if (turn_q == NumW'(i)) few_q[i*NumW +: NumW] <= '0;
          else if (events[i]) few_q[i*NumW +: NumW] <= few_q[i*NumW +: NumW] + NumW'(1);
        end
      end
      counts[turn_q] <= (clears_q ? '0 : counts[turn_q])
                        + 32'(few_q[turn_q*NumW +: NumW]) + 32'(events[turn_q]);
    end
    assign counter = raddr == RegCycles ? cycles_q : counts[raddr[NumW-1:0]];
  end else begin : gen_no_counters
    logic unused;
    assign counter = '0;
    assign unused = &{1'b0, sent_i, received_i, no_credit_i, parked_i};
  end

  // ---- What is read. Commands and the words of tables read as 0.
  logic [31:0] value;
  logic is_counter;
  assign is_counter = EnCounters != 0
                      && (raddr == RegCycles || (raddr >= RegCounters && raddr < RegCounters + 10'(4 * NumPorts)));
  always_comb begin
    there = 1'b1;
    value = '0;
    case (raddr)
      10'h00: value = 32'h4d544e31;  // "MTN1"
      10'h01: value = {8'(NumVc), 8'(ParkSlots), 8'(PieceW), 8'(NumPorts)};
      10'h03: value = {28'b0, armed_i, failed_o, done_i, running_i};
      RegError: value = 32'(error_q);
      10'h05: value = first_q;
      RegMode: value = 32'(mode_q);
      RegRank: value = 32'(rank_o);
      RegPacket: value = 32'(packet_flits_o);
      RegPlaces: value = 32'(places_q);
      RegSize: value = 32'(size_o);
      RegPieces: value = 32'(pieces_o);
      RegArrivals: value = 32'(arrivals_o);
      RegWatchdog: value = 32'(watchdog_o);
      RegCtrl, RegTable, RegRoute, RegStep: ;
      RegGroup: there = NumGroups > 1;
      RegDoorbell: begin
        there = NumGroups > 1;
        if (NumGroups > 1) value = 32'(rung_i);
      end
      RegOver: begin
        there = NumGroups > 1;
        if (NumGroups > 1) value = 32'(over_i);
      end
      RegTaken: value = 32'(taken_i);
      RegGroups: value = 32'(NumGroups);
      default: begin
        there = is_counter;
        if (is_counter) value = counter;
      end
    endcase
    if (EnLosses != 0 && raddr >= RegDeadline && raddr <= RegLosses) begin
      there = 1'b1;
      value = raddr == RegDeadline ? 32'(deadline_o) : raddr == RegLeast ? 32'(least_o) : 32'(fate_i);
    end
  end
  always_ff @(posedge clk_i) if (read) s_axil_rdata_o <= value;

  `MT_ASSERT_NEXT(BvalidStays, s_axil_bvalid_o && !s_axil_bready_i,
                  s_axil_bvalid_o && $stable(s_axil_bresp_o))
  `MT_ASSERT_NEXT(RvalidStays, s_axil_rvalid_o && !s_axil_rready_i,
                  s_axil_rvalid_o && $stable(s_axil_rdata_o) && $stable(s_axil_rresp_o))
  `MT_ASSERT_NEXT(ErrorsStay, failed_o && !accepted, failed_o)

endmodule
