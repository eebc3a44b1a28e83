// SPDX-License-Identifier: BSD-3-Clause
// Credits of a sender: how many words the receiver has room for. There are none before the first
// load. initial_i is held from one load to the next.
`include "mt_assert.svh"

module mt_credit #(
  // Bits of the counter: it holds up to 2**CntW - 1 credits.
  parameter int unsigned CntW = 4
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  // Start over with initial_i credits from the next cycle on; nothing is taken or given meanwhile.
  input  logic            load_i,
  input  logic [CntW-1:0] initial_i,

  // Use one credit: only if there is one.
  input  logic            take_i,
  // One credit comes back.
  input  logic            give_i,

  // Credits that this cycle can use, with the one that comes back in it.
  output logic [CntW-1:0] available_o,
  output logic            has_o,
  // All of them are available: nothing is under way.
  output logic            full_o,
  // More came back than was taken (in this cycle); the surplus does not count.
  output logic            error_o
);
  logic [CntW-1:0] out_q;  // credits under way: counted from 0, so that a load sets no counter
  logic [CntW-1:0] next;
  logic loaded_q, some, gain;

  // Up by what is taken, down by what comes back; both together leave it as it is.
  assign some = out_q != '0;
  assign gain = give_i && some;
  always_comb begin
    logic carry;
    carry = 1'b1;
    for (int unsigned i = 0; i < CntW; i++) begin
      next[i] = out_q[i] ^ carry;
      carry = carry && out_q[i] != gain;
    end
  end

  assign available_o = loaded_q ? initial_i - out_q + CntW'(gain) : '0;
  assign has_o = gain || (loaded_q && out_q != initial_i);
  assign full_o = !some || (give_i && out_q == CntW'(1));
  assign error_o = give_i && !some;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) loaded_q <= 1'b0;
    else if (load_i) loaded_q <= 1'b1;
    if (!rst_ni || load_i) out_q <= '0;
    else if (take_i != gain) out_q <= next;
  end

  `MT_ASSERT(CreditTaken, !take_i || has_o)
  `MT_ASSERT(CreditLoad, !load_i || (!take_i && !give_i))
  `MT_ASSERT(CreditRange, load_i || out_q == '0 || (loaded_q && out_q <= initial_i))
  `MT_ASSERT_NEXT(CreditInitial, 1'b1, load_i || $stable(initial_i))
endmodule
