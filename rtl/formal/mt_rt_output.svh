// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv prim/mt_onehot.sv prim/mt_prio_enc.sv prim/mt_rr_arb.sv prim/mt_credit.sv
// prove: NumPorts=3 NumVc=2 CreditW=2 Ejection=0
// prove: NumPorts=5 NumVc=4 CreditW=3 Ejection=0
// prove: NumPorts=3 NumVc=2 CreditW=2 Ejection=1
// steps: 3
// cover: 12

// Any virtual channel and any input; who holds the channel, by what has left.
(* anyconst *) logic [VcW-1:0] which;
(* anyconst *) logic [IdxW-1:0] input_a;
logic held_q, moves_which;
logic [IdxW-1:0] holder_q;
assign moves_which = valid_o && vc_o == which;
always_ff @(posedge clk_i) begin
  if (!rst_ni) held_q <= 1'b0;
  else if (moves_which) held_q <= !req_tail_i[gnt_idx_o];
  if (moves_which) holder_q <= gnt_idx_o;
end
always @(posedge clk_i) assume (32'(input_a) < NumPorts);

// What inputs promise: they ask where there is a place, and for a channel that is held only if it
// is theirs (mt_rt_input.svh). Credits come back for what was sent; places stay.
logic [NumPorts-1:0] asks_rightly, asks_which;
for (genvar p = 0; p < NumPorts; p++) begin : gen_promise
  assign asks_which[p] = req_i[p] && req_vc_i[p*VcW +: VcW] == which;
  assign asks_rightly[p] = !req_i[p] || (has_o[req_vc_i[p*VcW +: VcW]] &&
      !(asks_which[p] && held_q && IdxW'(p) != holder_q));
end
`MT_ASSUME(AsksRightly, asks_rightly == '1)
logic known_q;
logic [CreditW-1:0] places_q, out_q, out;
logic loaded_q;
always_ff @(posedge clk_i) begin
  known_q <= rst_ni;
  places_q <= places_i;
  if (!rst_ni) begin
    out_q <= '0;
    loaded_q <= 1'b0;
  end else begin
    out_q <= out + CreditW'(moves_which);
    if (load_i) loaded_q <= 1'b1;
  end
end
assign out = out_q - CreditW'(credit_valid_i && credit_vc_i == which);
`MT_ASSUME(PlacesStay, !known_q || load_i || places_i == places_q)
`MT_ASSUME(LoadsBefore, !load_i || (req_i == '0 && out_q == '0 && !credit_valid_i))
`MT_ASSUME(CreditsForFlits, !credit_valid_i || credit_vc_i != which || out_q != '0)
`MT_ASSUME(CreditsForOthers, !credit_valid_i || credit_vc_i == which || !credit_over_o)

// One input sends, one that asked; nobody if none asks.
`MT_ASSERT(MovesWhenAsked, valid_o == (req_i != '0) && valid_o == (gnt_o != '0))
`MT_ASSERT(GrantOnRequest, !gnt_o[input_a] || req_i[input_a])
`MT_ASSERT(OneSends, !gnt_o[input_a] || (gnt_idx_o == input_a && gnt_o == NumPorts'(1) << input_a))
`MT_ASSERT(ItsChannel, !gnt_o[input_a] || vc_o == req_vc_i[input_a*VcW +: VcW])
// From head to tail a channel is one worm's.
`MT_ASSERT(HeldIsNotFree, free_o[which] == !held_q)
`MT_ASSERT(HeldByOne, !moves_which || !held_q || gnt_idx_o == holder_q)
// Inputs take turns (mt_rr_arb.svh, if it is told what moves): not twice while others ask.
`MT_ASSERT_NEXT(TakesTurns, gnt_o[input_a], !gnt_o[input_a] || req_i == NumPorts'(1) << input_a)

// Places.
if (Ejection != 0) begin : gen_ready
  `MT_ASSERT(HasIsReady, has_o == (ready_i ? '1 : '0) && empty_o == has_o && !credit_over_o)
end else begin : gen_places
  logic [NumVc-1:0] in_range;
  for (genvar v = 0; v < NumVc; v++) begin : gen_range
    assign in_range[v] = gen_link.empty[v]
        ? gen_link.unused_available[v*CreditW +: CreditW] == (loaded_q ? places_i : '0)
        : loaded_q && gen_link.unused_available[v*CreditW +: CreditW] < places_i;
  end
  `MT_ASSERT(NeverMoreThanPlaces, load_i || in_range == '1)
  `MT_ASSERT(HasIsPlace, load_i || has_o[which] == (ready_i && loaded_q && out < places_i))
  `MT_ASSERT(EmptyIsNoneOut, load_i || empty_o[which] == (ready_i && out == '0))
  logic [NumVc*CreditW-1:0] available;
  for (genvar v = 0; v < NumVc; v++) begin : gen_available
    assign available[v*CreditW +: CreditW] = gen_link.unused_available[v*CreditW +: CreditW];
  end
  `MT_ASSERT(Conserved, load_i || 32'(available[which*CreditW +: CreditW]) + 32'(out) ==
                                  (loaded_q ? 32'(places_i) : 0))
  `MT_ASSERT(EmptyHasPlaces, load_i || !loaded_q || places_i == '0 || !empty_o[which] || has_o[which])
  `MT_ASSERT(NotBeyondPlaces, !moves_which || out < places_i)
  `MT_ASSERT(NoneOver, !credit_over_o)
  `MT_COVER(AllPlacesUsed, out_q == places_i && places_i == '1 && held_q)
end
