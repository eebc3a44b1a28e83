// SPDX-License-Identifier: BSD-3-Clause
// Adds an arriving flit to what memory holds, element by element, one flit per cycle; or hands it
// through, for a gather. Lane 0 is in the lowest bits.
//
// Each stage of each type's adders moves only with operands of that type in it: the others rest,
// in hardware and in simulation.
`include "mt_assert.svh"

module mt_reduce_unit #(
  // Enabled cycles from operands to result, 1 to 4.
  parameter int unsigned Latency = 3,
  // The types that can be added. Others cost nothing, and may only be gathered.
  parameter bit          EnInt32 = 1'b1,
  parameter bit          EnFp32 = 1'b1,
  parameter bit          EnBf16 = 1'b1,
  parameter bit          EnFp16 = 1'b1,
  // 0: adders. 1: a call of a C function for each flit, with the same results, in simulation only.
  parameter int unsigned FpImpl = 0
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
  input  logic [127:0] a_i,
  // The arriving flit.
  input  logic [127:0] b_i,
  output logic         valid_o,
  // Behind registers and one multiplexer; has a meaning with valid_o only.
  output logic [127:0] r_o
);

  localparam int unsigned DataW = 128;
  // What is done: {copy, dtype}; gathers and int32 need no name.
  localparam logic [2:0] AddFp32 = 3'd1;
  localparam logic [2:0] AddBf16 = 3'd2;
  localparam logic [2:0] AddFp16 = 3'd3;

  if (Latency < 1 || Latency > 4) begin : gen_bad_latency
    $error("mt_reduce_unit: Latency is 1 to 4");
  end

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

  // Which stages move for which operation; `pass` is everything that is done after one stage.
  logic [Latency-1:0] en_pass, en_fp32, en_bf16, en_fp16;
  logic [DataW-1:0]   r_pass, r_fp32, r_bf16, r_fp16;
  for (genvar s = 0; s < Latency; s++) begin : gen_en
    wire moves = en_i && valid[s];
    assign en_fp32[s] = moves && EnFp32 && FpImpl == 0 && op[3*s+:3] == AddFp32;
    assign en_bf16[s] = moves && EnBf16 && FpImpl == 0 && op[3*s+:3] == AddBf16;
    assign en_fp16[s] = moves && EnFp16 && FpImpl == 0 && op[3*s+:3] == AddFp16;
    assign en_pass[s] = moves && !en_fp32[s] && !en_bf16[s] && !en_fp16[s];
  end

  // Gathers and integers; with FpImpl 1, everything.
  for (genvar s = 0; s < Latency; s++) begin : gen_pass
    logic [DataW-1:0] data_q;
    if (s > 0) begin : gen_delay
      always_ff @(posedge clk_i) begin
        if (en_pass[s]) data_q <= gen_pass[s-1].data_q;
      end
    end else if (FpImpl == 0) begin : gen_first
      for (genvar i = 0; i < 4; i++) begin : gen_lane
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
          if (!copy_i) mt_dpi_add({30'd0, dtype_i}, a_i, b_i, sum);
          data_q <= sum;
        end
      end
`else
      $error("mt_reduce_unit: FpImpl 1 is for simulation only");
`endif
    end
  end
  assign r_pass = gen_pass[Latency-1].data_q;

  if (EnFp32 && FpImpl == 0) begin : gen_fp32
    for (genvar i = 0; i < 4; i++) begin : gen_lane
      mt_fp_add #(.ExpW(8), .ManW(23), .Latency(Latency)) u_add (
        .clk_i,
        .en_i(en_fp32),
        .a_i(a_i[32*i+:32]),
        .b_i(b_i[32*i+:32]),
        .r_o(r_fp32[32*i+:32])
      );
    end
  end else begin : gen_no_fp32
    assign r_fp32 = r_pass;
  end

  if (EnBf16 && FpImpl == 0) begin : gen_bf16
    for (genvar i = 0; i < 8; i++) begin : gen_lane
      mt_fp_add #(.ExpW(8), .ManW(7), .Latency(Latency)) u_add (
        .clk_i,
        .en_i(en_bf16),
        .a_i(a_i[16*i+:16]),
        .b_i(b_i[16*i+:16]),
        .r_o(r_bf16[16*i+:16])
      );
    end
  end else begin : gen_no_bf16
    assign r_bf16 = r_pass;
  end

  if (EnFp16 && FpImpl == 0) begin : gen_fp16
    for (genvar i = 0; i < 8; i++) begin : gen_lane
      mt_fp_add #(.ExpW(5), .ManW(10), .Latency(Latency), .CanonicalNan(1'b1)) u_add (
        .clk_i,
        .en_i(en_fp16),
        .a_i(a_i[16*i+:16]),
        .b_i(b_i[16*i+:16]),
        .r_o(r_fp16[16*i+:16])
      );
    end
  end else begin : gen_no_fp16
    assign r_fp16 = r_pass;
  end

  always_comb begin
    unique case (op[3*Latency+:3])
      AddFp32: r_o = r_fp32;
      AddBf16: r_o = r_bf16;
      AddFp16: r_o = r_fp16;
      default: r_o = r_pass;
    endcase
  end

  `MT_ASSUME(TypeEnabled, !valid_i ||
      ({4'b1111, EnFp16, EnBf16, EnFp32, EnInt32} & (8'd1 << {copy_i, dtype_i})) != '0)
  `MT_ASSERT_NEXT(ResultHolds, !en_i && valid_o, valid_o && r_o == $past(r_o))

endmodule
