// SPDX-License-Identifier: BSD-3-Clause
// prove: Width=2 Depth=1 Bypass=0
// prove: Width=2 Depth=1 Bypass=1
// prove: Width=2 Depth=3 Bypass=0
// prove: Width=2 Depth=3 Bypass=1
// prove: Width=2 Depth=4 Bypass=0
// prove: Width=2 Depth=4 Bypass=1
// with: prim/mt_sram.sv
// see: words u_mem

logic [Depth*Width-1:0] words;

// What a queue is, whatever its two sides do. count_q: words that went in and not yet out.
logic into, outof, through;
logic [LevelW-1:0] count_q;

assign into = in_valid_i && in_ready_o;
assign outof = out_valid_o && out_ready_i;
assign through = into && outof && count_q == '0;

always_ff @(posedge clk_i) begin
  if (!rst_ni) count_q <= '0;
  else count_q <= count_q + LevelW'(into) - LevelW'(outof);
end

`MT_ASSERT(LevelIsCount, level_o == count_q)
`MT_ASSERT(NoOverflow, !into || count_q < LevelW'(Depth))
`MT_ASSERT(NoUnderflow, !outof || count_q != '0 || (Bypass != 0 && into))
`MT_ASSERT(ReadyUnlessFull, in_ready_o == (count_q < LevelW'(Depth)))
`MT_ASSERT(ValidUnlessEmpty, out_valid_o == (count_q != '0 || (Bypass != 0 && in_valid_i)))

// Any one word, followed from when it enters: `ahead_q` words leave before it.
(* anyseq *) logic pick;
logic follow_q;
logic [LevelW-1:0] ahead_q;
logic [Width-1:0] word_q;
logic [31:0] place;

assign place = 32'(read_q) + 32'(ahead_q);

always_ff @(posedge clk_i) begin
  if (!rst_ni) follow_q <= 1'b0;
  else if (follow_q) begin
    if (outof) ahead_q <= ahead_q - 1'b1;
    if (outof && ahead_q == '0) follow_q <= 1'b0;
  end else if (pick && into && !through) begin
    follow_q <= 1'b1;
    ahead_q <= count_q - LevelW'(outof);
    word_q <= in_data_i;
  end
end

`MT_ASSERT(WordInside, !follow_q || ahead_q < count_q)
`MT_ASSERT(WordStored, !follow_q || words[(place >= Depth ? place - Depth : place)*Width +: Width] == word_q)
`MT_ASSERT(WordComesOut, !(follow_q && outof && ahead_q == '0) || out_data_o == word_q)
`MT_ASSERT(WordPasses, !through || out_data_o == in_data_i)

`MT_COVER(Full, count_q == LevelW'(Depth) && follow_q && ahead_q == LevelW'(Depth - 1))
`MT_COVER(LastLeaves, follow_q && outof && count_q == 1 && write_q == '0)
