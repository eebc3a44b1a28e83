// SPDX-License-Identifier: BSD-3-Clause
// A wide adder with Narrow gives for bf16 and fp16 what adders of just these do, NaNs included; for
// a prover of combinational logic, as fp_add_proofs.
module fp_narrow_proofs #(
  // The narrow format: 8 and 7, or 5 and 10.
  parameter int unsigned ExpW = 8,
  parameter int unsigned ManW = 7,
  // Significand of the wide adder.
  parameter int unsigned WideManW = 23
) (
  input logic        clk_i,
  input logic [15:0] a_i,
  input logic [15:0] b_i
);

  localparam bit Fp16 = ExpW == 5;

  // As in mt_reduce_unit.
  function automatic logic [18:0] widen(input logic [15:0] half);
    widen = Fp16 ? {half[15], {3{&half[14:10]}}, half[14:0]} : {half, 3'd0};
  endfunction

  logic [31:0] a, b, wide;
  logic [15:0] narrow;
  assign a = {widen(a_i), 13'd0};
  assign b = {widen(b_i), 13'd0};
  mt_fp_add #(.ExpW(8), .ManW(WideManW), .Latency(1), .Narrow(1'b1)) u_wide (
    .clk_i,
    .en_i(1'b1),
    .format_i(Fp16 ? 2'd3 : 2'd2),
    .a_i(a[31-:9+WideManW]),
    .b_i(b[31-:9+WideManW]),
    .r_o(wide[31-:9+WideManW])
  );
  mt_fp_add #(.ExpW(ExpW), .ManW(ManW), .Latency(1)) u_narrow (
    .clk_i,
    .en_i(1'b1),
    .format_i(2'd0),
    .a_i,
    .b_i,
    .r_o(narrow)
  );

  always_comb assert (narrow == (Fp16 ? {wide[31], wide[27:13]} : wide[31:16]));

endmodule
