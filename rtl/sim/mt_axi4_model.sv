// SPDX-License-Identifier: BSD-3-Clause
// A memory behind AXI4, for simulation: what it does is in C++ (axi_slave.cpp).
module mt_axi4_model #(
  parameter int unsigned AxiAddrW = 40,
  parameter int unsigned AxiIdW = 4,
  localparam int unsigned D = mt_pkg::DataW
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Which memory, and which port of it, to the function in C.
  input  logic [31:0] handle_i,
  input  logic [31:0] port_i,

  input  logic                s_axi_awvalid_i,
  output logic                s_axi_awready_o,
  input  logic [AxiAddrW-1:0] s_axi_awaddr_i,
  input  logic [7:0]          s_axi_awlen_i,
  input  logic                s_axi_wvalid_i,
  output logic                s_axi_wready_o,
  input  logic [D-1:0]        s_axi_wdata_i,
  input  logic [D/8-1:0]      s_axi_wstrb_i,
  input  logic                s_axi_wlast_i,
  output logic                s_axi_bvalid_o,
  input  logic                s_axi_bready_i,
  output logic [1:0]          s_axi_bresp_o,
  input  logic                s_axi_arvalid_i,
  output logic                s_axi_arready_o,
  input  logic [AxiAddrW-1:0] s_axi_araddr_i,
  input  logic [7:0]          s_axi_arlen_i,
  input  logic [AxiIdW-1:0]   s_axi_arid_i,
  output logic                s_axi_rvalid_o,
  input  logic                s_axi_rready_i,
  output logic [AxiIdW-1:0]   s_axi_rid_o,
  output logic [D-1:0]        s_axi_rdata_o,
  output logic [1:0]          s_axi_rresp_o,
  output logic                s_axi_rlast_o
);

  // Words are as wide as the widest are, whatever D is.
  import "DPI-C" function void mt_axi_tick(
      input int handle, input int port, input bit awvalid, input longint awaddr, input int awlen,
      input bit wvalid, input bit [511:0] wdata, input longint wstrb, input bit wlast, input bit bready,
      input bit arvalid, input longint araddr, input int arlen, input int arid, input bit rready,
      output int says, output bit [511:0] rdata);

  logic [31:0] says_q;
  logic [511:0] word_q;
  assign s_axi_rdata_o = word_q[D-1:0];
  assign s_axi_awready_o = says_q[0];
  assign s_axi_wready_o = says_q[1];
  assign s_axi_arready_o = says_q[2];
  assign s_axi_bvalid_o = says_q[3];
  assign s_axi_rvalid_o = says_q[4];
  assign s_axi_rlast_o = says_q[5];
  assign s_axi_bresp_o = says_q[7:6];
  assign s_axi_rresp_o = says_q[9:8];
  assign s_axi_rid_o = says_q[10 +: AxiIdW];
  logic unused;
  assign unused = &{1'b0, says_q, word_q};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      says_q <= '0;
    end else begin
      bit [511:0] word;
      int says;
      mt_axi_tick(handle_i, port_i, s_axi_awvalid_i, 64'(s_axi_awaddr_i), 32'(s_axi_awlen_i),
                  s_axi_wvalid_i, 512'(s_axi_wdata_i), 64'(s_axi_wstrb_i), s_axi_wlast_i, s_axi_bready_i,
                  s_axi_arvalid_i, 64'(s_axi_araddr_i), 32'(s_axi_arlen_i), 32'(s_axi_arid_i),
                  s_axi_rready_i, says, word);
      says_q <= says;
      word_q <= word;
    end
  end

endmodule
