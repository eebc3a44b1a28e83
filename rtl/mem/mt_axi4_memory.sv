// SPDX-License-Identifier: BSD-3-Clause
// Memory of an interface behind AXI4: its streams share few ports as wide as a flit, each of which reads a word and
// writes a word in a cycle. docs/nic-spec.md, "Memory behind AXI4", says what is in which order.
module mt_axi4_memory #(
  // Ports of the interface, and of AXI4, each for as many of them: a divisor.
  parameter int unsigned NumPorts = mt_pkg::NumPorts,
  parameter int unsigned NumAxi = 1,
  // As of the interface: words that wait for memory.
  parameter int unsigned SendWords = mt_pkg::SendWords,
  parameter int unsigned AddWords = mt_pkg::AddWords,
  // Bits of byte addresses; of ids, enough for three a port that shares; most words of a burst; bursts that are written
  // and not answered.
  parameter int unsigned AxiAddrW = 40,
  parameter int unsigned AxiIdW = 4,
  parameter int unsigned MaxBeats = 16,
  parameter int unsigned NumBursts = 512,
  // What is beside the buffer: 2^BesideW bytes a turn, at least as many as the buffer has.
  parameter int unsigned BesideW = mt_pkg::AddrW,
  // Words that are being written are known by a hash of so many bits.
  parameter int unsigned HashW = 12,
  localparam int unsigned P = NumPorts,
  localparam int unsigned M = NumAxi,
  localparam int unsigned A = mt_pkg::AddrW,
  localparam int unsigned D = mt_pkg::DataW,
  localparam int unsigned K = mt_pkg::KeepW,
  localparam int unsigned S = mt_pkg::CountW + mt_pkg::AddrW,
  localparam int unsigned X = AxiAddrW
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Byte addresses of the buffer, and of what is beside it. Constant while anything is asked.
  input  logic [X-1:0] buffer_i,
  input  logic [X-1:0] beside_i,

  // The interface's streams, as in mt_ni.
  input  logic [P-1:0]   tx_req_tvalid_i,
  output logic [P-1:0]   tx_req_tready_o,
  input  logic [P*A-1:0] tx_req_tdata_i,
  output logic [P-1:0]   tx_tvalid_o,
  input  logic [P-1:0]   tx_tready_i,
  output logic [P*D-1:0] tx_tdata_o,
  input  logic [P-1:0]   acc_req_tvalid_i,
  output logic [P-1:0]   acc_req_tready_o,
  input  logic [P*A-1:0] acc_req_tdata_i,
  output logic [P-1:0]   acc_tvalid_o,
  input  logic [P-1:0]   acc_tready_i,
  output logic [P*D-1:0] acc_tdata_o,
  input  logic [P-1:0]   stage_req_tvalid_i,
  output logic [P-1:0]   stage_req_tready_o,
  input  logic [P*S-1:0] stage_req_tdata_i,
  output logic [P-1:0]   stage_tvalid_o,
  input  logic [P-1:0]   stage_tready_i,
  output logic [P*D-1:0] stage_tdata_o,
  input  logic [P-1:0]   stage_wr_tvalid_i,
  output logic [P-1:0]   stage_wr_tready_o,
  input  logic [P*(S+D)-1:0] stage_wr_tdata_i,
  input  logic [P*K-1:0] stage_wr_tkeep_i,
  input  logic [P-1:0]    res_tvalid_i,
  output logic [P-1:0]    res_tready_o,
  input  logic [P*A-1:0]  res_taddr_i,
  input  logic [P*K-1:0] res_tkeep_i,
  input  logic [P*D-1:0]  res_tdata_i,
  output logic mem_idle_o,
  output logic mem_error_o,

  // AXI4; port m in bits m*W +: W.
  output logic [M-1:0]        m_axi_awvalid_o,
  input  logic [M-1:0]        m_axi_awready_i,
  output logic [M*AxiIdW-1:0] m_axi_awid_o,
  output logic [M*X-1:0]      m_axi_awaddr_o,
  output logic [M*8-1:0]      m_axi_awlen_o,
  output logic [M*3-1:0]      m_axi_awsize_o,
  output logic [M*2-1:0]      m_axi_awburst_o,
  output logic [M-1:0]        m_axi_awlock_o,
  output logic [M*4-1:0]      m_axi_awcache_o,
  output logic [M*3-1:0]      m_axi_awprot_o,
  output logic [M-1:0]        m_axi_wvalid_o,
  input  logic [M-1:0]        m_axi_wready_i,
  output logic [M*D-1:0]      m_axi_wdata_o,
  output logic [M*K-1:0]      m_axi_wstrb_o,
  output logic [M-1:0]        m_axi_wlast_o,
  input  logic [M-1:0]        m_axi_bvalid_i,
  output logic [M-1:0]        m_axi_bready_o,
  input  logic [M*AxiIdW-1:0] m_axi_bid_i,
  input  logic [M*2-1:0]      m_axi_bresp_i,
  output logic [M-1:0]        m_axi_arvalid_o,
  input  logic [M-1:0]        m_axi_arready_i,
  output logic [M*AxiIdW-1:0] m_axi_arid_o,
  output logic [M*X-1:0]      m_axi_araddr_o,
  output logic [M*8-1:0]      m_axi_arlen_o,
  output logic [M*3-1:0]      m_axi_arsize_o,
  output logic [M*2-1:0]      m_axi_arburst_o,
  output logic [M-1:0]        m_axi_arlock_o,
  output logic [M*4-1:0]      m_axi_arcache_o,
  output logic [M*3-1:0]      m_axi_arprot_o,
  input  logic [M-1:0]        m_axi_rvalid_i,
  output logic [M-1:0]        m_axi_rready_o,
  input  logic [M*AxiIdW-1:0] m_axi_rid_i,
  input  logic [M*D-1:0]      m_axi_rdata_i,
  input  logic [M*2-1:0]      m_axi_rresp_i,
  input  logic [M-1:0]        m_axi_rlast_i
);

  if (NumPorts % NumAxi != 0) begin : gen_illegal
    $error("mt_axi4_memory: NumAxi is a divisor of NumPorts");
  end
  localparam int unsigned N = P / M;  // ports of an AXI4 port
  localparam int unsigned Pad = X - A;

  // Addresses of all streams.
  logic [P*3*X-1:0] read_addr;   // to be sent, to be added to, beside the buffer
  logic [P*2*X-1:0] write_addr;  // results, beside the buffer
  for (genvar p = 0; p < P; p++) begin : gen_addr
    logic [S-1:0] read_beside, write_beside;
    assign read_beside = stage_req_tdata_i[p*S +: S];
    assign write_beside = stage_wr_tdata_i[p*(S+D) + D +: S];
    assign read_addr[3*p*X +: X] = buffer_i + {{Pad{1'b0}}, tx_req_tdata_i[p*A +: A]};
    assign read_addr[(3*p+1)*X +: X] = buffer_i + {{Pad{1'b0}}, acc_req_tdata_i[p*A +: A]};
    assign read_addr[(3*p+2)*X +: X] = beside_i + {{Pad{1'b0}}, read_beside[A-1:0]}
                                       + (X'(read_beside[S-1:A]) << BesideW);
    assign write_addr[2*p*X +: X] = buffer_i + {{Pad{1'b0}}, res_taddr_i[p*A +: A]};
    assign write_addr[(2*p+1)*X +: X] = beside_i + {{Pad{1'b0}}, write_beside[A-1:0]}
                                        + (X'(write_beside[S-1:A]) << BesideW);
  end

  // A word may be read when no AXI4 port is writing it.
  logic [M*X-1:0] look_addr;
  logic [M*M-1:0] pending;  // at port m, of reads of port r: bit m*M + r
  logic [M-1:0] idle, read_error, write_error, ready;
  assign mem_idle_o = idle == '1;
  assign mem_error_o = (read_error | write_error) != '0;

  for (genvar m = 0; m < M; m++) begin : gen_axi
    logic [3*N-1:0] req_tvalid, req_tready, tvalid, tready;
    logic [3*N*D-1:0] tdata;
    logic [2*N-1:0] wr_tvalid, wr_tready;
    logic [2*N*K-1:0] wr_tkeep;
    logic [2*N*D-1:0] wr_tdata;
    for (genvar i = 0; i < N; i++) begin : gen_port
      localparam int unsigned P0 = m * N + i;
      assign req_tvalid[3*i +: 3] = {stage_req_tvalid_i[P0], acc_req_tvalid_i[P0], tx_req_tvalid_i[P0]};
      assign {stage_req_tready_o[P0], acc_req_tready_o[P0], tx_req_tready_o[P0]} = req_tready[3*i +: 3];
      assign {stage_tvalid_o[P0], acc_tvalid_o[P0], tx_tvalid_o[P0]} = tvalid[3*i +: 3];
      assign tready[3*i +: 3] = {stage_tready_i[P0], acc_tready_i[P0], tx_tready_i[P0]};
      assign {stage_tdata_o[P0*D +: D], acc_tdata_o[P0*D +: D], tx_tdata_o[P0*D +: D]} = tdata[3*i*D +: 3*D];
      assign wr_tvalid[2*i +: 2] = {stage_wr_tvalid_i[P0], res_tvalid_i[P0]};
      assign {stage_wr_tready_o[P0], res_tready_o[P0]} = wr_tready[2*i +: 2];
      assign wr_tkeep[2*i*K +: 2*K] = {stage_wr_tkeep_i[P0*K +: K], res_tkeep_i[P0*K +: K]};
      assign wr_tdata[2*i*D +: 2*D] = {stage_wr_tdata_i[P0*(S+D) +: D], res_tdata_i[P0*D +: D]};
    end

    // Whole words of memory.
    logic [3*N-1:0] line_req_tvalid, line_req_tready, line_tvalid, line_tready;
    logic [3*N*X-1:0] line_req_taddr;
    logic [3*N*D-1:0] line_tdata;
    logic [2*N-1:0] line_wr_tvalid, line_wr_tready;
    logic [2*N*X-1:0] line_wr_taddr;
    logic [2*N*K-1:0] line_wr_tkeep;
    logic [2*N*D-1:0] line_wr_tdata;
    for (genvar s = 0; s < 3 * N; s++) begin : gen_read
      mt_axi4_align_read #(.AxiAddrW(X), .Words(s % 3 == 0 ? SendWords : AddWords), .Requests(4 * MaxBeats)) u_align (
        .clk_i, .rst_ni, .req_tvalid_i(req_tvalid[s]), .req_tready_o(req_tready[s]),
        .req_taddr_i(read_addr[(3*N*m + s)*X +: X]), .tvalid_o(tvalid[s]), .tready_i(tready[s]),
        .tdata_o(tdata[s*D +: D]), .line_req_tvalid_o(line_req_tvalid[s]),
        .line_req_tready_i(line_req_tready[s]), .line_req_taddr_o(line_req_taddr[s*X +: X]),
        .line_tvalid_i(line_tvalid[s]), .line_tready_o(line_tready[s]),
        .line_tdata_i(line_tdata[s*D +: D]));
    end
    for (genvar s = 0; s < 2 * N; s++) begin : gen_write
      mt_axi4_align_write #(.AxiAddrW(X)) u_align (
        .clk_i, .rst_ni, .tvalid_i(wr_tvalid[s]), .tready_o(wr_tready[s]),
        .taddr_i(write_addr[(2*N*m + s)*X +: X]), .tkeep_i(wr_tkeep[s*K +: K]),
        .tdata_i(wr_tdata[s*D +: D]), .line_tvalid_o(line_wr_tvalid[s]),
        .line_tready_i(line_wr_tready[s]), .line_taddr_o(line_wr_taddr[s*X +: X]),
        .line_tkeep_o(line_wr_tkeep[s*K +: K]), .line_tdata_o(line_wr_tdata[s*D +: D]));
    end

    logic [M-1:0] being_written;
    for (genvar w = 0; w < M; w++) begin : gen_written
      assign being_written[w] = pending[w*M + m];
    end
    mt_axi4_read #(
      .NumStreams(3 * N), .SendWords(SendWords), .AddWords(AddWords), .AxiAddrW(X), .AxiIdW(AxiIdW),
      .MaxBeats(MaxBeats)
    ) u_read (
      .clk_i, .rst_ni, .req_tvalid_i(line_req_tvalid), .req_tready_o(line_req_tready),
      .req_taddr_i(line_req_taddr), .tvalid_o(line_tvalid), .tready_i(line_tready), .tdata_o(line_tdata),
      .look_addr_o(look_addr[m*X +: X]), .go_i(being_written == '0 && ready == '1),
      .m_axi_arvalid_o(m_axi_arvalid_o[m]), .m_axi_arready_i(m_axi_arready_i[m]),
      .m_axi_arid_o(m_axi_arid_o[m*AxiIdW +: AxiIdW]), .m_axi_araddr_o(m_axi_araddr_o[m*X +: X]),
      .m_axi_arlen_o(m_axi_arlen_o[m*8 +: 8]), .m_axi_rvalid_i(m_axi_rvalid_i[m]),
      .m_axi_rready_o(m_axi_rready_o[m]), .m_axi_rid_i(m_axi_rid_i[m*AxiIdW +: AxiIdW]),
      .m_axi_rdata_i(m_axi_rdata_i[m*D +: D]), .m_axi_rresp_i(m_axi_rresp_i[m*2 +: 2]),
      .error_o(read_error[m]));

    logic [X-1:0] write_look, done_addr;
    logic full, add, done;
    mt_axi4_pending #(.AxiAddrW(X), .HashW(HashW), .NumLooks(M)) u_pending (
      .clk_i, .rst_ni, .ready_o(ready[m]), .add_i(add), .add_addr_i(write_look), .full_o(full),
      .done_i(done), .done_addr_i(done_addr), .look_addr_i(look_addr),
      .pending_o(pending[m*M +: M]));
    mt_axi4_write #(
      .NumStreams(2 * N), .AxiAddrW(X), .MaxBeats(MaxBeats), .NumBursts(NumBursts)
    ) u_write (
      .clk_i, .rst_ni, .tvalid_i(line_wr_tvalid), .tready_o(line_wr_tready),
      .taddr_i(line_wr_taddr), .tkeep_i(line_wr_tkeep), .tdata_i(line_wr_tdata),
      .look_addr_o(write_look), .go_i(!full && ready[m]), .add_o(add), .done_o(done),
      .done_addr_o(done_addr), .idle_o(idle[m]), .m_axi_awvalid_o(m_axi_awvalid_o[m]),
      .m_axi_awready_i(m_axi_awready_i[m]), .m_axi_awaddr_o(m_axi_awaddr_o[m*X +: X]),
      .m_axi_awlen_o(m_axi_awlen_o[m*8 +: 8]), .m_axi_wvalid_o(m_axi_wvalid_o[m]),
      .m_axi_wready_i(m_axi_wready_i[m]), .m_axi_wdata_o(m_axi_wdata_o[m*D +: D]),
      .m_axi_wstrb_o(m_axi_wstrb_o[m*K +: K]), .m_axi_wlast_o(m_axi_wlast_o[m]),
      .m_axi_bvalid_i(m_axi_bvalid_i[m]), .m_axi_bready_o(m_axi_bready_o[m]),
      .m_axi_bresp_i(m_axi_bresp_i[m*2 +: 2]), .error_o(write_error[m]));
  end

  // Whole words, addresses that go up; no exclusive access; answered by memory itself, not by a buffer on
  // the way (AxCACHE: normal, not cacheable, not bufferable); data, not secure, not privileged.
  assign m_axi_awid_o = '0;
  assign m_axi_awsize_o = {M{3'(mt_pkg::ByteW)}};
  assign m_axi_awburst_o = {M{2'b01}};
  assign m_axi_awlock_o = '0;
  assign m_axi_awcache_o = {M{4'b0010}};
  assign m_axi_awprot_o = {M{3'b010}};
  assign m_axi_arsize_o = {M{3'(mt_pkg::ByteW)}};
  assign m_axi_arburst_o = {M{2'b01}};
  assign m_axi_arlock_o = '0;
  assign m_axi_arcache_o = {M{4'b0010}};
  assign m_axi_arprot_o = {M{3'b010}};
  // All writes have one id, and every word of a burst has its place.
  logic unused;
  assign unused = &{1'b0, m_axi_bid_i, m_axi_rlast_i};

endmodule
