// SPDX-License-Identifier: BSD-3-Clause
// prove: Width=1
// prove: Width=3
// steps: 3
// cover: 12

// What another clock may see of it in between: any mixture of the bits before and after an edge.
(* anyseq *) logic [Width-1:0] which;
logic [Width-1:0] old_q, mixed;
logic was_q;
assign mixed = (gray_o & which) | (old_q & ~which);
initial was_q = 1'b0;
always_ff @(posedge clk_i) begin
  old_q <= gray_o;
  was_q <= rst_ni;
end
`MT_ASSERT(OldOrNew, !was_q || mixed == gray_o || mixed == old_q)
`MT_ASSERT_NEXT(Counts, 1'b1, value_o == $past(value_o) + Width'($past(count_i)))
`MT_ASSERT(BeginsAtZero, was_q || value_o == '0)
`MT_COVER(Wraps, was_q && value_o == '0 && old_q != '0)
