// SPDX-License-Identifier: BSD-3-Clause
// The schedule table of one port: entries in the order in which they are sent, those of each group one
// behind the other. Loaded once, read again and again; an entry that may be next is always at hand.
//
// With one group that is the next one. With several it is the next one of a group whose doorbell has
// been rung: after an entry was taken that of the lowest such group, and as long as it is not taken
// another one in each cycle, in turn.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_table #(
  // Bits of an entry; the highest is parity, and below it is the group, if there are several.
  parameter int unsigned EntryW = 64,
  // Entries.
  parameter int unsigned Depth = 64,
  // Groups.
  parameter int unsigned NumGroups = 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Forget all entries; start from the first again.
  input  logic clear_i,
  input  logic rewind_i,

  // Entries of a group follow each other; one that does not is an error.
  input  logic              write_i,
  input  logic [EntryW-1:0] entry_i,
  output logic              full_o,
  output logic              apart_o,

  // Doorbells that have been rung, and the entry at hand is being sent: no other takes its place. With
  // one group neither is looked at.
  input  logic [NumGroups-1:0] rung_i,
  input  logic              hold_i,
  output logic              valid_o,
  output logic [EntryW-1:0] entry_o,
  // The entry has an odd number of ones.
  output logic              parity_error_o,
  input  logic              pop_i,
  // There are entries that have not been popped.
  output logic              left_o
);

  localparam int unsigned PtrW = $clog2(Depth + 1);
  localparam int unsigned IdxW = Depth > 1 ? $clog2(Depth) : 1;

  logic [PtrW-1:0] written_q;
  logic load;               // an entry comes to hand:
  logic [IdxW-1:0] number;  // this one

  assign full_o = written_q == PtrW'(Depth);
  mt_sram #(.Width(EntryW), .Depth(Depth), .Registered(1)) u_mem (
    .wr_clk_i(clk_i), .wr_en_i(write_i && !full_o), .wr_addr_i(written_q[IdxW-1:0]), .wr_data_i(entry_i),
    .rd_clk_i(clk_i), .rd_en_i(load), .rd_addr_i(number), .rd_data_o(entry_o));
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      written_q <= '0;
      valid_o <= 1'b0;
    end else begin
      if (write_i && !full_o) written_q <= written_q + PtrW'(1);
      valid_o <= !rewind_i && (load || (valid_o && !pop_i));
    end
  end

  if (NumGroups == 1) begin : gen_one
    logic [PtrW-1:0] next_q;
    logic unused;
    assign load = (!valid_o || pop_i) && next_q != written_q;
    assign number = next_q[IdxW-1:0];
    assign left_o = valid_o;
    assign apart_o = 1'b0;
    assign unused = &{1'b0, rung_i, hold_i};
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i || rewind_i) next_q <= '0;
      else if (load) next_q <= next_q + PtrW'(1);
    end
    `MT_ASSERT(ReadBehindWrite, next_q <= written_q)
  end else begin : gen_groups
    localparam int unsigned GroupW = $clog2(NumGroups);
    // Where the entries of each group begin, end, and go on once one of them was popped.
    logic [PtrW-1:0] begins [NumGroups];
    logic [PtrW-1:0] ends [NumGroups];
    logic [PtrW-1:0] nexts [NumGroups];
    logic [NumGroups-1:0] has_q;    // entries
    logic [NumGroups-1:0] left_q;   // entries that have not been popped
    logic [NumGroups-1:0] begun_q;  // one was popped
    // Of the entry at hand.
    logic [GroupW-1:0] group_q;
    logic [PtrW-1:0] number_q;
    logic last_q;                   // of its group

    logic [GroupW-1:0] into;  // which group an entry is written
    assign into = entry_i[EntryW-2 -: GroupW];
    assign apart_o = write_i && has_q[into] && ends[into] != written_q;

    // Whose entry comes to hand.
    logic [NumGroups-1:0] at_hand, may, later, chosen;
    logic [GroupW-1:0] group;
    logic [PtrW-1:0] next;
    logic any, goes_on;
    assign at_hand = NumGroups'(1) << group_q;
    assign left_o = left_q != '0;
    mt_prio_enc #(.N(NumGroups)) u_choice (
      .req_i(later != '0 ? later : may), .any_o(any), .onehot_o(chosen), .idx_o(group));
    always_comb begin
      may = left_q & rung_i;
      later = '0;
      if (`MT_WORK(may != '0)) begin
        if (pop_i && last_q) may = may & ~at_hand;
        if (valid_o && !pop_i) later = may & ~(at_hand | (at_hand - NumGroups'(1)));
      end
    end
    assign load = (!valid_o || pop_i || !hold_i) && any;
    assign goes_on = pop_i && chosen == at_hand;  // with the one behind it
    assign next = goes_on ? number_q + PtrW'(1) : begun_q[group] ? nexts[group] : begins[group];
    assign number = next[IdxW-1:0];

    always_ff @(posedge clk_i) begin
      if (write_i && !full_o) begin
        if (!has_q[into]) begins[into] <= written_q;
        ends[into] <= written_q + PtrW'(1);
      end
      if (pop_i) nexts[group_q] <= number_q + PtrW'(1);
      if (load) begin
        group_q <= group;
        number_q <= next;
        last_q <= next + PtrW'(1) == ends[group];
      end
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) begin
        has_q <= '0;
        left_q <= '0;
        begun_q <= '0;
      end else begin
        if (write_i && !full_o) has_q[into] <= 1'b1;
        if (rewind_i) begin
          left_q <= has_q;
          begun_q <= '0;
        end else if (pop_i) begin
          begun_q <= begun_q | at_hand;
          if (last_q) left_q <= left_q & ~at_hand;
        end
      end
    end
  end

  assign parity_error_o = valid_o && ^entry_o;

  `MT_ASSERT(PopValid, !pop_i || valid_o)

endmodule
