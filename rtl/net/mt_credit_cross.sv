// SPDX-License-Identifier: BSD-3-Clause
// Credits from one clock to another, whatever their frequencies: they are counted on both sides, and those
// that are still owed are handed on, one a cycle, channels in turn.

module mt_credit_cross #(
  // Virtual channels, and bits of the counts: credits under way are fewer than 2**CountW.
  parameter int unsigned NumVc = 4,
  parameter int unsigned CountW = 10,
  // As of mt_sync.
  parameter int unsigned Stages = 2,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1
) (
  input  logic           in_clk_i,
  input  logic           in_rst_ni,
  input  logic           in_valid_i,
  input  logic [VcW-1:0] in_vc_i,

  input  logic           out_clk_i,
  input  logic           out_rst_ni,
  output logic           out_valid_o,
  output logic [VcW-1:0] out_vc_o
);

  logic [NumVc-1:0] owed, gives;
  for (genvar v = 0; v < NumVc; v++) begin : gen_channel
    logic [CountW-1:0] gray, seen, given_q, unused_count;
    mt_gray #(.Width(CountW)) u_count (
      .clk_i(in_clk_i), .rst_ni(in_rst_ni), .count_i(in_valid_i && 32'(in_vc_i) == v),
      .value_o(unused_count), .gray_o(gray));
    mt_gray_sync #(.Width(CountW), .Stages(Stages)) u_seen (
      .clk_i(out_clk_i), .rst_ni(out_rst_ni), .gray_i(gray), .value_o(seen));
    assign owed[v] = seen != given_q;
    always_ff @(posedge out_clk_i) begin
      if (!out_rst_ni) given_q <= '0;
      else given_q <= given_q + CountW'(gives[v]);
    end
  end
  mt_rr_arb #(.N(NumVc)) u_turns (
    .clk_i(out_clk_i), .rst_ni(out_rst_ni), .req_i(owed), .en_i(1'b1), .gnt_o(gives), .gnt_idx_o(out_vc_o));
  assign out_valid_o = owed != '0;

endmodule
