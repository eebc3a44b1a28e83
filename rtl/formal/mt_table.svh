// SPDX-License-Identifier: BSD-3-Clause
// with: prim/mt_onehot.sv prim/mt_prio_enc.sv
// prove: EntryW=3 Depth=3
// prove: EntryW=3 Depth=4
// prove: EntryW=9 Depth=5
// prove: EntryW=4 Depth=4 NumGroups=2
// prove: EntryW=4 Depth=3 NumGroups=4
// steps: 3
// cover: 14
// with: prim/mt_sram.sv
// see: words u_mem

logic [Depth*EntryW-1:0] words;

// What the user promises. Where there are groups: entries are written when none is left to be sent, those
// of a group one behind the other, and a doorbell that was rung stays so.
`MT_ASSUME(PopsWhatIsThere, !pop_i || valid_o)

// Entries of a group that were written, and popped since the last rewind; any one of them.
localparam int unsigned GW = NumGroups > 1 ? $clog2(NumGroups) : 1;
(* anyconst *) logic [PtrW-1:0] which;
(* anyconst *) logic [GW-1:0] whose;
logic [PtrW-1:0] count_q, popped_q;
logic [EntryW-1:0] written_entry_q;
logic writes, pops;  // of that group
always_ff @(posedge clk_i) begin
  if (!rst_ni || clear_i) count_q <= '0;
  else if (writes) count_q <= count_q + 1'b1;
  if (!rst_ni || clear_i || rewind_i) popped_q <= '0;
  else if (pops) popped_q <= popped_q + 1'b1;
  if (writes && count_q == which) written_entry_q <= entry_i;
end
logic odd;
always_comb begin
  odd = 1'b0;
  for (int unsigned i = 0; i < EntryW; i++) if (entry_o[i]) odd = !odd;
end
`MT_ASSERT(ParityErrorIsOdd, parity_error_o == (valid_o && odd))
`MT_COVER(Odd, parity_error_o && popped_q == which && which != '0)

if (NumGroups == 1) begin : gen_proof_of_one
  assign writes = write_i && !full_o;
  assign pops = pop_i;
  // Number `which` is what was written as number `which`: each once, in order, also after a rewind,
  // and whatever is written when it is full.
  `MT_ASSERT(InOrder, !valid_o || popped_q != which || entry_o == written_entry_q)
  `MT_ASSERT(NoMoreThanWritten, !valid_o || popped_q < count_q)
  `MT_ASSERT(FullAfterDepth, full_o == (count_q == PtrW'(Depth)))
  `MT_ASSERT_NEXT(AtHand, !clear_i && !rewind_i && popped_q + PtrW'(pop_i) < count_q, valid_o)
  `MT_ASSERT_NEXT(RewindForgets, rewind_i || clear_i, !valid_o)
  // Internal invariants, on which the proofs of the above rest.
  `MT_ASSERT(CountIsWritten, count_q == written_q && count_q <= PtrW'(Depth))
  `MT_ASSERT(NextIsPopped, gen_one.next_q == popped_q + PtrW'(valid_o))
  `MT_ASSERT(EntryStored, which >= count_q || words[which[IdxW-1:0]*EntryW +: EntryW] == written_entry_q)
  `MT_COVER(LastAgain, full_o && popped_q == PtrW'(Depth - 1) && which == popped_q && valid_o &&
                       !parity_error_o)
end else begin : gen_proof_of_groups
  logic at_hand, may;
  logic [NumGroups-1:0] rung_before_q;
  assign writes = write_i && !full_o && gen_groups.into == whose;
  assign at_hand = valid_o && gen_groups.group_q == whose;
  assign pops = pop_i && at_hand;
  // Its entry may come to hand.
  assign may = rung_i[whose] && gen_groups.left_q[whose] && popped_q + PtrW'(pops) < count_q;
  always_ff @(posedge clk_i) rung_before_q <= !rst_ni || rewind_i ? '0 : rung_i;
  `MT_ASSUME(WritesWhenNoneIsLeft, !write_i || (!left_o && !rewind_i && !clear_i))
  `MT_ASSUME(OneBehindTheOther, !apart_o)
  `MT_ASSUME(RungForGood, (rung_before_q & ~rung_i) == '0)

  // Of each group each entry once, in order, and only once its doorbell was rung.
  `MT_ASSERT(GroupInOrder, !at_hand || popped_q != which || entry_o == written_entry_q)
  `MT_ASSERT(GroupNoMore, !at_hand || popped_q < count_q)
  `MT_ASSERT(GroupRung, !at_hand || rung_before_q[whose])
  `MT_ASSERT_NEXT(GroupRewindForgets, rewind_i || clear_i, !valid_o)
  `MT_ASSERT_NEXT(GroupLeftAfterRewind, rewind_i && !clear_i && count_q != '0, left_o)
  `MT_ASSERT(GroupLeft, !gen_groups.left_q[whose] || (left_o && popped_q < count_q))
  // After another was sent, that of the lowest group comes to hand; while none is, each in turn.
  `MT_ASSERT_NEXT(SomeAtHand, may && !clear_i && !rewind_i, valid_o)
  `MT_ASSERT_NEXT(LowestFirst, may && (pop_i || !valid_o) && !clear_i && !rewind_i,
                  gen_groups.group_q <= whose)
  `MT_ASSERT_NEXT(StaysWhileHeld, valid_o && hold_i && !pop_i && !clear_i && !rewind_i,
                  valid_o && $past(gen_groups.group_q) == gen_groups.group_q && $past(entry_o) == entry_o)
  `MT_ASSERT_NEXT(NonePassed, may && valid_o && !hold_i && !pop_i && !clear_i && !rewind_i,
                  GW'(gen_groups.group_q - $past(gen_groups.group_q) - GW'(1))
                  <= GW'(whose - $past(gen_groups.group_q) - GW'(1)))
  // Internal invariants.
  `MT_ASSERT(GroupHas, gen_groups.has_q[whose] == (count_q != '0))
  `MT_ASSERT(GroupEnds, count_q == '0 || (gen_groups.ends[whose] == gen_groups.begins[whose] + count_q
             && gen_groups.begins[whose] < gen_groups.ends[whose]
             && gen_groups.ends[whose] <= written_q && count_q <= written_q))
  `MT_ASSERT(GroupWritten, written_q <= PtrW'(Depth))
  `MT_ASSERT(GroupStored, which >= count_q ||
             words[IdxW'(gen_groups.begins[whose] + which)*EntryW +: EntryW] == written_entry_q)
  `MT_ASSERT(GroupBegun, gen_groups.begun_q[whose] == (popped_q != '0))
  `MT_ASSERT(GroupNext, popped_q == '0 || gen_groups.nexts[whose] == gen_groups.begins[whose] + popped_q)
  `MT_ASSERT(GroupPopped, popped_q <= count_q && (!gen_groups.left_q[whose] || popped_q < count_q))
  `MT_ASSERT(GroupAtHand, !at_hand || (gen_groups.left_q[whose]
             && gen_groups.number_q == gen_groups.begins[whose] + popped_q
             && gen_groups.last_q == (popped_q + PtrW'(1) == count_q)))
  `MT_ASSERT(GroupReads, !load || gen_groups.group != whose || gen_groups.next < written_q)
  `MT_COVER(TwoGroups, valid_o && gen_groups.group_q != '0 && gen_groups.has_q[0] && popped_q != '0)
end
