// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv prim/mt_sram.sv prim/mt_fifo.sv
// prove: NumRanks=3 CreditW=3
// prove: NumRanks=1 CreditW=3
// steps: 5
// cover: 9

// What is promised by the interfaces: they take accesses at once and answer in the next cycle; and by
// the master: a valid stays, with what belongs to it, until it is taken.
logic [NumRanks-1:0] due_w_q, due_r_q;
logic aw_waits_q, w_waits_q, ar_waits_q;
logic [A-1:0] aw_q, ar_q;
logic [35:0] w_q;
always_ff @(posedge clk_i) begin
  due_w_q <= rst_ni ? m_wvalid_o : '0;
  due_r_q <= rst_ni ? m_arvalid_o : '0;
  aw_waits_q <= rst_ni && s_axil_awvalid_i && !s_axil_awready_o;
  w_waits_q <= rst_ni && s_axil_wvalid_i && !s_axil_wready_o;
  ar_waits_q <= rst_ni && s_axil_arvalid_i && !s_axil_arready_o;
  aw_q <= s_axil_awaddr_i;
  ar_q <= s_axil_araddr_i;
  w_q <= {s_axil_wstrb_i, s_axil_wdata_i};
end
`MT_ASSUME(TakesAtOnce, m_wready_i == '1 && m_arready_i == '1)
`MT_ASSUME(AnswersNext, m_bvalid_i == due_w_q && m_rvalid_i == due_r_q)
`MT_ASSUME(AwHolds, !aw_waits_q || (s_axil_awvalid_i && s_axil_awaddr_i == aw_q))
`MT_ASSUME(WHolds, !w_waits_q || (s_axil_wvalid_i && {s_axil_wstrb_i, s_axil_wdata_i} == w_q))
`MT_ASSUME(ArHolds, !ar_waits_q || (s_axil_arvalid_i && s_axil_araddr_i == ar_q))

// Which ranks an address names.
function automatic logic [NumRanks-1:0] named(input logic [A-1:0] address);
  for (int r = 0; r < NumRanks; r++) named[r] = address[A-1] || 32'(address[A-2:12]) == r;
endfunction

// A write: accepted with its data, seen by who is named in the next cycle, answered once.
logic accepts;
assign accepts = s_axil_awvalid_i && s_axil_awready_o;
`MT_ASSERT(Together, accepts == (s_axil_wvalid_i && s_axil_wready_o))
logic accepted_q;
logic [NumRanks-1:0] to_q, to_before_q;
logic [A-1:0] address_q;
logic [35:0] data_q;
always_ff @(posedge clk_i) begin
  accepted_q <= rst_ni && accepts;
  if (accepts) begin
    to_q <= named(s_axil_awaddr_i);
    address_q <= s_axil_awaddr_i;
    data_q <= {s_axil_wstrb_i, s_axil_wdata_i};
  end
  to_before_q <= to_q;
end
`MT_ASSERT(ReachesTheNamed, m_wvalid_o == (accepted_q ? to_q : '0))
`MT_ASSERT(ReachesThemWhole, !accepted_q || (m_awaddr_o == address_q[11:0] &&
    {m_wstrb_o, m_wdata_o} == data_q))
`MT_ASSERT(OpenAreCounted, open_q == 3'(wrote_q) + 3'(answered_w_q) + unused_level && open_q <= 3'(Most))
`MT_ASSERT(AnswerHasPlace, !answered_w_q || unused_ready)
`MT_ASSERT(NoAnswerWithoutWrite, !s_axil_bvalid_o || open_q != '0)
`MT_ASSERT(TakesUnlessFull, !(s_axil_awvalid_i && s_axil_wvalid_i) || open_q == 3'(Most) || accepts)
`MT_ASSERT(AnsweredInTwo, !answered_w_q || s_axil_bvalid_o)
logic [1:0] any_response, any_read_response;
logic [31:0] any_value;
always_comb begin
  any_response = '0;
  any_read_response = '0;
  any_value = '0;
  for (int r = 0; r < NumRanks; r++) begin
    any_response |= due_w_q[r] ? m_bresp_i[2*r +: 2] : 2'b00;
    any_read_response |= due_r_q[r] ? m_rresp_i[2*r +: 2] : 2'b00;
    any_value |= due_r_q[r] ? m_rdata_i[32*r +: 32] : '0;
  end
end
`MT_ASSERT(ResponseOfAny, !answered_w_q || response == (to_before_q == '0 ? 2'b11 : any_response))
`MT_ASSERT(Pipeline, wrote_q == accepted_q && (!wrote_q || nobody_q == (to_q == '0)) &&
    (!answered_w_q || nobody_w_q == (to_before_q == '0)) &&
    due_w_q == (answered_w_q ? to_before_q : '0))
// Places of all switches with a write to all, in whole.
`MT_ASSERT_NEXT(LoadsPlaces, accepts, load_o == (address_q[A-1] && address_q[11:2] == 10'h09 &&
    data_q[35:32] == 4'hf))
`MT_ASSERT(LoadsThem, !load_o || (accepted_q && places_o == data_q[CreditW-1:0]))

// A read: seen by who is named in the next cycle, answered in the third.
logic reads, asked_before_q, asked_twice_q;
logic [NumRanks-1:0] from_q;
logic [11:0] read_address_q;
logic [31:0] value_q;
logic [1:0] value_response_q;
assign reads = s_axil_arvalid_i && s_axil_arready_o;
always_ff @(posedge clk_i) begin
  asked_before_q <= rst_ni && reads;
  asked_twice_q <= rst_ni && asked_before_q;
  if (reads) begin
    from_q <= named(s_axil_araddr_i);
    read_address_q <= s_axil_araddr_i[11:0];
  end
  value_q <= any_value;
  value_response_q <= from_q == '0 ? 2'b11 : any_read_response;
end
`MT_ASSERT(ReadOfTheNamed, m_arvalid_o == (asked_before_q ? from_q : '0) &&
    (!asked_before_q || m_araddr_o == read_address_q))
`MT_ASSERT(ReadPipeline, asked_q == asked_before_q && answered_q == asked_twice_q &&
    !(asked_q && answered_q) && (!(asked_q || answered_q) || read_nobody_q == (from_q == '0)) &&
    due_r_q == (answered_q ? from_q : '0) && (!(asked_q || answered_q) || !s_axil_rvalid_o))
`MT_ASSERT_NEXT(ValueOfAny, answered_q, s_axil_rvalid_o && s_axil_rdata_o == value_q &&
    s_axil_rresp_o == value_response_q)
`MT_ASSERT_NEXT(NoOtherValue, !answered_q && (!s_axil_rvalid_o || s_axil_rready_i), !s_axil_rvalid_o)
`MT_ASSERT(ReadsWhenFree, !s_axil_arvalid_i || asked_q || answered_q || s_axil_rvalid_o || reads)

`MT_COVER(ToNobody, NumRanks == 1 || (s_axil_bvalid_o && s_axil_bresp_o == 2'b11 && open_q == 3'd2))
`MT_COVER(OfAll, s_axil_rvalid_o && s_axil_rresp_o == 2'b00 && s_axil_rdata_o == 32'd7)
