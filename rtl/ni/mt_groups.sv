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
  localparam int unsigned GroupW = NumGroups > 1 ? $clog2(NumGroups) : 1
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
  // Group 1 waits, rung or not, or goes on, rung or not. Whether it has been rung.
  input  logic                 undecided_i,
  input  logic                 absent_i,
  output logic                 own_rung_o,
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

  if (NumGroups == 1) begin : gen_one
    logic unused;
    assign rung_o = '1;
    assign own_rung_o = 1'b1;
    assign over_o = '0;
    assign open_o = 1'b1;
    assign full_o = 1'b0;
    assign unused = &{1'b0, grouped_i, clear_i, write_i, messages_i, arming_i, piece_i, ring_i, sent_i,
                      sent_group_i, taken_group_i, undecided_i, absent_i};
  end else begin : gen_groups
    logic [NumGroups-1:0] rung_q, rung;  // by the host; and with what is made of it
    if (EnLosses != 0) begin : gen_losses
      always_comb begin
        rung = rung_q;
        rung[1] = absent_i || (rung_q[1] && !undecided_i);
      end
    end else begin : gen_no_losses
      logic unused_losses;
      assign rung = rung_q;
      assign unused_losses = &{1'b0, undecided_i, absent_i};
    end
    assign own_rung_o = rung_q[1];
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
      `MT_ASSERT(NoMoreThanThereAre, arming_i || !grouped_i || done <= left_q)
    end
  end

endmodule
