// SPDX-License-Identifier: BSD-3-Clause
// Assertions in one form for three tools: nothing in synthesis (SYNTHESIS), immediate assertions
// for formal proofs (FORMAL: yosys knows no concurrent ones), concurrent ones in simulation.
// All use clk_i and rst_ni of the module that they are in.
`ifndef MT_ASSERT_SVH
`define MT_ASSERT_SVH

`ifdef SYNTHESIS
  `define MT_ASSERT(name, condition)
  `define MT_ASSERT_NEXT(name, now, next)
  `define MT_ASSUME(name, condition)
  `define MT_COVER(name, condition)
`elsif FORMAL
  // Holds in every cycle out of reset.
  `define MT_ASSERT(name, condition) \
    always @(posedge clk_i) begin \
      if (rst_ni) name: assert (condition); \
    end
  // If `now` holds in a cycle, `next` holds in the one after; $past() is allowed in `next`.
  `define MT_ASSERT_NEXT(name, now, next) \
    logic name``_before; \
    initial name``_before = 1'b0; \
    always @(posedge clk_i) begin \
      name``_before <= rst_ni && (now); \
      if (rst_ni && name``_before) name: assert (next); \
    end
  // What the environment promises; proven instead where the module is instantiated.
  `define MT_ASSUME(name, condition) \
    always @(posedge clk_i) begin \
      if (rst_ni) name: assume (condition); \
    end
  `define MT_COVER(name, condition) \
    always @(posedge clk_i) begin \
      if (rst_ni) name: cover (condition); \
    end
`else
  `define MT_ASSERT(name, condition) \
    name: assert property (@(posedge clk_i) disable iff (!rst_ni) (condition)) \
      else $error(`"name`");
  `define MT_ASSERT_NEXT(name, now, next) \
    name: assert property (@(posedge clk_i) disable iff (!rst_ni) (now) |=> (next)) \
      else $error(`"name`");
  `define MT_ASSUME(name, condition) `MT_ASSERT(name, condition)
  `define MT_COVER(name, condition) \
    name: cover property (@(posedge clk_i) disable iff (!rst_ni) (condition));
`endif

`endif
