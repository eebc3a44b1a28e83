// SPDX-License-Identifier: BSD-3-Clause
// Credits of a sender: how many words each virtual channel of the receiver has room for. There are
// none before the first load. initial_i is held from one load to the next.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_credit #(
  // Bits of a counter: it holds up to 2**CntW - 1 credits.
  parameter int unsigned CntW = 4,
  // Virtual channels, a counter for each.
  parameter int unsigned NumVc = 1
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  // Start over with initial_i credits from the next cycle on; nothing is taken or given meanwhile.
  input  logic            load_i,
  input  logic [CntW-1:0] initial_i,

  // Use one credit: only if there is one.
  input  logic [NumVc-1:0] take_i,
  // One credit comes back.
  input  logic [NumVc-1:0] give_i,

  // Credits that this cycle can use, with the one that comes back in it; of v in v*CntW +: CntW.
  output logic [NumVc*CntW-1:0] available_o,
  output logic [NumVc-1:0] has_o,
  // All of them are available: nothing is under way.
  output logic [NumVc-1:0] full_o,
  // More came back than was taken (in this cycle); the surplus does not count.
  output logic [NumVc-1:0] error_o
);
  logic [NumVc*CntW-1:0] count_q;
  // home_q: no credit was under way at the start of the cycle.
  logic [NumVc-1:0] home_q, gain, some;

  for (genvar v = 0; v < NumVc; v++) begin : gen_channel
    assign some[v] = count_q[v*CntW +: CntW] != '0;
    assign available_o[v*CntW +: CntW] = count_q[v*CntW +: CntW] + CntW'(gain[v]);
  end

  always_comb begin
    gain = '0;
    has_o = some;
    full_o = home_q;
    error_o = '0;
    if (`MT_WORK(give_i != '0)) begin
      gain = give_i & ~home_q;
      has_o = gain | some;
      for (int unsigned v = 0; v < NumVc; v++) begin
        if (gain[v]) full_o[v] = count_q[v*CntW +: CntW] + CntW'(1) == initial_i;
      end
      error_o = give_i & home_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= '0;
      home_q <= '1;
    end else if (load_i) begin
      count_q <= {NumVc{initial_i}};
      home_q <= '1;
    end else if (`MT_WORK((give_i | take_i) != '0)) begin
      for (int unsigned v = 0; v < NumVc; v++) begin
        // One more or one less.
        if (gain[v] != take_i[v]) begin
          count_q[v*CntW +: CntW] <= take_i[v] ? count_q[v*CntW +: CntW] - CntW'(1)
                                               : count_q[v*CntW +: CntW] + CntW'(1);
        end
      end
      home_q <= full_o & ~take_i;
    end
  end

`ifndef SYNTHESIS
  logic [NumVc-1:0] below;
  for (genvar v = 0; v < NumVc; v++) begin : gen_below
    assign below[v] = count_q[v*CntW +: CntW] < initial_i;
  end
  `MT_ASSERT(CreditRange, load_i || (home_q | below) == '1)
`endif
  `MT_ASSERT(CreditTaken, (take_i & ~has_o) == '0)
  `MT_ASSERT(CreditLoad, !load_i || (take_i == '0 && give_i == '0))
  `MT_ASSERT_NEXT(CreditInitial, 1'b1, load_i || $stable(initial_i))
endmodule
