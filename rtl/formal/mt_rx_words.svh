// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv prim/mt_sram.sv prim/mt_fifo.sv check/mt_stream_check.sv
// prove: PieceW=1 CntW=1 Latency=1 MaxOutstanding=2
// prove: PieceW=1 CntW=1 Latency=1 MaxOutstanding=2 flit=512
// bounded: 10
// cover: 9
// see: words u_places

logic [(1<<PlaceW)*WordW-1:0] words;

// What the user promises: words are issued when there is room; an empty one adds nothing and stays
// nowhere; memory answers what it was asked, and an answer stays; the unit takes a word only while
// results go, has at most `Latency` of them, and gives a result that stays until it may go.
`MT_ASSUME(IssuesWhenReady, !issue_i || ready_o)
`MT_ASSUME(EmptyIsNoWord, !empty_i || (!adds_i && !staged_i))
`MT_ASSUME(TakesWhileResultsGo, !unit_take_i || unit_ready_o)
`MT_ASSUME(ResultOfAWord, !unit_valid_i || in_unit_q != '0)
`MT_ASSUME(FullUnitHasAResult, 32'(in_unit_q) != Latency || unit_valid_i)
`MT_ASSUME(ResultStays, !result_stays_q || unit_valid_i)
`MT_ASSUME(AnswersWhatWasAsked, (!acc_tvalid_i || acc_due_q != '0) && (!stage_tvalid_i || stage_due_q != '0))
`MT_ASSUME(AnswersStay, (!acc_stays_q || acc_tvalid_i) && (!stage_stays_q || stage_tvalid_i))
`MT_ASSUME(HaltsForGood, !halted_q || halt_i)
logic halted_q, acc_stays_q, stage_stays_q, result_stays_q;
always_ff @(posedge clk_i) begin
  halted_q <= rst_ni && halt_i;
  acc_stays_q <= rst_ni && acc_tvalid_i && !acc_tready_o;
  result_stays_q <= rst_ni && unit_valid_i && !unit_ready_o;
  stage_stays_q <= rst_ni && stage_tvalid_i && !stage_tready_o;
end

// Words that are issued, in their order; of each what was said of it.
localparam int unsigned Most = 4;
logic [WordW-1:0] said [Most];
word_t first, last_said;  // whose result comes; issued last
logic [Most-1:0] said_adds, said_staged;
logic [1:0] issued_q, taken_q, result_q, acc_asked_q, stage_asked_q;
logic [2:0] waiting_q, in_unit_q, acc_due_q, stage_due_q;
logic takes, gives;
assign first = said[result_q];
assign last_said = said[issued_q - 2'd1];
assign takes = way_taken;
assign gives = unit_valid_i && unit_ready_o;
always_ff @(posedge clk_i) begin
  if (issue_i) begin
    said[issued_q] <= {ends_i, empty_i, lanes_i, addr_i, piece_i, turn_i, count_i, finish_i};
    said_adds[issued_q] <= adds_i;
    said_staged[issued_q] <= staged_i;
  end
  if (!rst_ni) begin
    {issued_q, taken_q, result_q, waiting_q, in_unit_q, acc_due_q, stage_due_q} <= '0;
  end else begin
    issued_q <= issued_q + 2'(issue_i);
    taken_q <= taken_q + 2'(takes);
    result_q <= result_q + 2'(gives);
    waiting_q <= waiting_q + 3'(issue_i) - 3'(takes);
    in_unit_q <= in_unit_q + 3'(takes) - 3'(gives);
    acc_due_q <= acc_due_q + 3'(acc_req_tvalid_o && acc_req_tready_i) - 3'(acc_tvalid_i && acc_tready_o);
    stage_due_q <= stage_due_q + 3'(stage_req_tvalid_o && stage_req_tready_i)
                   - 3'(stage_tvalid_i && stage_tready_o);
  end
end

// Streams, as AXI4-Stream has them.
mt_stream_check #(.Width(AddrW)) u_check_acc_req (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(acc_req_tvalid_o), .ready_i(acc_req_tready_i),
  .data_i(acc_req_tdata_o));
mt_stream_check #(.Width(StageW)) u_check_stage_req (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(stage_req_tvalid_o), .ready_i(stage_req_tready_i),
  .data_i(stage_req_tdata_o));
mt_stream_check #(.Width(AddrW)) u_check_res (
  .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(res_tvalid_o), .ready_i(res_tready_i),
  .data_i(res_taddr_o));

// What is asked is what was issued: the last word's, now or later.
`MT_ASSERT(AsksItsAddress, !acc_req_tvalid_o ||
    acc_req_tdata_o == (issue_i && adds_i ? addr_i : last_said.addr))
`MT_ASSERT(AsksBeside, !stage_req_tvalid_o || stage_req_tdata_o ==
    (issue_i && staged_i ? {mt_pkg::CountW'(turn_i), addr_i}
                         : {mt_pkg::CountW'(last_said.turn), last_said.addr}))
`MT_ASSERT(AsksAtOnce, !issue_i || (acc_req_tvalid_o == adds_i && stage_req_tvalid_o == staged_i))
// Each word that is issued is given to the unit once, in order, with all that belongs to it.
`MT_ASSERT(OrderOfWords, !way_valid || (adds == said_adds[taken_q] && staged == said_staged[taken_q]))
`MT_ASSERT(TakesWithOperands, !takes || ((!adds || acc_tvalid_i) && (!staged || stage_tvalid_i)))
`MT_ASSERT(SumOfBoth, !unit_valid_o || (unit_copy_o == !said_adds[taken_q] &&
    (unit_copy_o || unit_a_o == acc_tdata_i) &&
    unit_b_o == (said_staged[taken_q] ? stage_tdata_i : way_data)))
`MT_ASSERT(AnswerIsTakenWithIt, (acc_tvalid_i && acc_tready_o) == (takes && said_adds[taken_q]) &&
    (stage_tvalid_i && stage_tready_o) == (takes && said_staged[taken_q]))
// Its result is written where it belongs, and counted once.
`MT_ASSERT(WrittenInPlace, !res_tvalid_o || (res_taddr_o == first.addr &&
    !first.empty && res_tdata_o == unit_result_i))
`MT_ASSERT(LastIsTaken, taken_o == (unit_valid_i && !halt_i && first.ends &&
    (first.empty || res_tready_i)))
`MT_ASSERT(TakenIsIts, !taken_o || taken_piece_o == first.piece)
`MT_ASSERT(NothingAfterHalt, !halt_i || !unit_valid_o && !taken_o)
`MT_ASSERT_NEXT(WroteIsWritten, res_tvalid_o && res_tready_i && !halt_i && !clear_i,
    wrote_valid_o && wrote_count_o == $past(first.count))
`MT_ASSERT(KeepsAllButLast, !res_tvalid_o || first.ends || res_tkeep_o == '1)
`MT_ASSERT(KeepsElements, !res_tvalid_o || !first.ends ||
    res_tkeep_o == ~({mt_pkg::KeepW {1'b1}} << ((8'(first.lanes) + 8'd1) << (wide_i ? 2 : 1)))
    || (wide_i && first.lanes[mt_pkg::LanesW-1]))

// Places hold what was said, as many as wait and are in the unit.
logic [Most-1:0] kept;
logic [2:0] held;
assign held = waiting_q + in_unit_q;
always_comb begin
  kept = '1;
  for (int unsigned k = 0; k < Most; k++) begin
    // Issued, and its result has not gone.
    if (3'(2'(k) - result_q) < held) kept[k] = words[k*WordW +: WordW] == said[k];
  end
end
`MT_ASSERT(PlacesHold, kept == '1)
`MT_ASSERT(Counts, issue_q == PlaceW'(issued_q) && done_q == PlaceW'(result_q) &&
    waiting_q <= 3'd2 && 32'(in_unit_q) <= Latency && 3'(unused_level) == waiting_q &&
    2'(taken_q + waiting_q[1:0]) == issued_q && 2'(result_q + in_unit_q[1:0]) == taken_q)

`MT_COVER(WaitsForBoth, $past(acc_req_tvalid_o && !acc_req_tready_i) &&
    $past(stage_req_tvalid_o && stage_req_tready_i) && res_tvalid_o && first.ends)
