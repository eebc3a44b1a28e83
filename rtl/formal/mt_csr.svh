// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv
// prove: NumPorts=1 NumVc=2 PieceW=2 ParkSlots=1 EntryW=40 RouteBits=40 TakenW=4 CreditW=3 StepLenW=3 NumGroups=2 EnCounters=0
// prove: NumPorts=2 NumVc=1 PieceW=2 ParkSlots=1 EntryW=40 RouteBits=27 TakenW=4 CreditW=3 StepLenW=3 NumGroups=1 EnCounters=1 EnPackets=0 PiecesW=2
// steps: 4
// cover: 8

// What the master promises: a valid stays, with all that belongs to it, until it is taken.
`define MT_HOLDS(name, valid, ready, what) \
  logic name``_waits_q; \
  logic [$bits(what)-1:0] name``_what_q; \
  always_ff @(posedge clk_i) begin \
    name``_waits_q <= rst_ni && valid && !ready; \
    name``_what_q <= what; \
  end \
  `MT_ASSUME(name, !name``_waits_q || (valid && what == name``_what_q))
`MT_HOLDS(AwHolds, s_axil_awvalid_i, s_axil_awready_o, s_axil_awaddr_i)
logic [35:0] w_all;
assign w_all = {s_axil_wstrb_i, s_axil_wdata_i};
`MT_HOLDS(WHolds, s_axil_wvalid_i, s_axil_wready_o, w_all)
`MT_HOLDS(ArHolds, s_axil_arvalid_i, s_axil_arready_o, s_axil_araddr_i)

// What may be written now, by addresses as in docs/nic-spec.md.
logic is_config, allowed, accepts;
logic [9:0] to;
assign to = s_axil_awaddr_i[11:2];
assign is_config = (to >= 10'h06 && to <= 10'h0e) || to == 10'h10 || to == 10'h11
                   || (NumGroups > 1 && to == 10'h12);
assign allowed = s_axil_wstrb_i == 4'hf && (to == 10'h02 || to == 10'h04
                 || (running_i || armed_i ? NumGroups > 1 && to == 10'h14 : is_config));
assign accepts = s_axil_awvalid_i && s_axil_awready_o;

// Address and data are taken together. Each write is answered once, in the next cycle; so is each read.
`MT_ASSERT(Together, (s_axil_awvalid_i && s_axil_awready_o) == (s_axil_wvalid_i && s_axil_wready_o))
`MT_ASSERT_NEXT(WriteAnswered, accepts, s_axil_bvalid_o)
`MT_ASSERT_NEXT(NoOtherAnswer, !accepts && (!s_axil_bvalid_o || s_axil_bready_i), !s_axil_bvalid_o)
`MT_ASSERT(OneAnswerAtATime, !accepts || !s_axil_bvalid_o || s_axil_bready_i)
`MT_ASSERT_NEXT(WriteResponse, accepts && allowed, s_axil_bresp_o == 2'b00)
`MT_ASSERT_NEXT(WriteRefused, accepts && !allowed, s_axil_bresp_o == 2'b10)
`MT_ASSERT_NEXT(ReadAnswered, s_axil_arvalid_i && s_axil_arready_o, s_axil_rvalid_o)
`MT_ASSERT_NEXT(NoOtherValue, !(s_axil_arvalid_i && s_axil_arready_o)
                              && (!s_axil_rvalid_o || s_axil_rready_i), !s_axil_rvalid_o)
`MT_ASSERT_NEXT(ErrorHasNoValue, s_axil_arvalid_i && s_axil_arready_o,
                s_axil_rresp_o == 2'b00 || (s_axil_rresp_o == 2'b10 && s_axil_rdata_o == '0))
// Nothing happens but by a write that is accepted and allowed.
logic happens;
assign happens = entry_write_o || route_write_o || step_write_o || group_write_o || load_o || clear_o
                 || arm_o || go_o || ring_o != '0;
`MT_ASSERT(OnlyWhenAllowed, !happens || (accepts && allowed))
`MT_ASSERT(NothingOfTablesMeanwhile, !(running_i || armed_i) ||
           !(entry_write_o || route_write_o || step_write_o || group_write_o || load_o))

// What is written into a register of the configuration stays there, and is read: of any one.
(* anyconst *) logic [9:0] which;
logic [31:0] used, kept_q, first, held;
always_comb begin
  used = '0;
  first = '0;
  held = '0;
  case (which)
    10'h06: begin
      used = (32'hff & (NumGroups > 1 ? 32'h3f : 32'h37)) | 32'(((1 << NumVc) - 1) << 8);
      held = 32'(mode_q);
    end
    10'h07: begin used = 32'hff; held = 32'(rank_o); end
    10'h08: begin
      used = EnPackets != 0 ? 32'hffff : 32'h0;
      first = EnPackets != 0 ? 32'd16 : 32'd0;
      held = EnPackets != 0 ? 32'(packet_flits_o) : 32'd0;
    end
    10'h09: begin used = 32'((1 << CreditW) - 1); held = 32'(places_q); end
    10'h0a: begin used = 32'hffffff; held = 32'(size_o); end
    10'h0b: begin used = 32'((1 << PiecesW) - 1); first = 32'd1; held = 32'(pieces_o); end
    10'h0c: begin used = 32'((1 << TakenW) - 1); held = 32'(arrivals_o); end
    default: begin used = 32'hffffff; held = 32'(watchdog_o); end
  endcase
end
`MT_ASSUME(WhichIsRegister, which >= 10'h06 && which <= 10'h0d)
always_ff @(posedge clk_i) begin
  if (!rst_ni) kept_q <= first;
  else if (accepts && allowed && to == which) kept_q <= s_axil_wdata_i & used;
end
`MT_ASSERT(KeptIsHeld, kept_q == held)
logic [31:0] kept_before_q;
logic reads_it_q;
always_ff @(posedge clk_i) begin
  kept_before_q <= kept_q;
  reads_it_q <= rst_ni && s_axil_arvalid_i && s_axil_arready_o && s_axil_araddr_i[11:2] == which
                && (EnPackets != 0 || which != 10'h08);
end
`MT_ASSERT(WrittenIsRead, !reads_it_q || (s_axil_rdata_o == kept_before_q && s_axil_rresp_o == 2'b00))

`MT_COVER(WrittenAndRead, reads_it_q && kept_before_q != '0 && kept_before_q != first)
`MT_COVER(RefusedWhileArmed, s_axil_bvalid_o && s_axil_bresp_o == 2'b10 && armed_i && is_config && accepts)
