// SPDX-License-Identifier: BSD-3-Clause
// The reduction units of an interface: one for each port, or one for two; the last one of an odd
// number of ports serves one.
module mt_units #(
  // Ports, and how many share a unit: 1 or 2.
  parameter int unsigned NumPorts = 4,
  parameter int unsigned PortsPerUnit = 1,
  // As of mt_reduce_unit.
  parameter int unsigned Latency = 2,
  parameter bit          EnInt32 = 1'b1,
  parameter bit          EnFp32 = 1'b1,
  parameter bit          EnBf16 = 1'b1,
  parameter bit          EnFp16 = 1'b1,
  parameter int unsigned FpImpl = 0,
  localparam int unsigned P = NumPorts,
  localparam int unsigned D = mt_pkg::DataW
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  input  logic [1:0]   dtype_i,

  // As of mt_unit_share; of port p in bit p, or in bits p*D +: D.
  input  logic [P-1:0]   ask_i,
  output logic [P-1:0]   go_o,
  input  logic [P-1:0]   valid_i,
  input  logic [P-1:0]   copy_i,
  input  logic [P*D-1:0] a_i,
  input  logic [P*D-1:0] b_i,
  output logic [P-1:0]   take_o,
  output logic [P-1:0]   valid_o,
  output logic [P*D-1:0] r_o,
  input  logic [P-1:0]   ready_i
);

  if (PortsPerUnit < 1 || PortsPerUnit > 2) begin : gen_bad_parameters
    $error("mt_units: PortsPerUnit is 1 or 2");
  end

  for (genvar first = 0; first < P; first += PortsPerUnit) begin : gen_unit
    localparam int unsigned N = P - first < PortsPerUnit ? P - first : PortsPerUnit;
    if (N == 1) begin : gen_own
      mt_reduce_unit #(
        .Latency(Latency), .EnInt32(EnInt32), .EnFp32(EnFp32), .EnBf16(EnBf16), .EnFp16(EnFp16),
        .FpImpl(FpImpl), .DataW(D)
      ) u_unit (
        .clk_i, .rst_ni, .en_i(ready_i[first]), .valid_i(valid_i[first]), .dtype_i,
        .copy_i(copy_i[first]), .a_i(a_i[first*D +: D]), .b_i(b_i[first*D +: D]),
        .valid_o(valid_o[first]), .r_o(r_o[first*D +: D]));
      assign go_o[first] = 1'b1;
      assign take_o[first] = ready_i[first];
      logic unused_ask;
      assign unused_ask = &{1'b0, ask_i[first], clear_i};
    end else begin : gen_shared
      logic unused_en;
      mt_unit_share #(
        .Latency(Latency), .EnInt32(EnInt32), .EnFp32(EnFp32), .EnBf16(EnBf16), .EnFp16(EnFp16),
        .FpImpl(FpImpl)
      ) u_share (
        .clk_i, .rst_ni, .clear_i, .dtype_i, .ask_i(ask_i[first +: N]), .go_o(go_o[first +: N]),
        .valid_i(valid_i[first +: N]), .copy_i(copy_i[first +: N]), .a_i(a_i[first*D +: N*D]),
        .b_i(b_i[first*D +: N*D]), .take_o(take_o[first +: N]), .en_o(unused_en),
        .valid_o(valid_o[first +: N]), .r_o(r_o[first*D +: N*D]), .ready_i(ready_i[first +: N]));
    end
  end
endmodule
