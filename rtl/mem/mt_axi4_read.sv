// SPDX-License-Identifier: BSD-3-Clause
// Streams of words that are read, by the AR and R channels of an AXI4 port: bursts with the stream's
// number as their id, so that memory keeps the order of each and may give words of different streams
// in any. What comes has a place: it was kept free when the word was asked for, and RREADY is always 1.
`include "mt_assert.svh"

module mt_axi4_read #(
  // Streams; of every three the first has SendWords places, the others AddWords.
  parameter int unsigned NumStreams = 3,
  parameter int unsigned SendWords = mt_pkg::SendWords,
  parameter int unsigned AddWords = mt_pkg::AddWords,
  parameter int unsigned AxiAddrW = 40,
  parameter int unsigned AxiIdW = 4,
  parameter int unsigned MaxBeats = 16,
  localparam int unsigned N = NumStreams,
  localparam int unsigned A = AxiAddrW,
  localparam int unsigned D = mt_pkg::DataW,
  localparam int unsigned StreamW = N > 1 ? $clog2(N) : 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  // AXI4-Stream: addresses, words.
  input  logic [N-1:0]   req_tvalid_i,
  output logic [N-1:0]   req_tready_o,
  input  logic [N*A-1:0] req_taddr_i,
  output logic [N-1:0]   tvalid_o,
  input  logic [N-1:0]   tready_i,
  output logic [N*D-1:0] tdata_o,

  // The word that may be asked for in this cycle, unless it is being written.
  output logic [A-1:0] look_addr_o,
  input  logic         go_i,

  output logic              m_axi_arvalid_o,
  input  logic              m_axi_arready_i,
  output logic [AxiIdW-1:0] m_axi_arid_o,
  output logic [A-1:0]      m_axi_araddr_o,
  output logic [7:0]        m_axi_arlen_o,
  input  logic              m_axi_rvalid_i,
  output logic              m_axi_rready_o,
  input  logic [AxiIdW-1:0] m_axi_rid_i,
  input  logic [D-1:0]      m_axi_rdata_i,
  input  logic [1:0]        m_axi_rresp_i,

  // An answer was an error, until reset: no word that came since is handed on.
  output logic error_o
);

  if (2 ** AxiIdW < N) begin : gen_illegal
    $error("mt_axi4_read: AxiIdW is too few for an id for each stream");
  end

  logic look, burst_valid, burst_ready, unused_joins, unused_open;
  logic [StreamW-1:0] unused_look, burst_stream;
  logic [A-1:0] burst_addr;
  logic [7:0] burst_len;
  logic [N-1:0] able, take;
  mt_axi4_burst #(.NumStreams(N), .AxiAddrW(A), .MaxBeats(MaxBeats)) u_burst (
    .clk_i, .rst_ni, .valid_i(req_tvalid_i), .able_i(able), .addr_i(req_taddr_i), .look_o(look),
    .look_stream_o(unused_look), .look_addr_o, .go_i, .take_o(take), .joins_o(unused_joins),
    .burst_valid_o(burst_valid), .burst_ready_i(burst_ready), .burst_stream_o(burst_stream),
    .burst_addr_o(burst_addr), .burst_len_o(burst_len), .open_o(unused_open));
  assign req_tready_o = take;
  logic unused_look_valid;
  assign unused_look_valid = look;

  logic [1:0] unused_level;
  logic [StreamW-1:0] id;
  mt_fifo #(.Width(StreamW + A + 8), .Depth(2)) u_ar (
    .clk_i, .rst_ni, .in_valid_i(burst_valid), .in_ready_o(burst_ready),
    .in_data_i({burst_stream, burst_addr, burst_len}), .out_valid_o(m_axi_arvalid_o),
    .out_ready_i(m_axi_arready_i), .out_data_o({id, m_axi_araddr_o, m_axi_arlen_o}),
    .level_o(unused_level));
  assign m_axi_arid_o = AxiIdW'(id);

  logic error_q;
  assign error_o = error_q;
  assign m_axi_rready_o = 1'b1;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) error_q <= 1'b0;
    else if (m_axi_rvalid_i && m_axi_rresp_i[1]) error_q <= 1'b1;
  end
  logic unused_resp;
  assign unused_resp = m_axi_rresp_i[0];  // exclusive accesses, which nobody asks for

  for (genvar s = 0; s < N; s++) begin : gen_stream
    localparam int unsigned Words = s % 3 == 0 ? SendWords : AddWords;
    localparam int unsigned LevelW = $clog2(Words + 1);
    logic comes, has_place;
    logic [LevelW-1:0] unused_words, taken_q;  // places that are taken, or kept free
    assign comes = m_axi_rvalid_i && 32'(m_axi_rid_i) == s && !m_axi_rresp_i[1] && !error_q;
    assign able[s] = taken_q != LevelW'(Words);
    mt_fifo #(.Width(D), .Depth(Words)) u_words (
      .clk_i, .rst_ni, .in_valid_i(comes), .in_ready_o(has_place), .in_data_i(m_axi_rdata_i),
      .out_valid_o(tvalid_o[s]), .out_ready_i(tready_i[s]), .out_data_o(tdata_o[s*D +: D]),
      .level_o(unused_words));
    always_ff @(posedge clk_i) begin
      if (!rst_ni) taken_q <= '0;
      else taken_q <= taken_q + LevelW'(take[s]) - LevelW'(tvalid_o[s] && tready_i[s]);
    end
    `MT_ASSERT(AnswerHasPlace, !comes || has_place)
  end

endmodule
