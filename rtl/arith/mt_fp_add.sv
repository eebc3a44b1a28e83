// SPDX-License-Identifier: BSD-3-Clause
// IEEE 754 addition of any binary format: round to nearest even, subnormals, infinities, NaNs.
//
// The operands are ordered by magnitude, so that one subtraction of exponents, one addition and
// one left shift serve every case:
//
// - The sum keeps one bit above the larger operand's leading one: a carry is a normalisation by
//   no place, and there is no right shift. The left shift stops where the exponent would become
//   zero, which makes subnormal results, and exact zeros, without a case of their own.
// - A smaller operand that is too far away is shifted into the sticky bit, where it cannot change
//   the larger one. Infinities and NaNs push every other operand there, and so pass through the
//   adder like numbers, payload included.
//
// NaNs are those of x86: a if it is a NaN, else b, made quiet; inf - inf is negative. Those of
// fp16 keep but their sign, as after a conversion in software.
//
// Only the last step depends on the format, as no step knows the exponent's bias. So an adder with
// `Narrow` also adds bf16 and fp16, for some multiplexers: with significands from the highest bit
// on, zeros below, and fp16's exponent extended by zeros, or ones if it is all ones. What is below
// such a result's significand has no meaning; above fp16's exponent it neither has.
module mt_fp_add #(
  // Bits of the exponent field: 8 for fp32 and bf16, 5 for fp16.
  parameter int unsigned ExpW = 8,
  // Bits of the stored significand: 23 for fp32, 7 for bf16, 10 for fp16.
  parameter int unsigned ManW = 23,
  // Register stages, 1 to 4; the last one is the output.
  parameter int unsigned Latency = 3,
  // Adds bf16 and fp16 too; for ExpW = 8 and ManW >= 10.
  parameter bit          Narrow = 1'b0,
  // Derived: bits of an operand.
  localparam int unsigned Width = 1 + ExpW + ManW
) (
  input  logic               clk_i,
  // Bit s lets stage s take what is before it: all equal to stall the pipeline as a whole, or
  // with the valid bit of each stage, so that stages without operands rest.
  input  logic [Latency-1:0] en_i,
  // With Narrow, what is before the last stage: 2 bf16, 3 fp16, else the format of the parameters.
  input  logic [1:0]         format_i,
  input  logic [Width-1:0]   a_i,
  input  logic [Width-1:0]   b_i,
  output logic [Width-1:0]   r_o
);

  if (ManW < 3 || ExpW < $clog2(ManW + 4) || Latency < 1 || Latency > 4) begin : gen_bad_parameters
    $error("mt_fp_add: ManW is at least 3, ExpW can count ManW + 4 places, Latency is 1 to 4");
  end
  if (Narrow && (ExpW != 8 || ManW < 10)) begin : gen_bad_narrow
    $error("mt_fp_add: Narrow is for ExpW = 8 and ManW >= 10");
  end

  // Significand with its leading one, and with guard, round and sticky bits.
  localparam int unsigned SigW = ManW + 1;
  localparam int unsigned ExtW = SigW + 3;
  // The sum, with room for a carry.
  localparam int unsigned SumW = ExtW + 1;
  // Bits that count places in either shift.
  localparam int unsigned AlignW = $clog2(ExtW);
  localparam int unsigned NormW = $clog2(ExtW - 1);
  // The left shift by 2**NormCut places and more is the coarse one.
  localparam int unsigned NormCut = NormW - 2;
  // What is below the leading one, and how much of it is below a narrow result.
  localparam int unsigned FracW = SumW - 1;
  localparam logic [FracW-1:0] Fp16Rest = {FracW{1'b1}} >> 10;
  localparam logic [FracW-1:0] Bf16Rest = {FracW{1'b1}} >> 7;
  // What passes between the steps below: sign, make quiet, subtract, exponent, significands; then
  // sign, make quiet, exponent, places shifted, sum.
  localparam int unsigned AlignedW = 3 + ExpW + SigW + ExtW;
  localparam int unsigned AddedW = 2 + ExpW + NormW + SumW;

  // Step 1: orders the operands by magnitude and aligns the smaller one.
  function automatic logic [AlignedW-1:0] align(input logic [Width-1:0] a,
                                                input logic [Width-1:0] b);
    logic [Width-2:0] less, differ;
    logic              a_nan, swap, sub, cancel, big_special, big_nan, lost;
    logic [Width-1:0]  big;
    logic [Width-2:0]  little;
    logic [ExpW-1:0]   a_exp, b_exp, big_exp, distance;
    logic [AlignW-1:0] places;
    logic [ExtW-1:0]   ext;

    // The highest bit in which they differ decides; found by a tree.
    less = b[Width-2:0];
    differ = a[Width-2:0] ^ b[Width-2:0];
    for (int step = 1; step < Width - 1; step = 2 * step) begin
      for (int i = 0; i + step < Width - 1; i = i + 2 * step) begin
        less[i] = differ[i+step] ? less[i+step] : less[i];
        differ[i] = differ[i] | differ[i+step];
      end
    end
    a_nan = &a[ManW+:ExpW] && |a[ManW-1:0];
    swap = differ[0] && less[0] && !a_nan;
    big = swap ? b : a;
    little = swap ? a[Width-2:0] : b[Width-2:0];

    // An exponent of zero has the same weight as one. Both differences: sooner than the order.
    a_exp = a[ManW+:ExpW] | ExpW'(a[ManW+:ExpW] == '0);
    b_exp = b[ManW+:ExpW] | ExpW'(b[ManW+:ExpW] == '0);
    distance = swap ? b_exp - a_exp : a_exp - b_exp;
    big_exp = swap ? b_exp : a_exp;
    big_special = &big_exp;
    places = distance[AlignW-1:0] | {AlignW{big_special || |(distance >> AlignW)}};
    ext = {little[ManW+:ExpW] != '0, little[ManW-1:0], 3'b000};
    lost = 1'b0;
    for (int k = 0; k < AlignW; k = k + 1) begin
      if (places[k]) begin
        lost = lost || |(ext & ((ExtW'(1) << (1 << k)) - ExtW'(1)));
        ext = ext >> (1 << k);
      end
    end
    ext[0] = ext[0] | lost;

    sub = a[Width-1] ^ b[Width-1];
    cancel = sub && !differ[0];
    big_nan = big_special && |big[ManW-1:0];
    align = {cancel && !big_nan ? big_special : big[Width-1], big_nan || (cancel && big_special),
             sub, big_exp, big[ManW+:ExpW] != '0, big[ManW-1:0], ext};
  endfunction

  // Step 2: adds or subtracts. The exponent is from here on that of the carry, less one.
  function automatic logic [AddedW-1:0] add(input logic [AlignedW-1:0] aligned);
    logic            sign, quiet, sub;
    logic [ExpW-1:0] exponent;
    logic [SigW-1:0] big;
    logic [ExtW-1:0] ext;
    logic [SumW-1:0] sum;

    {sign, quiet, sub, exponent, big, ext} = aligned;
    sum = {1'b0, big, 2'b00, sub} + {sub, ext ^ {ExtW{sub}}};
    add = {sign, quiet, exponent, NormW'(0), sum};
  endfunction

  // Step 3: shifts the leading one to the top, but by no more places than the exponent has; the
  // coarse part of the shift, then the fine one. The exponent's bits are used up from the top:
  // one that is set and has not been used leaves enough for all below it.
  function automatic logic [AddedW-1:0] normalise(input logic [AddedW-1:0] added,
                                                  input logic coarse);
    logic             sign, quiet;
    logic [ExpW-1:0]  exponent, left;
    logic [NormW-1:0] places;
    logic [SumW-1:0]  sum;

    {sign, quiet, exponent, places, sum} = added;
    left = exponent;
    left[NormW-1:0] = left[NormW-1:0] & ~places;
    for (int k = NormW - 1; k >= 0; k = k - 1) begin
      if (coarse == (k >= NormCut)) begin
        places[k] = |(left >> k) && (sum >> (SumW - (1 << k))) == '0;
        left[k] = left[k] && !places[k];
        if (places[k]) sum = sum << (1 << k);
      end
    end
    normalise = {sign, quiet, exponent, places, sum};
  endfunction

  // Step 4: rounds and packs. Rounding up may carry into the exponent, up to infinity.
  function automatic logic [Width-1:0] round(input logic [AddedW-1:0] normalised,
                                             input logic [1:0] format);
    logic             sign, quiet, top, fp16, overflow, up;
    logic [ExpW-1:0]  exponent;
    logic [NormW-1:0] places;
    logic [FracW-1:0] fraction, rest, half;
    logic [Width-2:0] magnitude;

    {sign, quiet, exponent, places, top, fraction} = normalised;
    fp16 = (Narrow && format == 2'd3) || ExpW == 5;
    rest = Narrow && format == 2'd3 ? Fp16Rest : Narrow && format == 2'd2 ? Bf16Rest : FracW'(15);
    half = rest ^ (rest >> 1);
    up = |(fraction & half) && |(fraction & ((half << 1) | (rest >> 1)));
    // A carry out of the largest exponent, which is 30 or 254.
    overflow = top && places == '0 &&
        (exponent | (fp16 ? ~ExpW'(31) : '0)) == {{(ExpW-1){1'b1}}, 1'b0};
    exponent = (exponent + ExpW'(1) - ExpW'(places)) & {ExpW{top}};
    // The bits below the result are ones, so that rounding up goes through them.
    fraction = (fraction | rest) & {FracW{!overflow}};
    magnitude = {exponent, fraction[FracW-1:4]} + (Width-1)'(up && !overflow);
    if (quiet) magnitude[ManW-1:0] = {1'b1, magnitude[ManW-2:0] & {(ManW-1){!fp16}}};
    round = {sign, magnitude};
  endfunction

  // The steps between two registers are of about equal depth. Functions in clocked blocks: what a
  // stage at rest would compute, a simulator does not.
  if (Latency == 1) begin : gen_latency_1
    always_ff @(posedge clk_i) begin
      if (en_i[0]) r_o <= round(normalise(normalise(add(align(a_i, b_i)), 1'b1), 1'b0), format_i);
    end
  end else if (Latency == 2) begin : gen_latency_2
    logic [AddedW-1:0] added_q;
    always_ff @(posedge clk_i) begin
      if (en_i[0]) added_q <= add(align(a_i, b_i));
      if (en_i[1]) r_o <= round(normalise(normalise(added_q, 1'b1), 1'b0), format_i);
    end
  end else if (Latency == 3) begin : gen_latency_3
    logic [AlignedW-1:0] aligned_q;
    logic [AddedW-1:0]   coarse_q;
    always_ff @(posedge clk_i) begin
      if (en_i[0]) aligned_q <= align(a_i, b_i);
      if (en_i[1]) coarse_q <= normalise(add(aligned_q), 1'b1);
      if (en_i[2]) r_o <= round(normalise(coarse_q, 1'b0), format_i);
    end
  end else begin : gen_latency_4
    logic [AlignedW-1:0] aligned_q;
    logic [AddedW-1:0]   added_q, coarse_q;
    always_ff @(posedge clk_i) begin
      if (en_i[0]) aligned_q <= align(a_i, b_i);
      if (en_i[1]) added_q <= add(aligned_q);
      if (en_i[2]) coarse_q <= normalise(added_q, 1'b1);
      if (en_i[3]) r_o <= round(normalise(coarse_q, 1'b0), format_i);
    end
  end

endmodule
