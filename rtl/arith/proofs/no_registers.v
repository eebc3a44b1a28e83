// SPDX-License-Identifier: BSD-3-Clause
// For yosys' techmap: registers become wires.
(* techmap_celltype = "$dff" *)
module no_register (input CLK, input [WIDTH-1:0] D, output [WIDTH-1:0] Q);
  parameter WIDTH = 1;
  parameter CLK_POLARITY = 1;
  assign Q = D;
endmodule
