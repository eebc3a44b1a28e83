// SPDX-License-Identifier: BSD-3-Clause
// prove: EntryW=3 Depth=3
// prove: EntryW=3 Depth=4
// prove: EntryW=9 Depth=5
// steps: 3
// cover: 14

// What the user promises.
`MT_ASSUME(PopsWhatIsThere, !pop_i || valid_o)

// Entries that were written, and popped since the last rewind; any one of them.
(* anyconst *) logic [PtrW-1:0] which;
logic [PtrW-1:0] count_q, popped_q;
logic [EntryW-1:0] written_entry_q;
always_ff @(posedge clk_i) begin
  if (!rst_ni || clear_i) count_q <= '0;
  else if (write_i && count_q < PtrW'(Depth)) count_q <= count_q + 1'b1;
  if (!rst_ni || clear_i || rewind_i) popped_q <= '0;
  else if (pop_i) popped_q <= popped_q + 1'b1;
  if (write_i && count_q == which && count_q < PtrW'(Depth)) written_entry_q <= entry_i;
end
logic odd;
always_comb begin
  odd = 1'b0;
  for (int unsigned i = 0; i < EntryW; i++) if (entry_o[i]) odd = !odd;
end

// Number `which` is what was written as number `which`: each once, in order, also after a rewind,
// and whatever is written when it is full.
`MT_ASSERT(InOrder, !valid_o || popped_q != which || entry_o == written_entry_q)
`MT_ASSERT(NoMoreThanWritten, !valid_o || popped_q < count_q)
`MT_ASSERT(FullAfterDepth, full_o == (count_q == PtrW'(Depth)))
`MT_ASSERT_NEXT(AtHand, !clear_i && !rewind_i && popped_q + PtrW'(pop_i) < count_q, valid_o)
`MT_ASSERT_NEXT(RewindForgets, rewind_i || clear_i, !valid_o)
`MT_ASSERT(ParityErrorIsOdd, parity_error_o == (valid_o && odd))
// Internal invariants, on which the proofs of the above rest.
`MT_ASSERT(CountIsWritten, count_q == written_q && count_q <= PtrW'(Depth))
`MT_ASSERT(NextIsPopped, next_q == popped_q + PtrW'(valid_o))
`MT_ASSERT(EntryStored, which >= count_q || mem[which[IdxW-1:0]] == written_entry_q)

`MT_COVER(LastAgain, full_o && popped_q == PtrW'(Depth - 1) && which == popped_q && valid_o &&
                     !parity_error_o)
`MT_COVER(Odd, parity_error_o && popped_q == which && which != '0)
