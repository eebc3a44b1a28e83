// SPDX-License-Identifier: BSD-3-Clause
// Adds an arriving flit to what memory holds, element by element, one flit per cycle; or hands it
// through, for a gather. Lane 0 is in the lowest bits.
//
// Each word of 32 bits has two adders: a wide one for fp32 or the upper bf16 or fp16, and a narrow
// one for the lower. Each stage of them moves only with operands in it that it is for.
`include "mt_assert.svh"

module mt_reduce_unit #(
  // Enabled cycles from operands to result, 1 to 4.
  parameter int unsigned Latency = 3,
  // 1: gathers too.
  parameter bit          EnCopy = 1'b1,
  // The types that can be added. Others cost nothing, and may only be gathered.
  parameter bit          EnInt32 = 1'b1,
  parameter bit          EnFp32 = 1'b1,
  parameter bit          EnBf16 = 1'b1,
  parameter bit          EnFp16 = 1'b1,
  // 0: adders. 1: a call of a C function for each 128 bits, with the same results, in simulation only.
  parameter int unsigned FpImpl = 0,
  // Bits of a flit, a multiple of 128.
  parameter int unsigned DataW = 128
) (
  input  logic         clk_i,
  // Synchronous.
  input  logic         rst_ni,
  // The pipeline moves only in cycles with this.
  input  logic         en_i,
  input  logic         valid_i,
  // 0 int32, 1 fp32, 2 bf16, 3 fp16.
  input  logic [1:0]   dtype_i,
  // The result is b: a gather.
  input  logic         copy_i,
  // The accumulator, from memory.
  input  logic [DataW-1:0] a_i,
  // The arriving flit.
  input  logic [DataW-1:0] b_i,
  output logic         valid_o,
  // Behind registers and one multiplexer; has a meaning with valid_o only.
  output logic [DataW-1:0] r_o
);

  localparam int unsigned Words = DataW / 32;
  // What is done, {copy, dtype}; gathers and int32 need no name.
  localparam logic [2:0] AddFp32 = 3'd1;
  localparam logic [2:0] AddBf16 = 3'd2;
  localparam logic [2:0] AddFp16 = 3'd3;

  if (Latency < 1 || Latency > 4) begin : gen_bad_latency
    $error("mt_reduce_unit: Latency is 1 to 4");
  end

  // Needs the adders of halves; any adders.
  function automatic logic in_half(input logic [2:0] what);
    in_half = FpImpl == 0 && ((EnBf16 && what == AddBf16) || (EnFp16 && what == AddFp16));
  endfunction
  function automatic logic in_adder(input logic [2:0] what);
    in_adder = in_half(what) || (FpImpl == 0 && EnFp32 && what == AddFp32);
  endfunction

  // Half of a word as an operand of an adder, and back: fp16's exponent is extended by zeros, or by
  // ones if it is all ones.
  function automatic logic [18:0] widen(input logic [15:0] half, input logic fp16);
    widen = fp16 ? {half[15], {3{&half[14:10]}}, half[14:0]} : {half, 3'd0};
  endfunction
  function automatic logic [15:0] narrow(input logic [18:0] sum, input logic fp16);
    narrow = fp16 ? {sum[18], sum[14:0]} : sum[18:3];
  endfunction

  // What is before stage s, and for s == Latency at the output.
  logic [Latency:0]     valid;
  logic [3*Latency+2:0] op;
  logic [Latency-1:0]   valid_q;
  logic [3*Latency-1:0] op_q;
  assign valid = {valid_q, valid_i};
  assign op = {op_q, copy_i, dtype_i};
  assign valid_o = valid[Latency];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else if (en_i) valid_q <= valid[Latency-1:0];
  end
  always_ff @(posedge clk_i) begin
    if (en_i) op_q <= op[3*Latency-1:0];
  end

  // Which stages of what move: adders of halves, adders of words, and `pass`, for all that takes
  // but one stage.
  localparam bit EnHalf = EnBf16 || EnFp16;
  logic [Latency-1:0] en_half, en_word, en_pass;
  logic [DataW-1:0]   r_pass;
  for (genvar s = 0; s < Latency; s++) begin : gen_en
    wire moves = en_i && valid[s];
    assign en_half[s] = moves && in_half(op[3*s+:3]);
    assign en_word[s] = moves && in_adder(op[3*s+:3]);
    assign en_pass[s] = moves && !in_adder(op[3*s+:3]);
  end
  // Which of these have a use depends on the parameters; so below, with the same name.
  wire unused_en = ^{en_half, en_word, op};

  // Gathers and integers; with FpImpl 1, everything.
  localparam bit EnPass = EnCopy || EnInt32 || FpImpl != 0;
  for (genvar s = 0; EnPass && s < Latency; s++) begin : gen_pass
    logic [DataW-1:0] data_q;
    if (s > 0) begin : gen_delay
      always_ff @(posedge clk_i) begin
        if (en_pass[s]) data_q <= gen_pass[s-1].data_q;
      end
    end else if (FpImpl == 0) begin : gen_first
      for (genvar i = 0; i < Words; i++) begin : gen_lane
        always_ff @(posedge clk_i) begin
          if (en_pass[0]) begin
            data_q[32*i+:32] <= (EnInt32 && !copy_i ? a_i[32*i+:32] : 32'd0) + b_i[32*i+:32];
          end
        end
      end
    end else begin : gen_dpi
`ifdef VERILATOR
      import "DPI-C" function void mt_dpi_add(input int dtype, input bit [127:0] a,
                                              input bit [127:0] b, output bit [127:0] r);
      always_ff @(posedge clk_i) begin
        if (en_pass[0]) begin : first
          bit [DataW-1:0] sum;
          sum = b_i;
          if (!copy_i) begin
            for (int unsigned i = 0; i < DataW; i += 128) begin
              mt_dpi_add({30'd0, dtype_i}, a_i[i +: 128], b_i[i +: 128], sum[i +: 128]);
            end
          end
          data_q <= sum;
        end
      end
`else
      $error("mt_reduce_unit: FpImpl 1 is for simulation only");
`endif
    end
  end
  if (EnPass) begin : gen_passed
    assign r_pass = gen_pass[Latency-1].data_q;
  end else begin : gen_not_passed
    logic unused_pass;
    assign r_pass = '0;
    assign unused_pass = ^en_pass;
  end

  if (FpImpl == 0 && (EnFp32 || EnHalf)) begin : gen_adders
    // As wide as the widest type needs; operands are at the upper end.
    localparam int unsigned HalfManW = EnFp16 ? 10 : 7;
    localparam int unsigned HalfW = 9 + HalfManW;
    localparam int unsigned WordManW = EnFp32 ? 23 : HalfManW;
    localparam int unsigned WordW = 9 + WordManW;

    // What is before the first stage, before the last, and at the output.
    wire       in_word = EnFp32 && (!EnHalf || !dtype_i[1]);
    wire       in_fp16 = EnFp16 && dtype_i[0];
    wire [1:0] format = op[3*(Latency-1)+:2];
    wire       out_pass = !in_adder(op[3*Latency+:3]);
    wire       out_word = EnFp32 && (!EnHalf || !op[3*Latency+1]);
    wire       out_fp16 = EnFp16 && op[3*Latency];
    wire       unused_out = out_word ^ out_fp16;

    for (genvar i = 0; i < Words; i++) begin : gen_word
      logic [31:0] a, b, word, sums;
      always_comb begin
        a = a_i[32*i+:32];
        b = b_i[32*i+:32];
        if (!in_word) begin
          a = {widen(a_i[32*i+16+:16], in_fp16), 13'd0};
          b = {widen(b_i[32*i+16+:16], in_fp16), 13'd0};
        end
      end
      wire unused_bits = ^{a, b};
      if (WordW < 32) assign word[31-WordW:0] = '0;
      mt_fp_add #(
        .ExpW(8),
        .ManW(WordManW),
        .Latency(Latency),
        .Narrow(EnFp16 || (EnFp32 && EnBf16))
      ) u_word (
        .clk_i,
        .en_i(en_word),
        .format_i(format),
        .a_i(a[31-:WordW]),
        .b_i(b[31-:WordW]),
        .r_o(word[31-:WordW])
      );

      if (EnHalf) begin : gen_half
        logic [18:0] half_a, half_b, half;
        assign half_a = widen(a_i[32*i+:16], in_fp16);
        assign half_b = widen(b_i[32*i+:16], in_fp16);
        wire unused_half_bits = ^{half_a, half_b};
        if (HalfW < 19) assign half[18-HalfW:0] = '0;
        mt_fp_add #(.ExpW(8), .ManW(HalfManW), .Latency(Latency), .Narrow(EnFp16)) u_half (
          .clk_i,
          .en_i(en_half),
          .format_i(format),
          .a_i(half_a[18-:HalfW]),
          .b_i(half_b[18-:HalfW]),
          .r_o(half[18-:HalfW])
        );
        assign sums = out_word ? word : {narrow(word[31:13], out_fp16), narrow(half, out_fp16)};
      end else begin : gen_no_half
        assign sums = word;
      end
      assign r_o[32*i+:32] = EnPass && out_pass ? r_pass[32*i+:32] : sums;
    end
  end else begin : gen_no_adders
    assign r_o = r_pass;
  end

  `MT_ASSUME(TypeEnabled, !valid_i ||
      ({{4{EnCopy}}, EnFp16, EnBf16, EnFp32, EnInt32} & (8'd1 << {copy_i, dtype_i})) != '0)
  `MT_ASSERT_NEXT(ResultHolds, !en_i && valid_o, valid_o && r_o == $past(r_o))

endmodule
