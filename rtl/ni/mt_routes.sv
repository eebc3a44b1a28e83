// SPDX-License-Identifier: BSD-3-Clause
// The routes of a rank, loaded once, in the order of their numbers; every send port reads one.
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
  logic [IdxW:0] written_q;
  assign full_o = written_q == (IdxW + 1)'(NumRoutes);
  logic [StoredW-1:0] of_entry;
  logic [NumPorts*IdxW-1:0] numbers;
  mt_sram #(.Width(StoredW), .Depth(NumRoutes), .NumRead(NumPorts + 1)) u_routes (
    .wr_clk_i(clk_i), .wr_en_i(write_i && !full_o), .wr_addr_i(written_q[IdxW-1:0]), .wr_data_i(route_i),
    .rd_clk_i(clk_i), .rd_en_i({1'b1, reads_i}), .rd_addr_i({IdxW'(of_entry_i), numbers}),
    .rd_data_o({of_entry, route_o}));
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) written_q <= '0;
    else if (write_i && !full_o) written_q <= written_q + (IdxW + 1)'(1);
  end
  assign port_o = of_entry[mt_pkg::HopPortW-1:0];
  logic unused_of_entry;
  assign unused_of_entry = &{1'b0, of_entry};
  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    assign numbers[p*IdxW +: IdxW] = IdxW'(number_i[p*RouteW +: RouteW]);
  end

endmodule
