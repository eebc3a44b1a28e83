// SPDX-License-Identifier: BSD-3-Clause
// The schedule table of one port: entries in the order in which they are sent. Loaded once, read
// again and again; the next entry is always at hand.
`include "mt_assert.svh"

module mt_table #(
  // Bits of an entry; the highest is parity.
  parameter int unsigned EntryW = 64,
  // Entries.
  parameter int unsigned Depth = 64
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Forget all entries; start from the first again.
  input  logic clear_i,
  input  logic rewind_i,

  input  logic              write_i,
  input  logic [EntryW-1:0] entry_i,
  output logic              full_o,

  output logic              valid_o,
  output logic [EntryW-1:0] entry_o,
  // The entry has an odd number of ones.
  output logic              parity_error_o,
  input  logic              pop_i
);

  localparam int unsigned PtrW = $clog2(Depth + 1);
  localparam int unsigned IdxW = Depth > 1 ? $clog2(Depth) : 1;

  logic [EntryW-1:0] mem [Depth];
  logic [PtrW-1:0] written_q, next_q;

  assign full_o = written_q == PtrW'(Depth);

  logic load;
  assign load = (!valid_o || pop_i) && next_q != written_q;

  always_ff @(posedge clk_i) begin
    if (write_i && !full_o) mem[written_q[IdxW-1:0]] <= entry_i;
    if (load) entry_o <= mem[next_q[IdxW-1:0]];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      written_q <= '0;
      next_q <= '0;
      valid_o <= 1'b0;
    end else begin
      if (write_i && !full_o) written_q <= written_q + PtrW'(1);
      if (rewind_i) begin
        next_q <= '0;
        valid_o <= 1'b0;
      end else begin
        if (load) next_q <= next_q + PtrW'(1);
        valid_o <= load || (valid_o && !pop_i);
      end
    end
  end

  assign parity_error_o = valid_o && ^entry_o;

  `MT_ASSERT(PopValid, !pop_i || valid_o)
  `MT_ASSERT(ReadBehindWrite, next_q <= written_q)

endmodule
