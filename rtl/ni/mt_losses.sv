// SPDX-License-Identifier: BSD-3-Clause
// Sums without contributions that are late, docs/nic-spec.md "Losses within bounds": counts what partial
// sums hold, says at the deadline whether the rank's own contribution is there, and, once the roll call
// has come back, whether the sum goes on without it. Group 0 is the roll call, group 1 the sum.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_losses #(
  parameter int unsigned NumPorts = 4,
  // Pieces of both: 2^PieceW. Width of groups.
  parameter int unsigned PieceW = 10,
  parameter int unsigned GroupW = 1,
  // Width of the deadline.
  parameter int unsigned DeadlineW = 24,
  localparam int unsigned P = NumPorts,
  localparam int unsigned W = mt_pkg::SrcW
) (
  input  logic clk_i,
  input  logic rst_ni,

  // 0: nobody is late. Cycles from the start to the deadline; contributions that there must be.
  input  logic                 losses_i,
  input  logic [DeadlineW-1:0] deadline_i,
  input  logic [W-1:0]         least_i,
  // A new run; the counts of one piece are set to 0; it starts with the next cycle; it runs.
  input  logic                 arm_i,
  input  logic                 arming_i,
  input  logic [PieceW-1:0]    clear_piece_i,
  input  logic                 starting_i,
  input  logic                 running_i,
  // The doorbell of the sum: the rank's own contribution is there. The host holds the sum for it.
  input  logic                 rung_i,
  input  logic                 hold_i,

  // Headers that come to receive ports, each of a message: what its sum holds.
  input  logic [P-1:0]                 came_i,
  input  logic [P-1:0]                 came_gather_i,
  input  logic [P*(GroupW+PieceW)-1:0] came_place_i,
  input  logic [P*W-1:0]               came_count_i,
  // Entries at hand, whether each is begun, and what a message of it would hold.
  input  logic [P-1:0]        begun_i,
  input  logic [P-1:0]        tx_gather_i,
  input  logic [P*GroupW-1:0] tx_group_i,
  input  logic [P*PieceW-1:0] tx_piece_i,
  output logic [P*W-1:0]      tx_count_o,

  // The rank can answer the roll call. It was not there at the deadline, and whether the sum goes on
  // without it is not known. It does.
  output logic         settled_o,
  output logic         undecided_o,
  output logic         absent_o,
  // It was not there at the deadline; it came when the sum went on without it; contributions that
  // the roll call has found, 0 before.
  output logic         late_o,
  output logic         discarded_o,
  output logic [W-1:0] count_o
);

  localparam int unsigned PlaceW = GroupW + PieceW;
  localparam int unsigned Num = 1 << PieceW;
  localparam logic [GroupW-1:0] Call = '0;

  // ---- The deadline: one cycle, the first one being 0.
  logic [DeadlineW-1:0] left_q;
  logic passed_q, held_q, expires;
  assign expires = losses_i && running_i && left_q == '0 && !passed_q;
  always_ff @(posedge clk_i) begin
    if (starting_i) left_q <= deadline_i;
    else if (running_i && left_q != '0) left_q <= ~(~left_q + DeadlineW'(1));  // cheaper than - 1
    if (!rst_ni || arm_i) begin
      passed_q <= 1'b0;
      held_q <= 1'b0;
    end else begin
      if (expires) passed_q <= 1'b1;
      if (hold_i && !late_o) held_q <= 1'b1;
    end
  end

  // ---- Contributions to the piece of each message that has come. A result's count is the root's.
  logic [W-1:0] sum_q [Num];
  logic [Num-1:0] result_q;
  logic [P*W-1:0] next_sum;
  always_comb begin
    next_sum = '0;
    if (`MT_WORK(came_i != '0)) begin
      for (int unsigned p = 0; p < P; p++) begin
        next_sum[p*W +: W] = sum_q[came_place_i[p*PlaceW +: PieceW]];
        for (int unsigned q = 0; q <= p; q++) begin
          if (came_i[q] && came_place_i[q*PlaceW +: PieceW] == came_place_i[p*PlaceW +: PieceW]) begin
            next_sum[p*W +: W] += came_count_i[q*W +: W];
          end
        end
        if (came_gather_i[p]) next_sum[p*W +: W] = came_count_i[p*W +: W];
      end
    end
  end
  // The last of several writes to one piece counts, and it has the sum of all.
  always_ff @(posedge clk_i) begin
    if (arming_i) begin
      sum_q[clear_piece_i] <= '0;
      result_q[clear_piece_i] <= 1'b0;
    end else begin
      for (int unsigned p = 0; p < P; p++) begin
        if (came_i[p]) sum_q[came_place_i[p*PlaceW +: PieceW]] <= next_sum[p*W +: W];
        if (came_i[p] && came_gather_i[p]) result_q[came_place_i[p*PlaceW +: PieceW]] <= 1'b1;
      end
    end
  end
  logic [P-1:0] own;  // with the rank's own contribution
  for (genvar p = 0; p < P; p++) begin : gen_port
    logic [PieceW-1:0] piece;
    assign piece = tx_piece_i[p*PieceW +: PieceW];
    assign own[p] = !result_q[piece] && !(tx_group_i[p*GroupW +: GroupW] == Call ? late_o : absent_o);
    assign tx_count_o[p*W +: W] = sum_q[piece] + W'(own[p]);
  end

  // ---- What the roll call has found: its result comes, or, at the root, leaves.
  logic known, known_q, goes;
  logic [W-1:0] found;
  always_comb begin
    known = 1'b0;
    found = '0;
    for (int unsigned p = 0; p < P; p++) begin
      if (losses_i && came_i[p] && came_gather_i[p]
          && came_place_i[p*PlaceW + PieceW +: GroupW] == Call) begin
        known = 1'b1;
        found = came_count_i[p*W +: W];
      end
      if (losses_i && begun_i[p] && tx_gather_i[p] && tx_group_i[p*GroupW +: GroupW] == Call) begin
        known = 1'b1;
        found = tx_count_o[p*W +: W];
      end
    end
  end
  assign goes = found >= least_i;
  assign settled_o = !losses_i || rung_i || late_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || arm_i) begin
      late_o <= 1'b0;
      undecided_o <= 1'b0;
      absent_o <= 1'b0;
      discarded_o <= 1'b0;
      count_o <= '0;
      known_q <= 1'b0;
    end else begin
      if (expires && !rung_i && !held_q && !hold_i) begin
        late_o <= 1'b1;
        undecided_o <= 1'b1;
      end else if (known) begin
        undecided_o <= 1'b0;
        if (undecided_o && goes) absent_o <= 1'b1;
      end
      if (known) count_o <= found;
      if (known) known_q <= 1'b1;
      if (absent_o && rung_i) discarded_o <= 1'b1;
    end
  end

  // ---- The budget holds: no result has fewer contributions than there must be, and once the roll call has
  // found enough, all have just those.
  // What ranks send each other is what keeps it, so here it is a promise.
`ifndef SYNTHESIS
  logic [P-1:0] right;
  for (genvar p = 0; p < P; p++) begin : gen_check
    logic [W-1:0] count;
    assign count = came_count_i[p*W +: W];
    assign right[p] = !losses_i || !came_i[p] || !came_gather_i[p]
                      || came_place_i[p*PlaceW + PieceW +: GroupW] == Call
                      || (count >= least_i && (!known_q || count_o < least_i || count == count_o));
  end
  `MT_ASSUME(BudgetHolds, right == '1)
  `MT_ASSUME(OneResult, !known || !known_q || found == count_o)
`endif
  `MT_ASSERT(AbsentWasLate, !absent_o || (late_o && known_q && count_o >= least_i))
  `MT_ASSERT(DecidedOnce, !(absent_o && undecided_o))
  `MT_ASSERT_NEXT(InTimeCounts, expires && rung_i, !late_o)

endmodule
