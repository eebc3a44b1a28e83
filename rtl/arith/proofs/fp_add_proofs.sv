// SPDX-License-Identifier: BSD-3-Clause
// What holds for all operands of mt_fp_add, for a prover of combinational logic: `run` takes the
// output register out.
module fp_add_proofs #(
  // The format, as in mt_fp_add.
  parameter int unsigned ExpW = 8,
  parameter int unsigned ManW = 23,
  // Which property: 0 a + b == b + a, 1 x + 0 == x, 2 (-a) + (-b) == -(a + b).
  parameter int unsigned Property = 0,
  // Derived: bits of an operand.
  localparam int unsigned Width = 1 + ExpW + ManW
) (
  input logic             clk_i,
  input logic [Width-1:0] a_i,
  input logic [Width-1:0] b_i
);

  localparam logic [Width-1:0] Sign = {1'b1, {(Width-1){1'b0}}};
  localparam logic [Width-2:0] Infinity = {{ExpW{1'b1}}, {ManW{1'b0}}};

  // Two sums, with operands by property.
  logic [Width-1:0] a1, b1, r1, a2, b2, r2;
  mt_fp_add #(.ExpW(ExpW), .ManW(ManW), .Latency(1)) u_first (
    .clk_i,
    .en_i(1'b1),
    .format_i(2'd1),
    .a_i(a1),
    .b_i(b1),
    .r_o(r1)
  );
  mt_fp_add #(.ExpW(ExpW), .ManW(ManW), .Latency(1)) u_second (
    .clk_i,
    .en_i(1'b1),
    .format_i(2'd1),
    .a_i(a2),
    .b_i(b2),
    .r_o(r2)
  );

  wire nan = a_i[Width-2:0] > Infinity || b_i[Width-2:0] > Infinity;

  if (Property == 0) begin : gen_commutes
    assign {a1, b1, a2, b2} = {a_i, b_i, b_i, a_i};
    always_comb if (!nan) assert (r1 == r2);
  end else if (Property == 1) begin : gen_zero
    // -0 changes nothing; +0 makes -0 positive.
    assign {a1, b1, a2, b2} = {a_i, Sign, a_i, {Width{1'b0}}};
    always_comb if (!nan) assert (r1 == a_i && r2 == (a_i == Sign ? '0 : a_i));
  end else begin : gen_negates
    // But the zero of x - x and the NaN of inf - inf have signs of their own.
    assign {a1, b1, a2, b2} = {a_i, b_i, a_i ^ Sign, b_i ^ Sign};
    always_comb if (!nan && a_i != (b_i ^ Sign)) assert (r1 == (r2 ^ Sign));
  end

endmodule
