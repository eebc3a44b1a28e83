// SPDX-License-Identifier: BSD-3-Clause
// Streams that share the words which memory takes in a cycle: the first of those that ask, at or after a
// pointer, cyclically, are accepted; the pointer then stands behind the last of them. A stream that keeps asking waits
// for each other one at most once.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_mem_share #(
  // Streams; bits of words_i.
  parameter int unsigned NumStreams = 12,
  parameter int unsigned WordsW = 6,
  localparam int unsigned N = NumStreams
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  // Words of a cycle; 0: as many as there are streams, and all are always ready. Constant while anything is asked.
  input  logic [WordsW-1:0] words_i,
  input  logic [N-1:0]      valid_i,
  output logic [N-1:0]      ready_o
);

  localparam int unsigned RankW = $clog2(2 * N + 1);
  localparam int unsigned Levels = $clog2(2 * N);

  // The streams at or after the pointer: none of them once the last one was accepted.
  logic [N-1:0] after_q;
  logic [2*N-1:0] order;  // those that ask, in the order of their turns
  assign order = {valid_i & ~after_q, valid_i & after_q};

  // How many ask up to each, by sums over 2, 4, 8 ... of them.
  logic [2*N*RankW-1:0] rank;
  logic [2*N-1:0] first;
  always_comb begin
    rank = '0;
    first = '0;
    if (`MT_WORK(words_i != '0 && valid_i != '0)) begin
      for (int unsigned i = 0; i < 2 * N; i++) rank[i*RankW +: RankW] = RankW'(order[i]);
      for (int unsigned l = 0; l < Levels; l++) begin
        for (int unsigned i = 2 * N - 1; i >= (1 << l); i--) begin
          rank[i*RankW +: RankW] = rank[i*RankW +: RankW] + rank[(i - (1 << l))*RankW +: RankW];
        end
      end
      for (int unsigned i = 0; i < 2 * N; i++) begin
        first[i] = order[i] && 32'(rank[i*RankW +: RankW]) <= 32'(words_i);
      end
    end
  end

  logic [N-1:0] accepted, last, upto;
  assign accepted = first[2*N-1:N] | first[N-1:0];
  assign ready_o = words_i == '0 ? '1 : accepted;
  assign last = first[2*N-1:N] != '0 ? first[2*N-1:N] : first[N-1:0];
  always_comb begin
    upto = last;  // all bits up to its highest one
    for (int unsigned l = 0; (1 << l) < N; l++) upto = upto | (upto >> (1 << l));
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) after_q <= '1;
    else if (accepted != '0) after_q <= ~upto;
  end

  `MT_ASSERT(ShareOfThoseThatAsk, (accepted & ~valid_i) == '0)
  // As many as may be, or all.
  `MT_ASSERT(ShareIsUsed, words_i == '0 || valid_i == '0 || accepted == valid_i
                          || $countones(accepted) == 32'(words_i))
  `MT_ASSERT(ShareIsKept, words_i == '0 || $countones(accepted) <= 32'(words_i))
  // The set bits of the mask are its upper ones.
  `MT_ASSERT(ShareMask, (after_q | -after_q) == after_q)
endmodule
