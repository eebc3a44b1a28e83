// SPDX-License-Identifier: BSD-3-Clause
// prove: Stages=2
// prove: Stages=3
// clocks: any
// steps: 8
// cover: 16

// Edges of the clock since the reset has ended, as far as Stages.
logic [3:0] edges_q;
logic clock_q, was_q, on_q, begun;
initial begun = 1'b0;
always @($global_clock) begin
  begun <= 1'b1;
  clock_q <= clk_i;
  was_q <= rst_ni;
  on_q <= rst_no;
  if (!rst_ni) edges_q <= '0;
  else if (clk_i && !clock_q && was_q && 32'(edges_q) < Stages) edges_q <= edges_q + 4'd1;
end
initial assume (!rst_ni && !clk_i);

always @($global_clock) begin
  AtOnce: assert (rst_ni || !rst_no);
  if (begun && rst_ni && was_q) begin
    // Edges come and go with this moment: one of now counts for both.
    NotTooEarly: assert (!rst_no || 32'(edges_q) + 32'(clk_i && !clock_q) >= Stages);
    InTheEnd: assert (rst_no || 32'(edges_q) < Stages);
    OneByOne: assert (32'(edges_q) <= Stages && stage_q == Stages'((1 << (32'(edges_q) + 32'(clk_i && !clock_q))) - 1));
  end
  if (begun && rst_no && !on_q) begin
    WithTheClock: assert (clk_i && !clock_q);
    ItEnds: cover (rst_no);
  end
end
