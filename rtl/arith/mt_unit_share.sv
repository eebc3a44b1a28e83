// SPDX-License-Identifier: BSD-3-Clause
// One reduction unit for two ports. Words that are added take turns: a port asks in the cycle in
// which it could issue one, and issues it only if it may, so that with a memory that answers at once
// no word ever waits here. Copies go beside the unit, on a way of their own for each port, as long
// as the unit, so that the words of a port stay in order.
//
// All of it moves together: while the result of one port is not accepted, nothing moves, and one of
// the other port that was accepted meanwhile is not offered again.
`include "mt_assert.svh"

module mt_unit_share #(
  // As of mt_reduce_unit.
  parameter int unsigned Latency = 2,
  parameter bit          EnInt32 = 1'b1,
  parameter bit          EnFp32 = 1'b1,
  parameter bit          EnBf16 = 1'b1,
  parameter bit          EnFp16 = 1'b1,
  parameter int unsigned FpImpl = 0,
  localparam int unsigned N = 2,
  localparam int unsigned D = mt_pkg::DataW
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  // Forget who was served last.
  input  logic         clear_i,
  input  logic [1:0]   dtype_i,

  // Port p could issue a word that is added; it may issue (and always what it copies).
  input  logic [N-1:0] ask_i,
  output logic [N-1:0] go_o,

  // Words with all their operands; a word leaves in a cycle with take_o.
  input  logic [N-1:0]   valid_i,
  input  logic [N-1:0]   copy_i,
  input  logic [N*D-1:0] a_i,
  input  logic [N*D-1:0] b_i,
  output logic [N-1:0]   take_o,

  // Results, `Latency` cycles with en_o later. ready_i: the port's is accepted, or there is none.
  output logic           en_o,
  output logic [N-1:0]   valid_o,
  output logic [N*D-1:0] r_o,
  input  logic [N-1:0]   ready_i
);

  // Of two that ask, the one that was not served last; at first, the lower one.
  function automatic logic [N-1:0] one_of(input logic [N-1:0] asks, input logic upper_first);
    one_of = {asks[1] && (upper_first || !asks[0]), asks[0] && !(upper_first && asks[1])};
  endfunction

  // Who issues, and who goes into the unit: more than one wants to only if memory is slow, or
  // results are stalled.
  logic [N-1:0] goes, adds, enters;
  logic upper_goes_first_q, upper_enters_first_q;
  assign goes = one_of(ask_i, upper_goes_first_q);
  assign go_o = ~ask_i | goes;
  assign adds = valid_i & ~copy_i;
  assign enters = one_of(adds, upper_enters_first_q);
  assign take_o = {N{en_o}} & (~adds | enters);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      upper_goes_first_q <= 1'b0;
      upper_enters_first_q <= 1'b0;
    end else begin
      if (goes != '0) upper_goes_first_q <= goes[0];
      if (en_o && enters != '0) upper_enters_first_q <= enters[0];
    end
  end

  logic [D-1:0] unit_sum;
  logic unused_sum_valid;
  mt_reduce_unit #(
    .Latency(Latency), .EnCopy(1'b0), .EnInt32(EnInt32), .EnFp32(EnFp32), .EnBf16(EnBf16),
    .EnFp16(EnFp16), .FpImpl(FpImpl), .DataW(D)
  ) u_unit (
    .clk_i, .rst_ni, .en_i(en_o), .valid_i(adds != '0), .dtype_i, .copy_i(1'b0),
    .a_i(enters[1] ? a_i[D +: D] : a_i[0 +: D]), .b_i(enters[1] ? b_i[D +: D] : b_i[0 +: D]),
    .valid_o(unused_sum_valid), .r_o(unit_sum));

  logic [N-1:0] there;  // the result of an earlier word, and not accepted before
  logic [N-1:0] sent_q;
  assign en_o = ready_i == '1;
  assign valid_o = there & ~sent_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || en_o) sent_q <= '0;
    else sent_q <= ready_i;
  end

  for (genvar p = 0; p < N; p++) begin : gen_port
    // What of the port is in each stage: sums in the unit, copies beside it.
    logic [Latency-1:0] added_q, copied_q;
    logic [Latency:0] copied;
    assign copied = {copied_q, valid_i[p] && copy_i[p]};
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        added_q <= '0;
        copied_q <= '0;
      end else if (en_o) begin
        added_q <= Latency'({added_q, enters[p]});
        copied_q <= copied[Latency-1:0];
      end
    end
    for (genvar s = 0; s < Latency; s++) begin : gen_stage
      logic [D-1:0] came, word_q;
      if (s == 0) begin : gen_first
        assign came = b_i[p*D +: D];
      end else begin : gen_next
        assign came = gen_stage[s-1].word_q;
      end
      always_ff @(posedge clk_i) if (en_o && copied[s]) word_q <= came;
    end
    assign there[p] = copied[Latency] || added_q[Latency-1];
    assign r_o[p*D +: D] = copied[Latency] ? gen_stage[Latency-1].word_q : unit_sum;
  end

  `MT_ASSERT(OneInUnit, (gen_port[0].added_q & gen_port[1].added_q) == '0)
endmodule
