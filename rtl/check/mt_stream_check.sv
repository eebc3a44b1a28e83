// SPDX-License-Identifier: BSD-3-Clause
// What AXI4-Stream asks of who sends: what has been offered stays until it is accepted. To be bound
// to a stream, or put beside it in a proof. That no TVALID waits for TREADY is not seen in one run:
// lint/streams finds out from the netlist, and memories that are ready only after they were asked
// would make such a stream stand still.
`include "mt_assert.svh"

module mt_stream_check #(
  // Bits of all that is offered with TVALID.
  parameter int unsigned Width = 8
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             valid_i,
  input logic             ready_i,
  input logic [Width-1:0] data_i
);
  `MT_ASSERT_NEXT(ValidStays, valid_i && !ready_i, valid_i)
  `MT_ASSERT_NEXT(DataStays, valid_i && !ready_i, $stable(data_i))
endmodule
