// SPDX-License-Identifier: BSD-3-Clause
// prove: Width=2

// A queue of two words, whatever its two sides do. count_q: words that went in and not yet out.
logic into, outof;
logic [1:0] count_q;

assign into = in_valid_i && in_ready_o;
assign outof = out_valid_o && out_ready_i;

always_ff @(posedge clk_i) begin
  if (!rst_ni) count_q <= '0;
  else count_q <= count_q + 2'(into) - 2'(outof);
end

`MT_ASSERT(CountIsRegisters, count_q == 2'(valid_q) + 2'(!ready_q))
`MT_ASSERT(NoOverflow, !into || count_q < 2)
`MT_ASSERT(NoUnderflow, !outof || count_q != '0)

// One word per cycle: a word is at the output one cycle later at the latest once the output moves,
// and a moving output never stalls the input.
`MT_ASSERT_NEXT(ValidFollows, into, out_valid_o)
`MT_ASSERT_NEXT(ReadyFollows, out_ready_i, in_ready_o)

// Any one word, followed from when it enters.
(* anyseq *) logic pick;
logic follow_q, second_q;
logic [Width-1:0] word_q;

always_ff @(posedge clk_i) begin
  if (!rst_ni) follow_q <= 1'b0;
  else if (follow_q) begin
    if (outof) second_q <= 1'b0;
    if (outof && !second_q) follow_q <= 1'b0;
  end else if (pick && into) begin
    follow_q <= 1'b1;
    second_q <= count_q != 2'(outof);
    word_q <= in_data_i;
  end
end

`MT_ASSERT(WordInside, !follow_q || (second_q ? count_q == 2 : count_q != '0))
`MT_ASSERT(WordStored, !follow_q || (second_q ? skid_q : out_q) == word_q)
`MT_ASSERT(WordComesOut, !(follow_q && outof && !second_q) || out_data_o == word_q)

`MT_COVER(Full, count_q == 2 && follow_q && second_q)
`MT_COVER(Drained, count_q == 1 && outof && !into && follow_q)
