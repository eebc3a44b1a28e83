// SPDX-License-Identifier: BSD-3-Clause
// The registers of all interfaces of a network behind one AXI4-Lite slave. Address: a register in bits
// 11:0, above them the rank, and in the highest bit, instead of a rank, all of them: a write then
// reaches all in one cycle, which is how a collective starts everywhere at once, and a read gives the
// bits that any of them has; the answer is SLVERR if that of any is. Writes to ranks that do not exist do
// nothing, reads give 0, and both are answered with DECERR. A write goes on in the cycle after it was
// accepted and is answered in the next; one a cycle. A read takes three cycles.
`include "mt_assert.svh"

module mt_net_axil #(
  // Interfaces.
  parameter int unsigned NumRanks = 4,
  // Width of credit counters.
  parameter int unsigned CreditW = mt_pkg::CreditW,
  localparam int unsigned RankW = NumRanks > 1 ? $clog2(NumRanks) : 1,
  localparam int unsigned A = 12 + RankW + 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic         s_axil_awvalid_i,
  output logic         s_axil_awready_o,
  input  logic [A-1:0] s_axil_awaddr_i,
  input  logic [2:0]   s_axil_awprot_i,  // all accesses are alike
  input  logic         s_axil_wvalid_i,
  output logic         s_axil_wready_o,
  input  logic [31:0]  s_axil_wdata_i,
  input  logic [3:0]   s_axil_wstrb_i,
  output logic         s_axil_bvalid_o,
  input  logic         s_axil_bready_i,
  output logic [1:0]   s_axil_bresp_o,
  input  logic         s_axil_arvalid_i,
  output logic         s_axil_arready_o,
  input  logic [A-1:0] s_axil_araddr_i,
  input  logic [2:0]   s_axil_arprot_i,
  output logic         s_axil_rvalid_o,
  input  logic         s_axil_rready_i,
  output logic [31:0]  s_axil_rdata_o,
  output logic [1:0]   s_axil_rresp_o,

  // To the interfaces, which take accesses at once and answer in the next cycle; a bit a rank.
  output logic [NumRanks-1:0]    m_wvalid_o,  // address and data
  output logic [11:0]            m_awaddr_o,
  output logic [31:0]            m_wdata_o,
  output logic [3:0]             m_wstrb_o,
  input  logic [NumRanks-1:0]    m_wready_i,
  input  logic [NumRanks-1:0]    m_bvalid_i,
  input  logic [NumRanks*2-1:0]  m_bresp_i,
  output logic [NumRanks-1:0]    m_arvalid_o,
  output logic [11:0]            m_araddr_o,
  input  logic [NumRanks-1:0]    m_arready_i,
  input  logic [NumRanks-1:0]    m_rvalid_i,
  input  logic [NumRanks*32-1:0] m_rdata_i,
  input  logic [NumRanks*2-1:0]  m_rresp_i,

  // To switches: the places of virtual channels, as they are written to all ranks.
  output logic               load_o,
  output logic [CreditW-1:0] places_o
);

  localparam logic [9:0] RegPlaces = 10'h09;

  localparam logic [1:0] DecErr = 2'b11;
  logic unused_prot;
  assign unused_prot = &{1'b0, s_axil_awprot_i, s_axil_arprot_i};

  // Writes that are not answered yet: each has a place in the queue of answers.
  localparam int unsigned Most = 4;
  logic write, read, answers;
  logic [2:0] open_q, unused_level;
  assign write = s_axil_awvalid_i && s_axil_wvalid_i && open_q != 3'(Most);
  assign answers = s_axil_bvalid_o && s_axil_bready_i;
  assign s_axil_awready_o = write;
  assign s_axil_wready_o = write;

  logic [NumRanks-1:0] write_to, read_from;
  for (genvar r = 0; r < NumRanks; r++) begin : gen_select
    assign write_to[r] = s_axil_awaddr_i[A-1] || s_axil_awaddr_i[12 +: RankW] == RankW'(r);
    assign read_from[r] = s_axil_araddr_i[A-1] || s_axil_araddr_i[12 +: RankW] == RankW'(r);
  end

  // Asked for in the cycle before; answered by interfaces in this one; of no rank.
  logic wrote_q, answered_w_q, nobody_q, nobody_w_q, unused_ready;
  logic [1:0] response;
  always_comb begin
    response = nobody_w_q ? DecErr : '0;
    for (int unsigned r = 0; r < NumRanks; r++) begin
      if (m_bvalid_i[r]) response = response | m_bresp_i[r*2 +: 2];
    end
  end
  mt_fifo #(.Width(2), .Depth(Most), .Bypass(1)) u_answers (
    .clk_i, .rst_ni, .in_valid_i(answered_w_q), .in_ready_o(unused_ready), .in_data_i(response),
    .out_valid_o(s_axil_bvalid_o), .out_ready_i(s_axil_bready_i), .out_data_o(s_axil_bresp_o),
    .level_o(unused_level));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= '0;
      wrote_q <= 1'b0;
      answered_w_q <= 1'b0;
      m_wvalid_o <= '0;
      load_o <= 1'b0;
      places_o <= '0;
    end else begin
      open_q <= open_q + 3'(write) - 3'(answers);
      wrote_q <= write;
      answered_w_q <= wrote_q;
      m_wvalid_o <= write ? write_to : '0;
      load_o <= 1'b0;
      if (write && s_axil_wstrb_i == '1 && s_axil_awaddr_i[A-1] && s_axil_awaddr_i[11:2] == RegPlaces) begin
        load_o <= 1'b1;
        places_o <= s_axil_wdata_i[CreditW-1:0];
      end
    end
    if (write) begin
      m_awaddr_o <= s_axil_awaddr_i[11:0];
      m_wdata_o <= s_axil_wdata_i;
      m_wstrb_o <= s_axil_wstrb_i;
      nobody_q <= write_to == '0;
    end
    nobody_w_q <= nobody_q;
  end

  // Asked, then answered.
  logic asked_q, answered_q;
  assign read = s_axil_arvalid_i && !asked_q && !answered_q &&
                (!s_axil_rvalid_o || s_axil_rready_i);
  assign s_axil_arready_o = read;
  logic [31:0] answer;
  logic [1:0] read_response;
  logic read_nobody_q;
  always_comb begin
    answer = '0;
    read_response = read_nobody_q ? DecErr : '0;
    for (int unsigned r = 0; r < NumRanks; r++) begin
      if (m_rvalid_i[r]) answer = answer | m_rdata_i[r*32 +: 32];
      if (m_rvalid_i[r]) read_response = read_response | m_rresp_i[r*2 +: 2];
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asked_q <= 1'b0;
      answered_q <= 1'b0;
      m_arvalid_o <= '0;
      s_axil_rvalid_o <= 1'b0;
    end else begin
      asked_q <= read;
      answered_q <= asked_q;
      m_arvalid_o <= read ? read_from : '0;
      s_axil_rvalid_o <= answered_q || (s_axil_rvalid_o && !s_axil_rready_i);
    end
    if (read) m_araddr_o <= s_axil_araddr_i[11:0];
    if (read) read_nobody_q <= read_from == '0;
    if (answered_q) begin
      s_axil_rdata_o <= answer;
      s_axil_rresp_o <= read_response;
    end
  end

  `MT_ASSERT(WritesTaken, (m_wvalid_o & ~m_wready_i) == '0)
  `MT_ASSERT(ReadsTaken, (m_arvalid_o & ~m_arready_i) == '0)
  `MT_ASSERT(AnsweredWhenDue, m_rvalid_i == '0 || answered_q)
  `MT_ASSERT(WriteAnsweredWhenDue, m_bvalid_i == '0 || answered_w_q)
  `MT_ASSERT_NEXT(BvalidStays, s_axil_bvalid_o && !s_axil_bready_i,
                  s_axil_bvalid_o && $stable(s_axil_bresp_o))
  `MT_ASSERT_NEXT(RvalidStays, s_axil_rvalid_o && !s_axil_rready_i,
                  s_axil_rvalid_o && $stable(s_axil_rdata_o) && $stable(s_axil_rresp_o))

endmodule
