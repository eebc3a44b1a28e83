// SPDX-License-Identifier: BSD-3-Clause
// Streams of words that are written, by the AW, W and B channels of an AXI4 port, all with one id: in
// the order in which they were accepted. A word counts as written when its B has come.
`include "mt_assert.svh"

module mt_axi4_write #(
  parameter int unsigned NumStreams = 2,
  parameter int unsigned AxiAddrW = 40,
  parameter int unsigned MaxBeats = 16,
  // Bursts whose B has not come.
  parameter int unsigned NumBursts = 512,
  localparam int unsigned N = NumStreams,
  localparam int unsigned A = AxiAddrW,
  localparam int unsigned D = mt_pkg::DataW,
  localparam int unsigned K = D / 8,
  localparam int unsigned StreamW = N > 1 ? $clog2(N) : 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  // AXI4-Stream: addresses, which bytes, words.
  input  logic [N-1:0]   tvalid_i,
  output logic [N-1:0]   tready_o,
  input  logic [N*A-1:0] taddr_i,
  input  logic [N*K-1:0] tkeep_i,
  input  logic [N*D-1:0] tdata_i,

  // The word that may be accepted in this cycle; it is; a word is written.
  output logic [A-1:0] look_addr_o,
  input  logic         go_i,
  output logic         add_o,
  output logic         done_o,
  output logic [A-1:0] done_addr_o,
  // All that was accepted is written.
  output logic         idle_o,

  output logic         m_axi_awvalid_o,
  input  logic         m_axi_awready_i,
  output logic [A-1:0] m_axi_awaddr_o,
  output logic [7:0]   m_axi_awlen_o,
  output logic         m_axi_wvalid_o,
  input  logic         m_axi_wready_i,
  output logic [D-1:0] m_axi_wdata_o,
  output logic [K-1:0] m_axi_wstrb_o,
  output logic         m_axi_wlast_o,
  input  logic         m_axi_bvalid_i,
  output logic         m_axi_bready_o,
  input  logic [1:0]   m_axi_bresp_i,

  // An answer was an error, until reset: nothing counts as written since.
  output logic error_o
);

  logic look, joins, open, burst_valid, burst_ready, aw_ready, w_ready, list_ready;
  logic [StreamW-1:0] look_stream, unused_stream;
  logic [A-1:0] burst_addr;
  logic [7:0] burst_len;
  logic [N-1:0] take;
  mt_axi4_burst #(.NumStreams(N), .AxiAddrW(A), .MaxBeats(MaxBeats)) u_burst (
    .clk_i, .rst_ni, .valid_i(tvalid_i), .able_i('1), .addr_i(taddr_i), .look_o(look),
    .look_stream_o(look_stream), .look_addr_o, .go_i(go_i && (!joins || w_ready)), .take_o(take),
    .joins_o(joins), .burst_valid_o(burst_valid), .burst_ready_i(burst_ready),
    .burst_stream_o(unused_stream), .burst_addr_o(burst_addr), .burst_len_o(burst_len),
    .open_o(open));
  assign tready_o = take;
  assign add_o = take != '0;
  // A burst goes with its last word; all three have place for both.
  assign burst_ready = aw_ready && w_ready && list_ready;
  logic closes;
  assign closes = burst_valid && burst_ready;

  // The word that was accepted last: whether it ends its burst is known when the next one is looked at.
  logic [D-1:0] data, data_q;
  logic [K-1:0] keep, keep_q;
  always_comb begin
    data = '0;
    keep = '0;
    for (int unsigned s = 0; s < N; s++) begin
      if (32'(look_stream) == s) begin
        data = tdata_i[s*D +: D];
        keep = tkeep_i[s*K +: K];
      end
    end
  end
  always_ff @(posedge clk_i) if (add_o) {data_q, keep_q} <= {data, keep};
  logic unused_look;
  assign unused_look = look;

  logic [1:0] unused_aw_level;
  mt_fifo #(.Width(A + 8), .Depth(2)) u_aw (
    .clk_i, .rst_ni, .in_valid_i(closes), .in_ready_o(aw_ready), .in_data_i({burst_addr, burst_len}),
    .out_valid_o(m_axi_awvalid_o), .out_ready_i(m_axi_awready_i),
    .out_data_o({m_axi_awaddr_o, m_axi_awlen_o}), .level_o(unused_aw_level));

  // Room for a whole burst: one whose words are here can always end, and say so on AW.
  localparam int unsigned WDepth = 2 * MaxBeats;
  logic [$clog2(WDepth+1)-1:0] unused_w_level;
  mt_fifo #(.Width(D + K + 1), .Depth(WDepth)) u_w (
    .clk_i, .rst_ni, .in_valid_i(closes || (add_o && joins)), .in_ready_o(w_ready),
    .in_data_i({data_q, keep_q, closes}), .out_valid_o(m_axi_wvalid_o), .out_ready_i(m_axi_wready_i),
    .out_data_o({m_axi_wdata_o, m_axi_wstrb_o, m_axi_wlast_o}), .level_o(unused_w_level));

  // Bursts on their way, in the order of their Bs; the words of one whose B has come, one a cycle.
  logic list_valid, list_take, busy_q, error_q, ends;
  logic [A-1:0] first, addr_q;
  logic [7:0] len, left_q;
  logic [$clog2(NumBursts+1)-1:0] list_level;
  mt_fifo #(.Width(A + 8), .Depth(NumBursts)) u_list (
    .clk_i, .rst_ni, .in_valid_i(closes), .in_ready_o(list_ready), .in_data_i({burst_addr, burst_len}),
    .out_valid_o(list_valid), .out_ready_i(list_take), .out_data_o({first, len}),
    .level_o(list_level));
  assign ends = left_q == '0;
  assign m_axi_bready_o = error_q || !busy_q || ends;
  assign list_take = m_axi_bvalid_i && m_axi_bready_o && !m_axi_bresp_i[1] && !error_q;
  assign done_o = busy_q;
  assign done_addr_o = addr_q;
  assign idle_o = !open && list_level == '0 && !busy_q;
  assign error_o = error_q;
  always_ff @(posedge clk_i) begin
    if (list_take) {addr_q, left_q} <= {first, len};
    else if (busy_q) {addr_q, left_q} <= {addr_q + A'(K), left_q - 8'd1};
    if (!rst_ni) begin
      busy_q <= 1'b0;
      error_q <= 1'b0;
    end else begin
      busy_q <= list_take || (busy_q && !ends);
      if (m_axi_bvalid_i && m_axi_bready_o && m_axi_bresp_i[1]) error_q <= 1'b1;
    end
  end
  logic unused_resp;
  assign unused_resp = m_axi_bresp_i[0];  // exclusive accesses, which nobody asks for

  `MT_ASSERT(AnswersABurst, !list_take || list_valid)

endmodule
