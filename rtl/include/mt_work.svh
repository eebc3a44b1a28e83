// SPDX-License-Identifier: BSD-3-Clause
// if (`MT_WORK(condition)) is around logic whose results are known where the condition is false:
// simulation skips it there. Hardware works it out in every cycle, so it costs no gates; so do proofs, which
// are of what is synthesized. Both are equal: what comes out is the same with and without the
// condition, or is not looked at. The co-simulation runs both.
`ifndef MT_WORK_SVH
`define MT_WORK_SVH
`ifdef SYNTHESIS
`define MT_WORK(condition) 1'b1
`elsif FORMAL
`define MT_WORK(condition) 1'b1
`else
`define MT_WORK(condition) (condition)
`endif
`endif
