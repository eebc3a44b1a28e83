// SPDX-License-Identifier: BSD-3-Clause
// The memory of a node, for simulation: answers so many cycles later, each stream in order, and keeps
// an answer until it is taken; what is written in a cycle is read from the next one on. It may accept no more than some words
// to be read, and as many to be written, in a cycle. A shy one is ready only in a cycle after one in which it was asked. Its
// contents are in C++ (memory.cpp).
`include "mt_assert.svh"

module mt_memory_model #(
  // Ports of the interface.
  parameter int unsigned NumPorts = 4,
  // Words that a port asks for at most before it has taken the first: to be sent; to be added.
  parameter int unsigned SendWords = mt_pkg::SendWords,
  parameter int unsigned AddWords = mt_pkg::AddWords,
  localparam int unsigned P = NumPorts,
  localparam int unsigned A = mt_pkg::AddrW,
  localparam int unsigned D = mt_pkg::DataW,
  localparam int unsigned K = mt_pkg::KeepW,
  localparam int unsigned S = mt_pkg::CountW + mt_pkg::AddrW
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Which memory, to the functions in C.
  input  logic [31:0] handle_i,
  // Requests that are not accepted in this cycle: of port p in bits 5p +: 5.
  input  logic [5*P-1:0] stall_i,
  input  logic           shy_i,
  // Cycles from a request to its answer, at least 1.
  input  logic [9:0]     latency_i,
  // Words that it reads, and that it writes, in a cycle; 0: as it is asked. As of mt_mem_share.
  input  logic [5:0]     words_i,

  // Memory, AXI4-Stream: payload to be sent,
  input  logic [P-1:0]   tx_req_tvalid_i,
  output logic [P-1:0]   tx_req_tready_o,
  input  logic [P*A-1:0] tx_req_tdata_i,
  output logic [P-1:0]   tx_tvalid_o,
  input  logic [P-1:0]   tx_tready_i,
  output logic [P*D-1:0] tx_tdata_o,
  // words to be added to,
  input  logic [P-1:0]   acc_req_tvalid_i,
  output logic [P-1:0]   acc_req_tready_o,
  input  logic [P*A-1:0] acc_req_tdata_i,
  output logic [P-1:0]   acc_tvalid_o,
  input  logic [P-1:0]   acc_tready_i,
  output logic [P*D-1:0] acc_tdata_o,
  // words beside the buffer,
  input  logic [P-1:0]   stage_req_tvalid_i,
  output logic [P-1:0]   stage_req_tready_o,
  input  logic [P*S-1:0] stage_req_tdata_i,
  output logic [P-1:0]   stage_tvalid_o,
  input  logic [P-1:0]   stage_tready_i,
  output logic [P*D-1:0] stage_tdata_o,
  input  logic [P-1:0]   stage_wr_tvalid_i,
  output logic [P-1:0]   stage_wr_tready_o,
  input  logic [P*(S+D)-1:0] stage_wr_tdata_i,
  input  logic [P*K-1:0] stage_wr_tkeep_i,
  // results.
  input  logic [P-1:0]    res_tvalid_i,
  output logic [P-1:0]    res_tready_o,
  input  logic [P*A-1:0]  res_taddr_i,
  input  logic [P*K-1:0] res_tkeep_i,
  input  logic [P*D-1:0]  res_tdata_i
);

  // Of 16 bytes, whatever a word has. turn: 0 the buffer, else the words beside it of that turn, plus one.
  import "DPI-C" function void mt_memory_read(
      input int handle, input int turn, input int address, output bit [127:0] data);
  import "DPI-C" function void mt_memory_write(
      input int handle, input int turn, input int address, input int keep,
      input bit [127:0] data);

  logic [5*P-1:0] stalls, asked, asked_q;  // asked: and not accepted
  logic [3*P-1:0] reads, may_read;
  logic [2*P-1:0] writes, may_write;
  assign stalls = stall_i | (shy_i ? ~asked_q : '0);
  mt_mem_share #(.NumStreams(3 * P)) u_reads (.clk_i, .rst_ni, .words_i, .valid_i(reads), .ready_o(may_read));
  mt_mem_share #(.NumStreams(2 * P)) u_writes (.clk_i, .rst_ni, .words_i, .valid_i(writes), .ready_o(may_write));
  for (genvar p = 0; p < P; p++) begin : gen_ready
    assign reads[3*p +: 3] = {stage_req_tvalid_i[p], acc_req_tvalid_i[p], tx_req_tvalid_i[p]}
                             & ~stalls[5*p +: 3];
    assign writes[2*p +: 2] = {stage_wr_tvalid_i[p] && !stalls[5*p + 3], res_tvalid_i[p] && !stalls[5*p + 4]};
    assign {stage_req_tready_o[p], acc_req_tready_o[p], tx_req_tready_o[p]} =
        may_read[3*p +: 3] & ~stalls[5*p +: 3];
    assign stage_wr_tready_o[p] = may_write[2*p + 1] && !stalls[5*p + 3];
    assign res_tready_o[p] = may_write[2*p] && !stalls[5*p + 4];
    assign asked[5*p +: 5] = {
      res_tvalid_i[p] && !res_tready_o[p], stage_wr_tvalid_i[p] && !stage_wr_tready_o[p],
      stage_req_tvalid_i[p] && !stage_req_tready_o[p], acc_req_tvalid_i[p] && !acc_req_tready_o[p],
      tx_req_tvalid_i[p] && !tx_req_tready_o[p]};
  end
  always_ff @(posedge clk_i) if (shy_i) asked_q <= asked;

  // Answers on their way, a ring for each stream of words: those to be sent, to be added to, and beside
  // the buffer, of port p in ring 3p, 3p + 1 and 3p + 2.
  localparam int unsigned Most = SendWords > AddWords ? SendWords : AddWords;
  localparam int unsigned PlaceW = $clog2(Most) > 0 ? $clog2(Most) : 1;
  logic [D-1:0] words [3*P << PlaceW];
  logic [31:0] due [3*P << PlaceW];  // cycle from which on it stands on the stream
  logic [PlaceW-1:0] head_q [3*P];
  logic [PlaceW-1:0] tail_q [3*P];
  logic [PlaceW:0] level_q [3*P];
  logic [31:0] now_q;
  logic [3*P-1:0] push, stands, pop;
  for (genvar p = 0; p < P; p++) begin : gen_data
    for (genvar s = 0; s < 3; s++) begin : gen_stream
      localparam int unsigned R = 3 * p + s;
      logic [PlaceW:0] level;
      assign level = level_q[R];
      assign stands[R] = level != '0 && $signed(now_q - due[(R << PlaceW) + 32'(head_q[R])]) >= 0;
      `MT_ASSERT(AnswerHasPlace, !push[R] || 32'(level) < Most)
    end
    assign tx_tdata_o[p*D +: D] = words[(3 * p << PlaceW) + 32'(head_q[3*p])];
    assign acc_tdata_o[p*D +: D] = words[(3 * p + 1 << PlaceW) + 32'(head_q[3*p + 1])];
    assign stage_tdata_o[p*D +: D] = words[(3 * p + 2 << PlaceW) + 32'(head_q[3*p + 2])];
    assign {stage_tvalid_o[p], acc_tvalid_o[p], tx_tvalid_o[p]} = stands[3*p +: 3];
    assign push[3*p +: 3] = {stage[p], acc[p], tx[p]};
    assign pop[3*p +: 3] = stands[3*p +: 3] & {stage_tready_i[p], acc_tready_i[p], tx_tready_i[p]};
  end

  // All reads of a cycle before all writes.
  // Plain arrays: nothing has to be shifted to its place for the functions.
  logic [A-1:0] tx_address [P];
  logic [A-1:0] acc_address [P];
  logic [S-1:0] stage_address [P];
  logic [S-1:0] stage_wr_address [P];
  logic [D-1:0] stage_wr_data [P];
  logic [A-1:0] res_address [P];
  logic [D-1:0] res_data [P];
  for (genvar p = 0; p < P; p++) begin : gen_port
    assign tx_address[p] = tx_req_tdata_i[p*A +: A];
    assign acc_address[p] = acc_req_tdata_i[p*A +: A];
    assign stage_address[p] = stage_req_tdata_i[p*S +: S];
    assign stage_wr_address[p] = stage_wr_tdata_i[p*(S+D) + D +: S];
    assign stage_wr_data[p] = stage_wr_tdata_i[p*(S+D) +: D];
    assign res_address[p] = res_taddr_i[p*A +: A];
    assign res_data[p] = res_tdata_i[p*D +: D];
  end
  logic [P-1:0] tx, acc, stage, stage_wr, res;
  assign tx = tx_req_tvalid_i & tx_req_tready_o;
  assign acc = acc_req_tvalid_i & acc_req_tready_o;
  assign stage = stage_req_tvalid_i & stage_req_tready_o;
  assign stage_wr = stage_wr_tvalid_i & stage_wr_tready_o;
  assign res = res_tvalid_i & res_tready_o;
  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < P; p++) begin
      bit [D-1:0] word;
      if (tx[p]) begin
        for (int unsigned i = 0; i < D; i += 128) begin
          mt_memory_read(handle_i, 0, 32'(tx_address[p]) + i / 8, word[i +: 128]);
        end
        words[(3 * p << PlaceW) + 32'(tail_q[3*p])] <= word;
      end
      if (acc[p]) begin
        for (int unsigned i = 0; i < D; i += 128) begin
          mt_memory_read(handle_i, 0, 32'(acc_address[p]) + i / 8, word[i +: 128]);
        end
        words[(3 * p + 1 << PlaceW) + 32'(tail_q[3*p + 1])] <= word;
      end
      if (stage[p]) begin
        for (int unsigned i = 0; i < D; i += 128) begin
          mt_memory_read(handle_i, 32'(stage_address[p][S-1:A]) + 1, 32'(stage_address[p][A-1:0]) + i / 8,
                         word[i +: 128]);
        end
        words[(3 * p + 2 << PlaceW) + 32'(tail_q[3*p + 2])] <= word;
      end
    end
    for (int unsigned p = 0; p < P; p++) begin
      if (stage_wr[p]) begin
        for (int unsigned i = 0; i < D; i += 128) begin
          mt_memory_write(handle_i, 32'(stage_wr_address[p][S-1:A]) + 1,
                          32'(stage_wr_address[p][A-1:0]) + i / 8, 32'(stage_wr_tkeep_i[p*K + i/8 +: 16]),
                          stage_wr_data[p][i +: 128]);
        end
      end
      if (res[p]) begin
        for (int unsigned i = 0; i < D; i += 128) begin
          mt_memory_write(handle_i, 0, 32'(res_address[p]) + i / 8, 32'(res_tkeep_i[p*K + i/8 +: 16]),
                          res_data[p][i +: 128]);
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    now_q <= now_q + 1;
    for (int unsigned r = 0; r < 3 * P; r++) begin
      if (!rst_ni) begin
        head_q[r] <= '0;
        tail_q[r] <= '0;
        level_q[r] <= '0;
      end else if (push[r] || pop[r]) begin
        if (push[r]) due[(r << PlaceW) + 32'(tail_q[r])] <= now_q + 32'(latency_i);
        if (push[r]) tail_q[r] <= tail_q[r] + 1;
        if (pop[r]) head_q[r] <= head_q[r] + 1;
        level_q[r] <= level_q[r] + (PlaceW + 1)'(push[r]) - (PlaceW + 1)'(pop[r]);
      end
    end
  end

endmodule
