// SPDX-License-Identifier: BSD-3-Clause
// Round robin: grants the first request at or after a pointer, cyclically. A steady request waits
// for at most N - 1 others.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_rr_arb #(
  // Requesters.
  parameter int unsigned N = 4,
  localparam int unsigned IdxW = N > 1 ? $clog2(N) : 1
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic [N-1:0]    req_i,
  // The grant is used: the pointer moves behind it. The grant does not depend on it.
  input  logic            en_i,
  output logic [N-1:0]    gnt_o,
  // 0 without a request.
  output logic [IdxW-1:0] gnt_idx_o
);
  // The requesters at or after the pointer: none of them once the last one was granted.
  logic [N-1:0] after_q, ahead, from;
  logic any;

  always_comb begin
    ahead = '0;
    from = '0;
    if (`MT_WORK(req_i != '0)) begin
      ahead = req_i & after_q;
      from = ahead != '0 ? ahead : req_i;
    end
  end

  mt_prio_enc #(.N(N)) u_first (
    .req_i(from),
    .any_o(any),
    .onehot_o(gnt_o),
    .idx_o(gnt_idx_o)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) after_q <= '1;
    // All bits above the lowest set one.
    else if (en_i && any) after_q <= from ^ -from;
  end

  `MT_ASSERT(RrGrant, (gnt_o & ~req_i) == '0 && (gnt_o & (gnt_o - 1'b1)) == '0 &&
                      (gnt_o != '0) == (req_i != '0))
  // The set bits of the mask are its upper ones.
  `MT_ASSERT(RrMask, (after_q | -after_q) == after_q)
endmodule
