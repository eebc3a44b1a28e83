// SPDX-License-Identifier: BSD-3-Clause
// with: prim/mt_sram.sv prim/mt_fifo.sv prim/mt_credit.sv
// prove: Depth=1 Latency=1
// prove: Depth=3 Latency=2
// prove: Depth=4 Latency=3
// steps: 3
// cover: 12
`include "mt_assert.svh"

// A sender with credits, a link of `Latency` cycles each way, a queue that gives a credit back for
// each word that leaves it: the queue never overflows, and no credit is lost.
module credit_link #(
  parameter int unsigned Depth = 4,
  parameter int unsigned Latency = 2,
  localparam int unsigned CntW = $clog2(Depth + 1)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic send_i,
  input logic out_ready_i
);
  logic loaded_q, take, has, full, error, in_ready, out_valid, data;
  logic [CntW-1:0] available, level;
  logic [Latency-1:0] forth_q, back_q;  // words and credits under way; the last bit arrives
  logic [31:0] total;

  initial assume (!rst_ni);

  assign take = send_i && has && loaded_q;

  mt_credit #(.CntW(CntW)) u_credit (
    .clk_i(clk_i),
    .rst_ni(rst_ni),
    .load_i(!loaded_q),
    .initial_i(CntW'(Depth)),
    .take_i(take),
    .give_i(back_q[Latency-1]),
    .available_o(available),
    .has_o(has),
    .full_o(full),
    .error_o(error)
  );

  mt_fifo #(.Width(1), .Depth(Depth)) u_queue (
    .clk_i(clk_i),
    .rst_ni(rst_ni),
    .in_valid_i(forth_q[Latency-1]),
    .in_ready_o(in_ready),
    .in_data_i(1'b0),
    .out_valid_o(out_valid),
    .out_ready_i(out_ready_i),
    .out_data_o(data),
    .level_o(level)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      loaded_q <= 1'b0;
      forth_q <= '0;
      back_q <= '0;
    end else begin
      loaded_q <= 1'b1;
      forth_q <= Latency'({forth_q, take});
      back_q <= Latency'({back_q, out_valid && out_ready_i});
    end
  end

  // A credit that arrives in this cycle is available already.
  always_comb begin
    total = 32'(available) - 32'(back_q[Latency-1]) + 32'(level);
    for (int unsigned i = 0; i < Latency; i++) total = total + 32'(forth_q[i]) + 32'(back_q[i]);
  end

  `MT_ASSERT(Conserved, total == (loaded_q ? Depth : 0))
  `MT_ASSERT(NothingBeforeLoad, loaded_q || (level == '0 && forth_q == '0 && back_q == '0))
  `MT_ASSERT(NoOverflow, !forth_q[Latency-1] || in_ready)
  `MT_ASSERT(NoSurplus, !error)
  `MT_ASSERT(Quiet, !loaded_q ||
      full == (level == '0 && forth_q == '0 && (back_q << 1) == '0))

  `MT_COVER(Queued, level == CntW'(Depth))
  `MT_COVER(Returned, full && back_q != '0)
endmodule
