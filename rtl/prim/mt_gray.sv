// SPDX-License-Identifier: BSD-3-Clause
// A counter that another clock may look at (mt_gray_sync): in Gray code, of which one bit changes at a time,
// so whoever looks while it changes sees the old count or the new one. It counts modulo 2**Width.
`include "mt_assert.svh"

module mt_gray #(
  // Bits.
  parameter int unsigned Width = 4
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  input  logic             count_i,  // one more
  output logic [Width-1:0] value_o,
  output logic [Width-1:0] gray_o    // from registers
);

  logic [Width-1:0] next;
  assign next = value_o + Width'(count_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      value_o <= '0;
      gray_o <= '0;
    end else begin
      value_o <= next;
      gray_o <= next ^ (next >> 1);
    end
  end

  `MT_ASSERT(GrayIsValue, gray_o == (value_o ^ (value_o >> 1)))
  `MT_ASSERT_NEXT(OneBitAtATime, 1'b1,
      ((gray_o ^ $past(gray_o)) & ((gray_o ^ $past(gray_o)) - Width'(1))) == '0)
endmodule
