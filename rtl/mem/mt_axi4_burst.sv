// SPDX-License-Identifier: BSD-3-Clause
// Makes bursts of what streams ask for, a word a cycle: takes consecutive words of one stream together
// for as long as it asks for the next one in each cycle, up to MaxBeats and to the next 4 KiB; then
// it is another stream's turn. So nobody waits for more than a burst of each other one, and a word
// that nothing follows is not held back for longer than a cycle.
`include "mt_assert.svh"

module mt_axi4_burst #(
  // Streams; bits of a byte address, 13 at least; most words of a burst, 1 to 256.
  parameter int unsigned NumStreams = 3,
  parameter int unsigned AxiAddrW = 40,
  parameter int unsigned MaxBeats = 16,
  localparam int unsigned N = NumStreams,
  localparam int unsigned A = AxiAddrW,
  localparam int unsigned StreamW = N > 1 ? $clog2(N) : 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Words that are asked for; those that can be: who has no place for a word is passed.
  input  logic [N-1:0]   valid_i,
  input  logic [N-1:0]   able_i,
  input  logic [N*A-1:0] addr_i,
  // The one that is looked at in this cycle, and whether it may be taken.
  output logic               look_o,
  output logic [StreamW-1:0] look_stream_o,
  output logic [A-1:0]       look_addr_o,
  input  logic               go_i,
  output logic [N-1:0]       take_o,  // this word is taken,
  output logic               joins_o,  // as the next one of the burst

  // A burst that is over. It may grow instead while it is not accepted.
  output logic               burst_valid_o,
  input  logic               burst_ready_i,
  output logic [StreamW-1:0] burst_stream_o,
  output logic [A-1:0]       burst_addr_o,
  output logic [7:0]         burst_len_o,  // words less one
  // A burst has begun and is not over.
  output logic               open_o
);

  localparam int unsigned Page = 12;
  if (MaxBeats < 1 || MaxBeats > 256 || A <= Page) begin : gen_illegal
    $error("mt_axi4_burst: MaxBeats is 1 to 256, AxiAddrW at least 13");
  end

  logic open_q, joins, takes;
  logic [StreamW-1:0] stream_q, turn;
  logic [A-1:0] addr_q, next_q, next_asked;
  logic [7:0] len_q;
  logic [N-1:0] asks, turn_onehot;

  assign asks = valid_i & able_i;
  // Turns are taken in every cycle in which a burst may begin: one that may not go passes.
  mt_rr_arb #(.N(N)) u_turn (
    .clk_i, .rst_ni, .req_i(asks), .en_i(!joins && look_o), .gnt_o(turn_onehot), .gnt_idx_o(turn));

  logic [N-1:0] own;
  always_comb begin
    own = '0;
    next_asked = '0;
    for (int unsigned s = 0; s < N; s++) begin
      own[s] = open_q && 32'(stream_q) == s;
      if (own[s]) next_asked = addr_i[s*A +: A];
    end
  end
  assign joins = (own & asks) != '0 && next_asked == next_q && 32'(len_q) + 1 < MaxBeats
                 && next_q[Page-1:0] != '0;

  logic [A-1:0] turn_addr;
  always_comb begin
    turn_addr = '0;
    for (int unsigned s = 0; s < N; s++) if (turn_onehot[s]) turn_addr = addr_i[s*A +: A];
  end

  assign burst_valid_o = open_q && !(joins && go_i);
  assign burst_stream_o = stream_q;
  assign burst_addr_o = addr_q;
  assign burst_len_o = len_q;
  assign open_o = open_q;
  assign look_o = joins || (asks != '0 && (!open_q || burst_ready_i));
  assign look_stream_o = joins ? stream_q : turn;
  assign look_addr_o = joins ? next_q : turn_addr;
  assign takes = look_o && go_i;
  assign joins_o = joins;
  assign take_o = !takes ? '0 : joins ? own : turn_onehot;

  always_ff @(posedge clk_i) begin
    if (takes) begin
      next_q <= look_addr_o + A'(mt_pkg::KeepW);
      len_q <= joins ? len_q + 8'd1 : '0;
      if (!joins) begin
        stream_q <= turn;
        addr_q <= turn_addr;
      end
    end
    if (!rst_ni) open_q <= 1'b0;
    else if (takes) open_q <= 1'b1;
    else if (burst_ready_i) open_q <= 1'b0;
  end

  `MT_ASSERT(InOnePage, !open_q || addr_q[A-1:Page] == (A-Page)'((addr_q + {{(A - 8 - mt_pkg::ByteW) {1'b0}}, len_q, {mt_pkg::ByteW{1'b0}}}) >> Page))
  `MT_ASSERT(NoLongerThanItMayBe, !open_q || 32'(len_q) < MaxBeats)

endmodule
