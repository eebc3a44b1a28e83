// SPDX-License-Identifier: BSD-3-Clause
// Where payload goes that comes to a receive port: it is the word that is issued, or it waits, or it is put beside the
// buffer. It waits where only memory holds up the worm that it belongs to: beside the buffer it would be written and
// read once more, by the memory that is short. Words of that worm that are there already go first meanwhile. As soon as
// the next word may not be added the flit waits no longer, so it holds up none that others wait for.
`include "mt_assert.svh"

module mt_rx_beside #(
  // Width of counts of pieces.
  parameter int unsigned CntW = 6,
  localparam int unsigned LenW = mt_pkg::LenW,
  localparam int unsigned AddrW = mt_pkg::AddrW,
  localparam int unsigned DataW = mt_pkg::DataW,
  localparam int unsigned StageW = mt_pkg::CountW + AddrW
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  input  logic wide_i,  // elements of 4 bytes, else of 2
  input  logic stop_i,  // something went wrong: what comes is dropped

  // The header of a worm: turn, whether it is the last of its message, elements in the last word, less one, and
  // the address of its first word.
  input  logic                      header_i,
  input  logic [CntW-1:0]           turn_i,
  input  logic                      last_i,
  input  logic [mt_pkg::LanesW-1:0] lanes_i,
  input  logic [AddrW-1:0]          addr_i,
  // A flit of it; it goes when taken_o, as all that is no payload. Which word of the
  // buffer the next one is, the lower bits of its number.
  input  logic                      payload_i,
  input  logic                      tail_i,
  input  logic [DataW-1:0]          data_i,
  output logic                      taken_o,
  output logic [LenW-1:0]           next_word_o,

  // The worm is the current one; its next word, which need not be this flit, may be added now; and memory can be
  // asked for what that needs.
  input  logic current_i,
  input  logic may_add_i,
  input  logic can_ask_i,
  // The flit goes beside the buffer and can no longer be issued; it is issued in this cycle.
  output logic offered_o,
  input  logic issued_i,

  // AXI4-Stream: address (turn, byte) and word; which bytes.
  output logic                    stage_wr_tvalid_o,
  input  logic                    stage_wr_tready_i,
  output logic [StageW+DataW-1:0] stage_wr_tdata_o,
  output logic [mt_pkg::KeepW-1:0] stage_wr_tkeep_o
);

  // Of the worm whose flits arrive.
  logic [CntW-1:0] turn_q;
  logic [AddrW-1:0] addr_q;  // of the next flit
  logic last_q;              // its last flit is the message's
  logic [mt_pkg::LanesW-1:0] lanes_q;
  always_ff @(posedge clk_i) begin
    if (header_i) begin
      turn_q <= turn_i;
      last_q <= last_i;
      lanes_q <= lanes_i;
      addr_q <= addr_i;
    end else if (payload_i && taken_o) begin
      addr_q <= addr_q + AddrW'(mt_pkg::KeepW);
    end
  end
  assign next_word_o = addr_q[mt_pkg::ByteW +: LenW];

  logic waits, waited_q, offered_q;
  assign waits = payload_i && current_i && may_add_i && !offered_q && !issued_i && !stop_i
                 && (waited_q || !can_ask_i);
  assign offered_o = offered_q;
  assign stage_wr_tvalid_o = payload_i && (offered_q || !(stop_i || issued_i || waits));
  assign taken_o = !waits && (!stage_wr_tvalid_o || stage_wr_tready_i);
  always_ff @(posedge clk_i) begin
    waited_q <= rst_ni && !clear_i && waits;
    offered_q <= rst_ni && !clear_i && stage_wr_tvalid_o && !stage_wr_tready_i;
  end

  assign stage_wr_tdata_o = {mt_pkg::CountW'(turn_q), addr_q, data_i};
  always_comb begin
    stage_wr_tkeep_o = '1;
    // The bytes of a message's last word: other messages' lie behind it.
    if (last_q && tail_i) begin
      for (int unsigned k = 0; k < mt_pkg::KeepW; k++) begin
        stage_wr_tkeep_o[k] = (wide_i ? k / 4 : k / 2) <= 32'(lanes_q);
      end
    end
  end

  `MT_ASSERT(IssuedOnce, !issued_i || (payload_i && !offered_q))
endmodule
