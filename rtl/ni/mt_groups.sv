// SPDX-License-Identifier: BSD-3-Clause
// How far an interface is: messages taken in; and, of several groups, which doorbells have been rung and
// which groups are over. A group that was rung is over when all its messages are sent and taken in, as
// many as it was told.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_groups #(
  parameter int unsigned NumGroups = 2,
  parameter int unsigned NumPorts = 4,
  // Pieces of the collective: 2^PieceW, at least as many as groups. Width of numbers of messages.
  parameter int unsigned PieceW = 10,
  parameter int unsigned TakenW = 16,
  // 1: group 1 may go on without the rank's own contribution.
  parameter int unsigned EnLosses = 0,
  localparam int unsigned GroupW = NumGroups > 1 ? $clog2(NumGroups) : 1,
  localparam int unsigned PlaceW = $clog2(NumGroups) + PieceW,
  localparam int unsigned W = mt_pkg::SrcW
) (
  input  logic clk_i,
  input  logic rst_ni,

  // 0: there are no groups, and nothing waits for a doorbell.
  input  logic grouped_i,
  // Numbers of messages are forgotten, then written, one after the other.
  input  logic              clear_i,
  input  logic              write_i,
  input  logic [TakenW-1:0] messages_i,
  output logic              full_o,
  // No doorbell is rung; then counts are set, one a cycle.
  input  logic              arm_i,
  input  logic              arming_i,
  input  logic [PieceW-1:0] piece_i,

  input  logic [NumGroups-1:0] ring_i,
  output logic [NumGroups-1:0] rung_o,
  // What becomes of contributions that are late, as mt_losses.
  input  logic                 losses_i,
  input  logic [23:0]          deadline_i,
  input  logic [W-1:0]         least_i,
  input  logic                 hold_i,
  input  logic                 starting_i,
  input  logic                 running_i,
  input  logic [NumPorts-1:0]  came_i,
  input  logic [NumPorts-1:0]  came_gather_i,
  input  logic [NumPorts*PlaceW-1:0] came_place_i,
  input  logic [NumPorts*W-1:0] came_count_i,
  input  logic [NumPorts-1:0]  begun_i,
  input  logic [NumPorts-1:0]  tx_gather_i,
  input  logic [NumPorts*PieceW-1:0] tx_piece_i,
  output logic [NumPorts*W-1:0] tx_count_o,
  output logic                 settled_o,
  output logic                 absent_o,
  output logic [W+3:0]         fate_o,
  // Messages that ports have sent and taken in, and of which groups.
  input  logic [NumPorts-1:0]        sent_i,
  input  logic [NumPorts*GroupW-1:0] sent_group_i,
  input  logic [NumPorts-1:0]        taken_i,
  input  logic [NumPorts*GroupW-1:0] taken_group_i,
  output logic [NumGroups-1:0] over_o,
  // A group that was rung is not over; without groups: always.
  output logic                 open_o,
  // Messages taken in since it was armed.
  output logic [TakenW-1:0]    count_o
);

  logic [TakenW-1:0] taken_now;
  always_comb begin
    taken_now = '0;
    for (int unsigned p = 0; p < NumPorts; p++) taken_now += TakenW'(taken_i[p]);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || arm_i) count_o <= '0;
    else if (taken_i != '0) count_o <= count_o + taken_now;
  end

  // Its own contribution is there; whether the sum waits for it is not known.
  logic own_rung, undecided;
  if (EnLosses != 0) begin : gen_losses
    logic late, discarded;
    logic [W-1:0] found;
    assign fate_o = {discarded, absent_o, undecided, late, found};
    mt_losses #(.NumPorts(NumPorts), .PieceW(PieceW), .GroupW(GroupW)) u_losses (
      .clk_i, .rst_ni, .losses_i, .deadline_i, .least_i, .arm_i, .arming_i, .clear_piece_i(piece_i),
      .starting_i, .running_i, .rung_i(own_rung), .hold_i, .came_i, .came_gather_i, .came_place_i,
      .came_count_i, .begun_i, .tx_gather_i, .tx_group_i(sent_group_i), .tx_piece_i, .tx_count_o,
      .settled_o, .undecided_o(undecided), .absent_o, .late_o(late), .discarded_o(discarded),
      .count_o(found));
  end else begin : gen_no_losses
    logic unused_losses;
    assign {undecided, absent_o, fate_o, tx_count_o} = '0;
    assign settled_o = 1'b1;
    assign unused_losses = &{1'b0, own_rung, undecided, losses_i, deadline_i, least_i, hold_i, starting_i,
                             running_i, came_i, came_gather_i, came_place_i, came_count_i, begun_i,
                             tx_gather_i, tx_piece_i};
  end

  if (NumGroups == 1) begin : gen_one
    logic unused;
    assign rung_o = '1;
    assign own_rung = 1'b1;
    assign over_o = '0;
    assign open_o = 1'b1;
    assign full_o = 1'b0;
    assign unused = &{1'b0, grouped_i, clear_i, write_i, messages_i, arming_i, piece_i, ring_i, sent_i,
                      sent_group_i, taken_group_i};
  end else begin : gen_groups
    logic [NumGroups-1:0] rung_q, rung;  // by the host; and with what is made of it
    if (EnLosses != 0) begin : gen_late
      always_comb begin
        rung = rung_q;
        rung[1] = absent_o || (rung_q[1] && !undecided);
      end
    end else begin : gen_all
      assign rung = rung_q;
    end
    assign own_rung = rung_q[1];
    assign rung_o = grouped_i ? rung : '1;
    assign open_o = !grouped_i || (rung & ~over_o) != '0;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || arm_i) rung_q <= '0;
      else rung_q <= rung_q | ring_i;
    end

    logic [TakenW-1:0] messages [NumGroups];
    logic [GroupW:0] written_q;
    assign full_o = written_q == (GroupW + 1)'(NumGroups);
    always_ff @(posedge clk_i) begin
      if (write_i && !full_o) messages[written_q[GroupW-1:0]] <= messages_i;
      if (!rst_ni || clear_i) written_q <= '0;
      else if (write_i && !full_o) written_q <= written_q + (GroupW + 1)'(1);
    end

    // Messages of each group that are not over.
    logic sets;
    logic [NumGroups-1:0] enough;
    assign sets = arming_i && (piece_i >> GroupW) == '0;
    for (genvar g = 0; g < NumGroups; g++) begin : gen_group
      logic [TakenW-1:0] left_q, done;
      always_comb begin
        done = '0;
        if (`MT_WORK((sent_i | taken_i) != '0)) begin
          for (int unsigned p = 0; p < NumPorts; p++) begin
            done += TakenW'(sent_i[p] && sent_group_i[p*GroupW +: GroupW] == GroupW'(g));
            done += TakenW'(taken_i[p] && taken_group_i[p*GroupW +: GroupW] == GroupW'(g));
          end
        end
      end
      always_ff @(posedge clk_i) begin
        if (sets && piece_i[GroupW-1:0] == GroupW'(g)) left_q <= messages[g];
        else left_q <= left_q - done;
      end
      assign over_o[g] = rung[g] && left_q == '0;
      assign enough[g] = arming_i || !grouped_i || done <= left_q;
    end
    `MT_ASSERT(NoMoreThanThereAre, enough == '1)
  end

endmodule
