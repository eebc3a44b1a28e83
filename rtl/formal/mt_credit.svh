// SPDX-License-Identifier: BSD-3-Clause
// prove: CntW=1
// prove: CntW=3
// prove: CntW=9
// steps: 4
// cover: 5

// What the user promises; credits may come back at any time, also too many.
`MT_ASSUME(TakesWhatIsThere, !take_i || has_o)
`MT_ASSUME(LoadsAlone, !load_i || (!take_i && !give_i))
logic [CntW-1:0] last_q;
always_ff @(posedge clk_i) last_q <= initial_i;
always @(posedge clk_i) begin
  if (!$initstate && !load_i) assume (initial_i == last_q);
end

// Credits under way since the last load.
logic loaded_q;
logic [CntW-1:0] under_way_q;
logic back;

assign back = give_i && under_way_q != '0;

always_ff @(posedge clk_i) begin
  if (!rst_ni) begin
    loaded_q <= 1'b0;
    under_way_q <= '0;
  end else if (load_i) begin
    loaded_q <= 1'b1;
    under_way_q <= '0;
  end else begin
    under_way_q <= under_way_q + CntW'(take_i) - CntW'(back);
  end
end

// None is lost, none is made.
`MT_ASSERT(Conserved, load_i || 32'(count_q) + 32'(under_way_q) == (loaded_q ? 32'(initial_i) : 0))
`MT_ASSERT(NoneBeforeLoad, loaded_q || (available_o == '0 && !has_o))
`MT_ASSERT(Available, load_i || !loaded_q || available_o == initial_i - under_way_q + CntW'(back))
`MT_ASSERT(NeverMore, load_i || available_o <= initial_i)
`MT_ASSERT(HasIsAvailable, has_o == (available_o != '0))
`MT_ASSERT(FullIsNoneUnderWay, load_i || full_o == (under_way_q == CntW'(back)))
`MT_ASSERT(HomeIsNoneUnderWay, load_i || home_q == (under_way_q == '0))
`MT_ASSERT(SurplusIsError, error_o == (give_i && under_way_q == '0))

`MT_COVER(AllUnderWay, loaded_q && under_way_q == initial_i && initial_i != '0 && !give_i)
`MT_COVER(AllBack, loaded_q && under_way_q == 1 && give_i && full_o && !load_i)
`MT_COVER(Surplus, loaded_q && error_o)
