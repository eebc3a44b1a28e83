// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv prim/mt_onehot.sv prim/mt_lru_arb.sv
// prove: NumPorts=2 NumVc=2 Depth=2
// prove: NumPorts=2 LastPort=3 AllPorts=0 NumVc=2 Depth=2
// prove: NumPorts=1 LastPort=1 AllPorts=0 NumVc=2 Depth=2
// steps: 2
// cover: 10
// with: prim/mt_sram.sv
// see: words u_mem

logic [NumVc*Depth*mt_pkg::FlitBits-1:0] words;

// Any virtual channel, and how many of its flits are here.
(* anyconst *) logic [VcW-1:0] which;
logic comes, leaves;
logic [PtrW:0] here_q;
assign comes = valid_i && vc_i == which;
assign leaves = grant_i && vc == which;
always_ff @(posedge clk_i) begin
  if (!rst_ni) here_q <= '0;
  else here_q <= here_q + (PtrW + 1)'(comes) - (PtrW + 1)'(leaves);
end

// What others promise: senders know the places; outputs grant what is asked; worms begin with a
// head.
`MT_ASSUME(PlacesKnown, !valid_i || count_q[vc_i] != (PtrW + 1)'(Depth))
`MT_ASSUME(GrantsOnRequest, !grant_i || req_o)
`MT_ASSUME(WormsWhole, !(grant_i && is_header && !flit.head))
`MT_ASSUME(EmptyHasPlaces, (out_empty_i & ~out_has_i) == '0)  // places are loaded, and not 0
`MT_ASSUME(NothingUnused, flit_i[mt_pkg::FlitW-1:mt_pkg::FlitBits] == '0)

// Any one flit, followed from when it comes: `ahead_q` flits leave before it.
(* anyseq *) logic pick;
logic follow_q;
logic [PtrW:0] ahead_q;
logic [mt_pkg::FlitBits-1:0] kept_q, arriving;
assign arriving = flit_i[mt_pkg::FlitBits-1:0];
logic follows;  // it leaves now
logic [mt_pkg::FlitBits-1:0] followed;
assign follows = leaves && (follow_q ? ahead_q == '0 : comes && here_q == '0);
assign followed = follow_q ? kept_q : arriving;
always_ff @(posedge clk_i) begin
  if (!rst_ni) follow_q <= 1'b0;
  else if (follow_q) begin
    if (leaves && ahead_q == '0) follow_q <= 1'b0;
    if (leaves) ahead_q <= ahead_q - 1'b1;
  end else if (pick && comes && !follows) begin
    follow_q <= 1'b1;
    ahead_q <= here_q - (PtrW + 1)'(leaves);
    kept_q <= arriving;
  end
end
// Worms: where the one went of which the last flit left.
logic moving_q;
logic [PortW-1:0] to_port_q;
logic [VcW-1:0] to_vc_q;
always_ff @(posedge clk_i) begin
  if (!rst_ni) moving_q <= 1'b0;
  else if (leaves) moving_q <= !flit_o[mt_pkg::DataW + 8];
  if (leaves && !moving_q) begin
    to_port_q <= req_port_o;
    to_vc_q <= req_vc_o;
  end
end

// Each leaves once, in order, as it came; but a header without the hop that it has taken. (Its
// parity: the co-simulation and the faults.)
logic [mt_pkg::DataW-1:0] without_hop;
always_comb begin
  without_hop = followed[mt_pkg::DataW-1:0];
  if (followed[mt_pkg::HeaderW - 1]) without_hop[125:0] = {9'd0, followed[125:9]};
  else without_hop[26:0] = {9'd0, followed[26:9]};
end
`MT_ASSERT(DataLeaves, !follows || flit_o[mt_pkg::DataW-1:0] == (moving_q ? followed[mt_pkg::DataW-1:0] : without_hop))
`MT_ASSERT(HeadAndTailLeave, !follows || flit_o[mt_pkg::DataW + 8 +: 2] == followed[mt_pkg::DataW + 8 +: 2])
`MT_ASSERT(NothingFromNothing, !leaves || here_q != '0 || comes)
`MT_ASSERT(NotBeyondPlaces, here_q <= (PtrW + 1)'(Depth))
// A place is free again for each that has left.
`MT_ASSERT_NEXT(CreditForEach, grant_i, credit_valid_o && credit_vc_o == $past(vc))
`MT_ASSERT_NEXT(CreditForNoneElse, !grant_i, !credit_valid_o)

// Where it goes: a header where its route says, on a channel that is free and has a place, an empty
// one if there is one; the rest of the worm behind it.
logic [mt_pkg::HopW-1:0] taken_hop;
assign taken_hop = stored_q[vc] ? words[{vc, rd_q[vc]}*mt_pkg::FlitBits +: mt_pkg::HopW] : flit_i[mt_pkg::HopW-1:0];
logic [31:0] at;
assign at = 32'(req_port_o) * NumVc + 32'(req_vc_o);
logic any_empty;
logic [NumVc-1:0] allowed;
always_comb begin
  any_empty = 1'b0;
  for (int unsigned v = 0; v < NumVc; v++) begin
    allowed[v] = taken_hop[PortW + v] && out_free_i[32'(req_port_o) * NumVc + v] && out_has_i[32'(req_port_o) * NumVc + v];
    if (allowed[v] && out_empty_i[32'(req_port_o) * NumVc + v]) any_empty = 1'b1;
  end
end
`MT_ASSERT(AsksWithPlace, !req_o || out_has_i[at])
// The number of an output among those of the router.
logic [31:0] output_of;
assign output_of = 32'(req_port_o) == NumPorts - 1 ? LastPort : 32'(req_port_o);
`MT_ASSERT(HeaderAsRouted, !req_o || routed_q[vc] || output_of == 32'(taken_hop[PortW-1:0]))
`MT_ASSERT(HeaderToFree, !req_o || routed_q[vc] || (taken_hop[32'(PortW) + 32'(req_vc_o)] && out_free_i[at]))
`MT_ASSERT(HeaderToEmpty, !req_o || routed_q[vc] || !any_empty || out_empty_i[at])
`MT_ASSERT(RestBehindHeader, !req_o || vc != which || !moving_q ||
                             (req_port_o == to_port_q && req_vc_o == to_vc_q))
// What can move asks, or another of this input does.
`MT_ASSERT(AsksWhenItCan, !(moving_q && (here_q != '0 || comes) &&
           out_has_i[32'(to_port_q) * NumVc + 32'(to_vc_q)]) || req_o)
logic [mt_pkg::HopW-1:0] front;
logic front_can, front_has_way;
logic [31:0] front_place;
assign front = here_q != '0 ? words[{which, rd_q[which]}*mt_pkg::FlitBits +: mt_pkg::HopW] : flit_i[mt_pkg::HopW-1:0];
assign front_place = 32'(front[PortW-1:0]) == LastPort ? NumPorts - 1 : 32'(front[PortW-1:0]);
assign front_has_way = 32'(front[PortW-1:0]) == LastPort || front_place + 1 < NumPorts;
always_comb begin
  front_can = 1'b0;
  for (int unsigned v = 0; v < NumVc; v++) begin
    if (front[PortW + v] && front_has_way && out_free_i[front_place * NumVc + v] &&
        out_has_i[front_place * NumVc + v]) front_can = 1'b1;
  end
end
`MT_ASSERT(HeaderAsksWhenItCan, moving_q || !(here_q != '0 || comes) || !front_can || req_o)

// Internal invariants, on which the proofs of the above rest.
logic [NumVc-1:0] in_order;
for (genvar v = 0; v < NumVc; v++) begin : gen_order
  assign in_order[v] = count_q[v] <= (PtrW + 1)'(Depth) && stored_q[v] == (count_q[v] != '0) &&
                       wr_q[v] == rd_q[v] + count_q[v][PtrW-1:0];
end
`MT_ASSERT(Pointers, in_order == '1)
`MT_ASSERT(HereIsCount, here_q == count_q[which])
`MT_ASSERT(MovingIsRouted, moving_q == routed_q[which] &&
                           (!moving_q || (port_q[which] == to_port_q && to_q[which] == to_vc_q)))
`MT_ASSERT(OneIsTheFirst, NumPorts > 1 || !moving_q || to_port_q == '0)
logic [PtrW-1:0] place;
assign place = rd_q[which] + ahead_q[PtrW-1:0];
`MT_ASSERT(FollowedIsStored, !follow_q || (ahead_q < here_q && words[{which, place}*mt_pkg::FlitBits +: mt_pkg::FlitBits] == kept_q))

`MT_COVER(FullAndFollowed, here_q == (PtrW + 1)'(Depth) && follow_q && ahead_q == (PtrW + 1)'(Depth - 1))
`MT_COVER(Through, follows && moving_q && comes && here_q == '0 && flit_o[mt_pkg::DataW + 8])
