// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv prim/mt_onehot.sv prim/mt_prio_enc.sv prim/mt_rr_arb.sv prim/mt_lru_arb.sv prim/mt_credit.sv prim/mt_sram.sv router/mt_rt_input.sv router/mt_rt_output.sv router/mt_router.sv
// prove: NumLinks=2 NumLocal=1
// prove: NumLinks=2 NumLocal=2 DirectPorts=1
// prove: NumLinks=3 NumLocal=0
// bounded: 7
// cover: 8
`include "mt_assert.svh"

// A whole router: senders that keep to their credits and send whole worms in any order, with any pauses, on
// routes to any output; neighbours that give credits back whenever they like, and interfaces that take
// flits whenever they like. Each flit leaves once, in its turn, where its route says, and no neighbour ever
// has more flits than places.
module router_flits #(
  parameter int unsigned NumLinks = 2,
  parameter int unsigned NumLocal = 1,
  parameter int unsigned DirectPorts = 0,
  localparam int unsigned P = NumLinks + NumLocal,
  localparam int unsigned L = NumLocal > 0 ? NumLocal : 1,
  localparam int unsigned NumVc = 2,
  localparam int unsigned Depth = 2,
  localparam int unsigned CreditW = 2,
  localparam int unsigned F = mt_pkg::FlitW
) (
  input logic clk_i,
  input logic rst_ni,
  // What senders would like to send: on which channel, the last of a worm, which way.
  input logic [P-1:0] go_i,
  input logic [P-1:0] vc_i,
  input logic [P-1:0] tail_i,
  input logic [P*2-1:0] port_i,
  input logic [P*2-1:0] mask_i,
  input logic [P*2-1:0] next_i,  // of the hop behind it
  // Credits of neighbours, and who takes flits.
  input logic [NumLinks-1:0] give_i,
  input logic [NumLinks-1:0] give_vc_i,
  input logic [L-1:0] ready_i,
  input logic pick_i
);

  // Where in the data of a flit is what. The router changes the route only, and only that of heads.
  localparam int unsigned Tag = 27;   // it is followed
  localparam int unsigned Src = 28;   // its input, and the channel on which it came
  localparam int unsigned Way = 31;   // output and channels of its first hop
  localparam int unsigned Next = 35;  // the next hop
  localparam int unsigned Tail = mt_pkg::DataW + mt_pkg::ParityW, Head = Tail + 1;

  initial assume (!rst_ni);

  logic loaded_q;
  logic [P*NumVc*2-1:0] inside_q;  // flits that senders have no credit for, by input and channel
  logic [P*NumVc-1:0] in_worm_q;
  logic [P-1:0] valid, head, credit_valid, credit_vc, out_valid, out_vc;
  logic [P*F-1:0] flit, out_flit;
  logic [NumLinks-1:0] credit, over;
  logic [NumLinks*NumVc*CreditW-1:0] beyond_q;  // flits at neighbours, by output and channel
  (* anyconst *) logic [CreditW-1:0] places;
  always @(posedge clk_i) assume (places != '0);

  mt_router #(
    .NumLinks(NumLinks), .NumLocal(NumLocal), .NumVc(NumVc), .Depth(Depth), .CreditW(CreditW),
    .DirectPorts(DirectPorts)
  ) u_router (
    .clk_i(clk_i), .rst_ni(rst_ni), .load_i(!loaded_q), .places_i(places), .valid_i(valid), .vc_i(vc_i),
    .flit_i(flit), .credit_valid_o(credit_valid), .credit_vc_o(credit_vc), .valid_o(out_valid), .vc_o(out_vc),
    .flit_o(out_flit), .credit_valid_i(credit), .credit_vc_i(give_vc_i),
    .link_ready_i({NumLinks{1'b1}}), .ready_i(ready_i), .credit_over_o(over));

  // Any flit is followed: `ahead_q` of its channel leave before it.
  (* anyconst *) logic [1:0] which;
  (* anyconst *) logic which_vc;
  always @(posedge clk_i) assume (32'(which) < P);
  logic picks, picked_q, gone_q, its_credit;
  logic [1:0] ahead_q;
  assign picks = pick_i && !picked_q && valid[which] && vc_i[which] == which_vc;
  assign its_credit = credit_valid[which] && credit_vc[which] == which_vc;

  // Senders.
  for (genvar i = 0; i < P; i++) begin : gen_sender
    logic [1:0] way, on;
    // With direct ports an interface has no other way than its link, and nobody else has one to it.
    if (DirectPorts != 0 && i >= NumLinks) assign way = 2'(i - NumLinks);
    else if (DirectPorts != 0) assign way = 32'(port_i[i*2 +: 2]) < NumLinks ? port_i[i*2 +: 2] : 2'(NumLinks + i);
    else assign way = 32'(port_i[i*2 +: 2]) < P ? port_i[i*2 +: 2] : 2'd0;
    assign on = mask_i[i*2 +: 2] == '0 ? 2'd1 : mask_i[i*2 +: 2];
    assign valid[i] = go_i[i] && loaded_q && 32'(inside_q[(i*NumVc + 32'(vc_i[i]))*2 +: 2]) != Depth;
    assign head[i] = !in_worm_q[i*NumVc + 32'(vc_i[i])];
    always_comb begin
      flit[i*F +: F] = '0;
      flit[i*F + Head] = head[i];
      flit[i*F + Tail] = tail_i[i];
      flit[i*F +: 2] = way;
      flit[i*F + mt_pkg::HopPortW +: 2] = on;
      flit[i*F + mt_pkg::HopW +: 2] = next_i[i*2 +: 2];
      flit[i*F + Tag] = picks && 32'(which) == i;
      flit[i*F + Src +: 3] = {2'(i), vc_i[i]};
      flit[i*F + Way +: 4] = {on, way};
      flit[i*F + Next +: 2] = next_i[i*2 +: 2];
    end
    for (genvar v = 0; v < NumVc; v++) begin : gen_channel
      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          in_worm_q[i*NumVc + v] <= 1'b0;
          inside_q[(i*NumVc + v)*2 +: 2] <= '0;
        end else begin
          if (valid[i] && 32'(vc_i[i]) == v) in_worm_q[i*NumVc + v] <= !tail_i[i];
          inside_q[(i*NumVc + v)*2 +: 2] <= inside_q[(i*NumVc + v)*2 +: 2] + 2'(valid[i] && 32'(vc_i[i]) == v)
                                            - 2'(credit_valid[i] && 32'(credit_vc[i]) == v);
        end
      end
    end
  end

  // Neighbours.
  for (genvar o = 0; o < NumLinks; o++) begin : gen_neighbour
    assign credit[o] = give_i[o] && beyond_q[(o*NumVc + 32'(give_vc_i[o]))*CreditW +: CreditW] != '0;
    for (genvar v = 0; v < NumVc; v++) begin : gen_channel
      always_ff @(posedge clk_i) begin
        if (!rst_ni) beyond_q[(o*NumVc + v)*CreditW +: CreditW] <= '0;
        else beyond_q[(o*NumVc + v)*CreditW +: CreditW] <= beyond_q[(o*NumVc + v)*CreditW +: CreditW]
            + CreditW'(out_valid[o] && 32'(out_vc[o]) == v) - CreditW'(credit[o] && 32'(give_vc_i[o]) == v);
      end
    end
  end

  // What comes out, of what is followed and in all.
  logic [P-1:0] followed;
  logic [4:0] inside, level_q, comes, leaves;
  logic credits_are_right;
  always_comb begin
    {inside, comes, leaves} = '0;
    credits_are_right = 1'b1;
    for (int unsigned i = 0; i < P; i++) begin
      followed[i] = out_valid[i] && out_flit[i*F + Tag];
      comes = comes + 5'(valid[i]);
      leaves = leaves + 5'(out_valid[i]);
      if (credit_valid[i] && inside_q[(i*NumVc + 32'(credit_vc[i]))*2 +: 2] == '0) credits_are_right = 1'b0;
    end
    for (int unsigned c = 0; c < P*NumVc; c++) inside = inside + 5'(inside_q[c*2 +: 2]);
  end
  always_ff @(posedge clk_i) begin
    loaded_q <= rst_ni;
    if (!rst_ni) begin
      {picked_q, gone_q} <= '0;
      level_q <= '0;
    end else begin
      level_q <= level_q + comes - leaves;
      if (picks) picked_q <= 1'b1;
      if (picks) ahead_q <= inside_q[(32'(which)*NumVc + 32'(which_vc))*2 +: 2] - 2'(its_credit);
      else if (its_credit) ahead_q <= ahead_q - 1'b1;
      if (followed != '0) gone_q <= 1'b1;
    end
  end

  // Each flit leaves once, when all that came before it on its channel have left, and its place is free then.
  `MT_ASSERT(LeavesInTurn, (followed != '0) == (picked_q && !gone_q && its_credit && ahead_q == '0))
  `MT_ASSERT(LeavesOnce, (followed & (followed - P'(1))) == '0)
  `MT_ASSERT(NoneMadeNoneLost, level_q == inside)
  `MT_ASSERT(CreditForWhatCame, credits_are_right)

  // A flit that is there alone, with no worm but its own under way and all places free, leaves.
  logic [P*NumVc-1:0] occupied;
  for (genvar c = 0; c < P*NumVc; c++) begin : gen_occupied
    assign occupied[c] = inside_q[c*2 +: 2] != '0;
  end
  `MT_ASSERT_NEXT(GoesOnAlone, level_q == 5'd1 && comes == '0 && out_valid == '0 && beyond_q == '0 &&
                  ready_i == '1 && (in_worm_q & ~occupied) == '0, out_valid != '0)

  // At any output, on any channel: worms one after the other, each of one input, each flit as it came.
  (* anyconst *) logic [1:0] at;
  (* anyconst *) logic at_vc;
  always @(posedge clk_i) assume (32'(at) < P);
  logic [F-1:0] seen;
  logic sees, holds_q;
  logic [2:0] source_q;
  assign seen = out_flit[32'(at)*F +: F];
  assign sees = out_valid[at] && out_vc[at] == at_vc;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) holds_q <= 1'b0;
    else if (sees) holds_q <= !seen[Tail];
    if (sees) source_q <= seen[Src +: 3];
  end
  `MT_ASSERT(WormsWhole, !sees || seen[Head] == !holds_q)
  `MT_ASSERT(WormOfOneInput, !sees || !holds_q || seen[Src +: 3] == source_q)
  `MT_ASSERT(WhereItsRouteSays, !sees || !seen[Head] || (seen[Way +: 2] == at && seen[Way + 2 + 32'(at_vc)]))
  `MT_ASSERT(HeadWithoutItsHop, !sees || !seen[Head] ||
             (seen[1:0] == seen[Next +: 2] && seen[mt_pkg::ShortRouteW-1:2] == '0))
  `MT_ASSERT(RestAsItCame, !sees || seen[Head] || (seen[1:0] == seen[Way +: 2] &&
             seen[mt_pkg::HopPortW +: 2] == seen[Way + 2 +: 2] && seen[mt_pkg::HopW +: 2] == seen[Next +: 2]))

  // Credits of neighbours are never over-spent, and an interface that takes none gets none.
  logic [NumLinks-1:0] has_place;
  for (genvar o = 0; o < NumLinks; o++) begin : gen_place
    assign has_place[o] = !out_valid[o] || beyond_q[(o*NumVc + 32'(out_vc[o]))*CreditW +: CreditW] < places;
  end
  `MT_ASSERT(NeverMoreThanPlaces, has_place == '1)
  `MT_ASSERT(NoneOver, over == '0)
  if (NumLocal > 0) begin : gen_local
    `MT_ASSERT_NEXT(TakesWhenReady, 1'b1, (out_valid[P-1:NumLinks] & ~$past(ready_i)) == '0)
  end

  // What is there to be seen: a worm of three flits behind another, through an output with one place.
  logic waits_q;
  always_ff @(posedge clk_i) waits_q <= rst_ni && (waits_q || (picks && ahead_q == 2'd0 && !head[which]));
  `MT_COVER(Behind, followed != '0 && !seen[Head] && sees && seen[Tag] && waits_q && places == 2'd1)
endmodule
