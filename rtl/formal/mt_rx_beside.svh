// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv check/mt_stream_check.sv
// prove: CntW=2
// prove: CntW=6
// prove: CntW=2 flit=512
// steps: 3
// cover: 7

// What the receive port promises: a flit stays what it is until it is taken; it comes after a header; the flit that is
// issued belongs to the current worm, whose next word may be added and asked for; all is forgotten only while none is there.
`MT_ASSUME(FlitStays, !kept_q || (payload_i && data_i == data_q && tail_i == tail_q))
`MT_ASSUME(HeaderIsNoPayload, !header_i || !payload_i)
`MT_ASSUME(PayloadOfAWorm, !payload_i || seen_q)
`MT_ASSUME(IssuesWhatMayGo, !issued_i || (payload_i && current_i && may_add_i && can_ask_i && !offered_o && !stop_i))
`MT_ASSUME(ForgetsBetween, !clear_i || !payload_i)
`MT_ASSUME(OneWidth, wide_i == wide)
(* anyconst *) logic wide;
logic kept_q, tail_q, seen_q;
logic [DataW-1:0] data_q;
always_ff @(posedge clk_i) begin
  kept_q <= rst_ni && payload_i && !taken_o;
  seen_q <= rst_ni && (seen_q || header_i);
  {tail_q, data_q} <= {tail_i, data_i};
end

// The last header, and how many flits have been taken since.
logic [CntW-1:0] of_turn_q;
logic of_last_q;
logic [mt_pkg::LanesW-1:0] of_lanes_q;
logic [AddrW-1:0] first_q, flits_q, belongs;
always_ff @(posedge clk_i) begin
  if (header_i) begin
    {of_turn_q, of_last_q, of_lanes_q, first_q} <= {turn_i, last_i, lanes_i, addr_i};
    flits_q <= '0;
  end else if (payload_i && taken_o) begin
    flits_q <= flits_q + 1'b1;
  end
end
assign belongs = first_q + {flits_q[AddrW-1-mt_pkg::ByteW:0], {mt_pkg::ByteW {1'b0}}};

// Each flit goes one way, and nothing else does.
logic drops, takes_beside;
assign drops = payload_i && stop_i && !offered_q;
assign takes_beside = stage_wr_tvalid_o && stage_wr_tready_i;
`MT_ASSERT(OneWay, payload_i == (stage_wr_tvalid_o || issued_i || waits || drops)
    && !(stage_wr_tvalid_o && (issued_i || waits || drops)) && !(issued_i && (waits || drops)) && !(waits && drops))
`MT_ASSERT(TakenAsItGoes, !payload_i || taken_o == (takes_beside || issued_i || drops))
`MT_ASSERT(OthersAreTaken, payload_i || taken_o)
// It waits only while its worm's next word may be added, and begins to only where memory cannot be asked.
`MT_ASSERT(WaitsForMemory, !waits || (current_i && may_add_i && !stop_i && (waited_q || !can_ask_i)))
`MT_ASSERT(GoesWhereItMay, !payload_i || offered_q || stop_i || !current_i || !may_add_i || can_ask_i || waits)
`MT_ASSERT(WaitsNoLonger, !payload_i || stop_i || (current_i && may_add_i) || stage_wr_tvalid_o)
`MT_ASSERT_NEXT(WaitsOn, waits, waits || issued_i || drops || !current_i || !may_add_i)
`MT_ASSERT(WaitedAtOnce, !waited_q || (kept_q && !offered_q))
`MT_ASSERT(OfferedAtOnce, !offered_q || kept_q)
// What is put beside the buffer goes where its message says, whole but for the last word's rest.
mt_stream_check #(.Width(StageW + DataW)) u_check (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(stage_wr_tvalid_o), .ready_i(stage_wr_tready_i),
  .data_i(stage_wr_tdata_o));
`MT_ASSERT(OfItsWorm, !seen_q || (turn_q == of_turn_q && last_q == of_last_q && lanes_q == of_lanes_q && addr_q == belongs))
`MT_ASSERT(Beside, !stage_wr_tvalid_o || stage_wr_tdata_o == {mt_pkg::CountW'(of_turn_q), belongs, data_i})
`MT_ASSERT(NextWord, !seen_q || next_word_o == belongs[mt_pkg::ByteW +: LenW])
`MT_ASSERT(KeepsAllButLast, !stage_wr_tvalid_o || (of_last_q && tail_i) || stage_wr_tkeep_o == '1)
`MT_ASSERT(KeepsElements, !stage_wr_tvalid_o || !of_last_q || !tail_i || (wide && of_lanes_q[mt_pkg::LanesW-1]) ||
    stage_wr_tkeep_o == ~({mt_pkg::KeepW {1'b1}} << ((8'(of_lanes_q) + 8'd1) << (wide ? 2 : 1))))

`MT_COVER(WaitsThenGoes, $past(waits) && $past(waited_q) && issued_i && flits_q != '0)
`MT_COVER(WaitsThenBeside, $past(waited_q) && offered_q && takes_beside && tail_i && of_last_q)
