// SPDX-License-Identifier: BSD-3-Clause
// The routes of a rank, loaded once, in the order of their numbers; every send port reads one.
`include "mt_work.svh"

module mt_routes #(
  parameter int unsigned NumRoutes = 4,
  parameter int unsigned NumPorts = 4,
  // Width of a route's number in entries, and of what is kept of a route.
  parameter int unsigned RouteW = 2,
  parameter int unsigned StoredW = 27
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  input  logic               write_i,
  input  logic [StoredW-1:0] route_i,
  output logic               full_o,
  // The port of its first hop.
  input  logic [RouteW-1:0]           of_entry_i,
  output logic [mt_pkg::HopPortW-1:0] port_o,
  // Where reads_i, the route with that number.
  input  logic [NumPorts-1:0]         reads_i,
  input  logic [NumPorts*RouteW-1:0]  number_i,
  output logic [NumPorts*StoredW-1:0] route_o
);

  localparam int unsigned IdxW = NumRoutes > 1 ? $clog2(NumRoutes) : 1;
  logic [StoredW-1:0] routes [NumRoutes];
  logic [IdxW:0] written_q;
  assign full_o = written_q == (IdxW + 1)'(NumRoutes);
  always_ff @(posedge clk_i) begin
    if (write_i && !full_o) routes[written_q[IdxW-1:0]] <= route_i;
    if (!rst_ni || clear_i) written_q <= '0;
    else if (write_i && !full_o) written_q <= written_q + (IdxW + 1)'(1);
  end
  assign port_o = routes[IdxW'(of_entry_i)][mt_pkg::HopPortW-1:0];
  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    assign route_o[p*StoredW +: StoredW] =
        `MT_WORK(reads_i[p]) ? routes[IdxW'(number_i[p*RouteW +: RouteW])] : '0;
  end

endmodule
