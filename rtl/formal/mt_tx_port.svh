// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv prim/mt_credit.sv check/mt_stream_check.sv
// prove: StepW=2 FlowW=1 PieceOfFlowW=1 RouteW=1 CntW=2 StartW=4 SizeW=5 PieceW=2 NumVc=2 CreditW=2 MaxOutstanding=2
// prove: StepW=2 FlowW=1 PieceOfFlowW=1 RouteW=1 CntW=2 StartW=4 SizeW=5 GroupW=2 PieceW=2 NumVc=2 CreditW=2 MaxOutstanding=2
// prove long: StepW=2 FlowW=1 PieceOfFlowW=1 RouteW=1 CntW=2 StartW=4 SizeW=7 PieceW=2 NumVc=2 CreditW=2 MaxOutstanding=2 flit=512
// steps: 3
// cover: 14

// What the user promises. Configuration stays; a run begins at rest, and one that stops
// (after an error) does not go on; the table keeps an entry that is being sent until
// it is popped; memory answers what it was asked, in order, at any time; a credit comes back for a
// flit that was sent. Uniform chunks start where the port is told, which stays as the entry does.
logic config_known_q;
logic [NumVc-1:0] mask_q;
logic [15:0] packet_q;
logic [CreditW-1:0] places_q;
logic [PieceOfFlowW:0] pieces_q;
logic wide_q, packets_q, uniform_q;
logic [mt_pkg::StartW-1:0] size_q;
always_ff @(posedge clk_i) begin
  config_known_q <= rst_ni;
  mask_q <= vc_mask_i;
  packet_q <= packet_flits_i;
  places_q <= places_i;
  wide_q <= wide_i;
  packets_q <= packets_i;
  pieces_q <= pieces_i;
  uniform_q <= uniform_i;
  size_q <= size_i;
end
`MT_ASSUME(ConfigStays, !config_known_q || (vc_mask_i == mask_q && packet_flits_i == packet_q &&
    wide_i == wide_q && packets_i == packets_q && pieces_i == pieces_q &&
    uniform_i == uniform_q && size_i == size_q))
`MT_ASSUME(PlacesStay, !config_known_q || load_i || places_i == places_q)
`MT_ASSUME(SizesAsInEntries, size_i[mt_pkg::StartW-1:SizeW] == '0)
`MT_ASSUME(PacketIsSome, packet_flits_i != '0)
`MT_ASSUME(LoadsBefore, !load_i || (!running_i && !busy_q && out_q == '0 && !credit_valid_i))
`MT_ASSUME(StopsForGood, !running_i || !stopped_q)
`MT_ASSUME(RewindsAtRest, !rewind_i || (!running_i && !busy_q))
logic kept_q, kept_long_q, kept_error_q;
logic [EntryW-1:0] kept_entry_q;
logic [mt_pkg::LongRouteW-1:0] kept_route_q;
logic [mt_pkg::StartW-1:0] kept_start_q;
always_ff @(posedge clk_i) begin
  kept_q <= rst_ni && !rewind_i && entry_valid_i && !entry_pop_o && (active_o || busy_q);
  kept_entry_q <= entry_i;
  kept_route_q <= route_i;
  kept_start_q <= start_i;
  kept_long_q <= route_long_i;
  kept_error_q <= entry_error_i;
end
`MT_ASSUME(EntryKept, !kept_q || (entry_valid_i && entry_i == kept_entry_q &&
    route_i == kept_route_q && route_long_i == kept_long_q && entry_error_i == kept_error_q &&
    start_i == kept_start_q))
`MT_ASSUME(OpcodeExists, !entry_valid_i || entry_i[1:0] != 2'd3)

// The entry, by where its fields lie.
localparam int unsigned D = mt_pkg::DataW;
logic [1:0] opcode;
logic [1:0] due_step, due_count;
logic [SizeW-1:0] elements;
logic [15:0] words;
assign opcode = entry_i[1:0];
assign due_step = entry_i[3:2];
assign due_count = entry_i[8:7];
assign elements = uniform_i ? size_i[SizeW-1:0] : entry_i[17 +: SizeW];
logic [23:0] first;
assign first = uniform_i ? start_i : 24'(entry_i[16:13]);
assign words = wide_i ? (16'(elements) + D / 32 - 1) / (D / 32) : (16'(elements) + D / 16 - 1) / (D / 16);

// busy_q: a message is under way. What was sent of it, by what is seen at the outputs.
logic busy_q, stopped_q, begins, due, pops;
assign due = running_i && entry_valid_i && !entry_error_i && opcode != 2'd0 &&
             due_count <= taken_i && !(lockstep_i && due_step > step_i);
assign begins = due && !busy_q;
assign pops = entry_pop_o && opcode != 2'd0;
always_ff @(posedge clk_i) begin
  if (!rst_ni || rewind_i) busy_q <= 1'b0;
  else if (pops) busy_q <= 1'b0;
  else if (begins) busy_q <= 1'b1;
  if (!rst_ni) stopped_q <= 1'b0;
  else if (busy_q && !running_i) stopped_q <= 1'b1;
end
// An entry begins in the very cycle in which it may, and no other does.
`MT_ASSERT(BeginsWhenDue, begun_o == begins)
`MT_ASSERT(SendingIsBusy, sending_o == (busy_q && !stopped_q))
`MT_ASSERT(NopIsSkipped, !(running_i && entry_valid_i && !entry_error_i && opcode == 2'd0 && !busy_q)
                         || (entry_pop_o && !send && !req_tvalid_o))
`MT_ASSERT(PopsWhatIsThere, !entry_pop_o || (entry_valid_i && running_i && !entry_error_i))
`MT_ASSERT(PopsAtItsEnd, !pops || sent_o)
`MT_ASSERT(EndIsPop, !sent_o || pops)
`MT_ASSERT(IdleInStep, stopped_q || idle_in_step_o == (!busy_q && !(entry_valid_i && due_step <= current_step_i)))
`MT_ASSERT(NothingWithoutEntry, !busy_q || (entry_valid_i && !entry_error_i && opcode != 2'd0))

// What leaves, a cycle later: a reader of worms that knows only the flits.
typedef enum logic [1:0] {Between, Route, Payload} state_t;
state_t state_q;
logic [15:0] to_come_q, seen_q, flits_q;  // of the worm; of the message: payload; headers
logic [VcW-1:0] worm_vc_q;
logic is_head, is_tail, is_route_flit, is_header_flit, is_payload_flit, last_pop_q;
logic [D-1:0] content;
logic [15:0] says, says_offset;
logic [VcW-1:0] busy_vc_q;
assign is_head = flit_o[D + 9];
assign is_tail = flit_o[D + 8];
assign content = flit_o[D-1:0];
// Behind the lanes, whose number depends on the width: last, gather, group, whether it is a route.
localparam int unsigned LanesBit = 117, LastBit = LanesBit + mt_pkg::LanesW, GroupBit = LastBit + 2, RouteBit = LastBit + 7;
assign says = content[82:67];
assign says_offset = content[66:51];
assign is_route_flit = valid_o && state_q == Between && content[RouteBit];
assign is_header_flit = valid_o && state_q != Payload && !is_route_flit;
assign is_payload_flit = valid_o && state_q == Payload;
logic [15:0] words_q;  // of the message that the flit belongs to
logic long_q, ended_q;
always_ff @(posedge clk_i) begin
  words_q <= words;
  long_q <= route_long_i;
  ended_q <= rst_ni && pops;
  if (!rst_ni || rewind_i) begin
    state_q <= Between;
    seen_q <= '0;
  end else if (valid_o) begin
    if (is_route_flit) state_q <= Route;
    else if (is_tail) state_q <= Between;
    else state_q <= Payload;
    if (is_header_flit) to_come_q <= says;
    if (is_payload_flit) to_come_q <= to_come_q - 1'b1;
    if (ended_q) seen_q <= '0;
    else if (is_payload_flit) seen_q <= seen_q + 1'b1;
    worm_vc_q <= vc_o;
  end
end
logic [15:0] in_packet;
assign in_packet = packets_i && packet_flits_i < words_q - seen_q ? packet_flits_i : words_q - seen_q;
`MT_ASSERT(HeadFirst, !valid_o || is_head == (state_q == Between))
`MT_ASSERT(RouteIfLong, !valid_o || state_q != Between || content[RouteBit] == long_q)
`MT_ASSERT(TailLast, !valid_o || is_tail == (is_header_flit ? says == '0 :
                                             is_payload_flit && to_come_q == 16'd1))
`MT_ASSERT(LengthIsPacket, !is_header_flit || says == in_packet)
`MT_ASSERT(OffsetIsSent, !is_header_flit || says_offset == seen_q)
`MT_ASSERT(LastIsLast, !is_header_flit || content[LastBit] == (says_offset + says == words_q))
// So the message ends when all of its words are sent, with a tail, once.
`MT_ASSERT(AllOfIt, !ended_q || (valid_o && is_tail && seen_q + 16'(is_payload_flit) == words_q))
`MT_ASSERT(NotBeyondIt, seen_q + 16'(is_payload_flit) <= words_q || !valid_o)
`MT_ASSERT(OneChannel, !valid_o || state_q == Between || vc_o == worm_vc_q)
`MT_ASSERT(ChannelAllowed, !valid_o || state_q != Between || vc_mask_i[vc_o])

// The header is the entry.
logic [EntryW-1:0] entry_q;
logic [mt_pkg::LongRouteW-1:0] route_q;
logic [mt_pkg::SrcW-1:0] rank_q;
logic [23:0] first_q;
logic [SizeW-1:0] elements_q;
always_ff @(posedge clk_i) begin
  entry_q <= entry_i;
  route_q <= route_i;
  rank_q <= rank_i;
  first_q <= first;
  elements_q <= elements;
end
logic [PieceW-1:0] number;  // of the piece
assign number = (entry_q[4] ? pieces_q : 2'd0) + {1'b0, entry_q[5]};
`MT_ASSERT(HeaderIsEntry, !is_header_flit || (!content[RouteBit] &&
    content[GroupBit +: 5] == (GroupW == 0 ? 5'd0 : 5'(entry_q[EntryW-2 -: (GroupW > 0 ? GroupW : 1)])) &&
    content[LastBit + 1] == (entry_q[1:0] == 2'd2) && content[116:109] == rank_q &&
    content[108:103] == 6'(entry_q[10:9]) && content[102:97] == 6'(entry_q[12:11]) &&
    content[96:83] == {12'b0, number} &&
    content[50:27] == first_q && (long_q || content[26:0] == route_q[26:0])))
`MT_ASSERT(LanesAreRest, !is_header_flit || elements_q == '0 ||
    32'(content[LanesBit +: mt_pkg::LanesW]) == (32'(elements_q) - 1) % (wide_i ? D / 32 : D / 16))
`MT_ASSERT(RouteIsRoute, !is_route_flit || content[125:0] == route_q)
logic [7:0] parity;
always_comb begin
  parity = '0;
  for (int unsigned i = 0; i < D + 2; i++) parity[i % 8] = parity[i % 8] ^ (i < D ? flit_o[i] : flit_o[i + 8]);
end
`MT_ASSERT(ParityIsRight, !valid_o || parity == flit_o[D +: 8])

// Memory. At most two words are under way; an answer stays until it is taken.
logic [15:0] asked_ref_q;         // of the message
logic [1:0] waits_q;              // asked and not taken
logic [D-1:0] word_q;
logic stays_q;
always_ff @(posedge clk_i) begin
  word_q <= data_tdata_i;
  stays_q <= rst_ni && data_tvalid_i && !data_tready_o;
  if (!rst_ni) begin
    waits_q <= '0;
    asked_ref_q <= '0;
  end else begin
    waits_q <= waits_q + 2'(req_tvalid_o && req_tready_i) - 2'(data_tvalid_i && data_tready_o);
    if (pops || rewind_i) asked_ref_q <= '0;
    else asked_ref_q <= asked_ref_q + 16'(req_tvalid_o && req_tready_i);
  end
end
`MT_ASSUME(AnswersWhatWasAsked, !data_tvalid_i || waits_q != '0)
`MT_ASSUME(AnswerStays, !stays_q || (data_tvalid_i && data_tdata_i == word_q))
`MT_ASSERT(TakesAnAnswer, !data_tready_o || data_tvalid_i)
`MT_ASSERT(WordIsSent, !is_payload_flit || content == word_q)
`MT_ASSERT(WordIsTaken, word_taken == (send && next_state == Payload))
`MT_ASSERT(AsksInOrder, !req_tvalid_o || 32'(req_tdata_o) ==
           (32'(first) << (wide_i ? 2 : 1)) + 32'(asked_ref_q) * mt_pkg::KeepW)
`MT_ASSERT(AsksAllOfIt, !pops || asked_ref_q == words)
`MT_ASSERT(AskedIsSent, !pops || 32'(waits_q) == 32'(is_payload))
`MT_ASSERT(AsksAhead, !(begins || (busy_q && running_i)) || asked_ref_q == words ||
           32'(waits_q) == MaxOutstanding || req_tvalid_o)
`MT_ASSERT(NoneAtRest, busy_q || waits_q == '0)

// As AXI4-Stream has it, also when the run stops.
mt_stream_check #(.Width(mt_pkg::AddrW)) u_check_req (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(req_tvalid_o), .ready_i(req_tready_i),
  .data_i(req_tdata_o));

// Credits, for any virtual channel.
(* anyconst *) logic [VcW-1:0] which;
logic loaded_q;
logic [CreditW-1:0] out_q;  // flits sent and no credit back
logic takes_place;
assign takes_place = send && vc == which;
always_ff @(posedge clk_i) begin
  if (!rst_ni) begin
    loaded_q <= 1'b0;
    out_q <= '0;
  end else begin
    if (load_i) loaded_q <= 1'b1;
    out_q <= out_q + CreditW'(takes_place) - CreditW'(credit_valid_i && credit_vc_i == which);
  end
end
`MT_ASSUME(CreditsForFlits, !credit_valid_i || credit_vc_i != which || out_q != '0)
`MT_ASSUME(CreditsForOthers, !credit_valid_i || credit_vc_i == which || over == '0)
logic [CreditW-1:0] out;  // with this cycle's
logic [NumVc*CreditW-1:0] available;
assign out = out_q - CreditW'(credit_valid_i && credit_vc_i == which);
for (genvar v = 0; v < NumVc; v++) begin : gen_look
  assign available[v*CreditW +: CreditW] = unused_available[v*CreditW +: CreditW];
  assign in_range[v] = full[v] ? unused_available[v*CreditW +: CreditW] == (loaded_q ? places_i : '0)
                               : loaded_q && unused_available[v*CreditW +: CreditW] < places_i;
end
logic [NumVc-1:0] in_range;
`MT_ASSERT(NeverMoreThanPlaces, load_i || in_range == '1)
`MT_ASSERT(Conserved, load_i || 32'(available[which*CreditW +: CreditW]) + 32'(out) ==
                                (loaded_q ? 32'(places_i) : 0))
`MT_ASSERT(NeverWithoutCredit, !takes_place || (loaded_q && out < places_i))
`MT_ASSERT(FullIsNoneOut, load_i || full[which] == (out == '0))
`MT_ASSERT(NoneOver, !credit_over_o)
// A message goes on in every cycle in which it can.
logic can_which;
assign can_which = loaded_q && out < places_i;
`MT_ASSERT(GoesOn, !(begins || (busy_q && running_i)) || !can_which ||
    (head ? !vc_mask_i[which] : vc_q != which) || (is_payload && !data_tvalid_i) || send)

// Internal invariants, on which the proofs of the above rest: the reader is a cycle behind the sender.
state_t next_state;
assign next_state = !valid_o ? state_q : is_route_flit ? Route : is_tail ? Between : Payload;
logic [15:0] next_seen, next_rest;
assign next_seen = valid_o && ended_q ? '0 : seen_q + 16'(is_payload_flit);
assign next_rest = is_header_flit ? says : is_payload_flit ? to_come_q - 1'b1 : to_come_q;
`MT_ASSERT(InWormIsPayload, in_worm_q == (next_state == Payload))
`MT_ASSERT(RouteIsSent, route_sent_q == (next_state == Route) && state_q <= Payload)
`MT_ASSERT(SentIsSeen, sent_q == next_seen)
`MT_ASSERT(LeftIsRest, next_state != Payload || (left_q == next_rest && left_q != '0 &&
                       32'(next_seen) + 32'(left_q) <= 32'(words)))
`MT_ASSERT(VcIsWorms, next_state == Between || (busy_q && vc_q == (valid_o ? vc_o : worm_vc_q)))
`MT_ASSERT(RestAtRest, busy_q || (next_state == Between && next_seen == '0 && asked_ref_q == '0))
`MT_ASSERT(NextAddress, !sending_o || 32'(addr_q) ==
           (32'(first) << (wide_i ? 2 : 1)) + 32'(asked_ref_q) * mt_pkg::KeepW)
`MT_ASSERT(RequestWaits, !req_waits_q || (busy_q && asked_ref_q < words && 32'(addr_q) ==
           (32'(first) << (wide_i ? 2 : 1)) + 32'(asked_ref_q) * mt_pkg::KeepW && 32'(waits_q) < MaxOutstanding))
`MT_ASSERT(RestIsNotSent, !sending_o || 32'(rest_q) + 32'(sent_q) == 32'(words))
`MT_ASSERT(UnderWay, under_way_q == waits_q && asked_ref_q <= words &&
                     32'(asked_ref_q) == 32'(sent_q) + 32'(under_way_q) && under_way_q <= 2'd2)
`MT_ASSERT(MoreToSend, !busy_q || (words == '0 ? next_seen == '0 && next_state != Payload
                                               : next_seen < words))

`MT_COVER(TwoPackets, ended_q && is_payload_flit && words_q == 16'd3 && packets_i && content[0] != content[1])
`MT_COVER(LongWay, ended_q && is_payload_flit && long_q && places_i == 2'd1)
