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
logic known_q;
logic [CntW-1:0] under_way_q;
logic back;

assign back = give_i && under_way_q != '0;

always_ff @(posedge clk_i) begin
  if (!rst_ni) begin
    known_q <= 1'b0;
    under_way_q <= '0;
  end else if (load_i) begin
    known_q <= 1'b1;
    under_way_q <= '0;
  end else begin
    under_way_q <= under_way_q + CntW'(take_i) - CntW'(back);
  end
end

// None is lost, none is made.
`MT_ASSERT(Conserved, out_q == under_way_q)
`MT_ASSERT(Loaded, loaded_q == known_q)
`MT_ASSERT(NoneUnderWayBeforeLoad, loaded_q || out_q == '0)
`MT_ASSERT(NoneBeforeLoad, known_q || (available_o == '0 && !has_o))
`MT_ASSERT(Available, load_i || !known_q || available_o == initial_i - under_way_q + CntW'(back))
`MT_ASSERT(NeverMore, load_i || available_o <= initial_i)
`MT_ASSERT(HasIsAvailable, has_o == (available_o != '0))
`MT_ASSERT(FullIsNoneUnderWay, load_i || full_o == (under_way_q == CntW'(back)))
`MT_ASSERT(SurplusIsError, error_o == (give_i && under_way_q == '0))

`MT_COVER(AllUnderWay, known_q && under_way_q == initial_i && initial_i != '0 && !give_i)
`MT_COVER(AllBack, known_q && under_way_q == 1 && give_i && full_o && !load_i)
`MT_COVER(Surplus, known_q && error_o)
