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
  logic [CntW-1:0] count_q;
  logic home_q, gain;  // home_q: no credit was under way at the start of the cycle

  assign gain = give_i && !home_q;

  assign available_o = count_q + CntW'(gain);
  assign has_o = gain || count_q != '0;
  assign full_o = home_q || (gain && available_o == initial_i);
  assign error_o = give_i && home_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= '0;
      home_q <= 1'b1;
    end else if (load_i) begin
      count_q <= initial_i;
      home_q <= 1'b1;
    end else begin
      count_q <= available_o - CntW'(take_i);
      home_q <= full_o && !take_i;
    end
  end

  `MT_ASSERT(CreditTaken, !take_i || has_o)
  `MT_ASSERT(CreditLoad, !load_i || (!take_i && !give_i))
  `MT_ASSERT(CreditRange, home_q || load_i || count_q < initial_i)
  `MT_ASSERT_NEXT(CreditInitial, 1'b1, load_i || $stable(initial_i))
endmodule
