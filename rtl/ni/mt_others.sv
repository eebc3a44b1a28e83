// SPDX-License-Identifier: BSD-3-Clause
// What the other ports have of the message that a receive port looks at: words written of the one before
// it in turn, and words sent of its piece.
`include "mt_work.svh"

module mt_others #(
  parameter int unsigned NumPorts = 4,
  // The port that looks.
  parameter int unsigned Port = 0,
  parameter int unsigned PieceW = 10,
  parameter int unsigned CntW = 6,
  parameter int unsigned EnExchange = 1,
  localparam int unsigned P = NumPorts,
  localparam int unsigned LenW = mt_pkg::LenW
) (
  // What it looks at, and whether it asks.
  input  logic [PieceW-1:0] piece_i,
  input  logic [CntW-1:0]   turn_i,
  input  logic              not_in_turn_i,
  input  logic              not_read_i,
  // Last writes of all ports, and what they send.
  input  logic [P-1:0]        wrote_valid_i,
  input  logic [P*PieceW-1:0] wrote_piece_i,
  input  logic [P*CntW-1:0]   wrote_turn_i,
  input  logic [P*LenW-1:0]   wrote_count_i,
  input  logic [P*LenW-1:0]   wrote_end_i,
  input  logic [P-1:0]        sending_i,
  input  logic [P*PieceW-1:0] tx_piece_i,
  input  logic [P*LenW-1:0]   sent_flits_i,

  output logic              before_valid_o,
  output logic [LenW-1:0]   before_count_o,
  output logic [LenW-1:0]   before_end_o,
  // Just one port sends it.
  output logic              reading_o,
  output logic [LenW-1:0]   reading_count_o
);

  logic [P-1:0] follows, reads;
  always_comb begin
    {follows, before_count_o, before_end_o, reads, reading_count_o} = '0;
    for (int unsigned q = 0; q < P; q++) begin
      if (`MT_WORK(not_in_turn_i)) begin
        follows[q] = q != Port && wrote_valid_i[q] && wrote_piece_i[q*PieceW +: PieceW] == piece_i
            && wrote_turn_i[q*CntW +: CntW] + CntW'(1) == turn_i;
        if (follows[q]) before_count_o |= wrote_count_i[q*LenW +: LenW];
        if (follows[q]) before_end_o |= wrote_end_i[q*LenW +: LenW];
      end
      if (`MT_WORK(not_read_i)) begin
        reads[q] = EnExchange != 0 && sending_i[q] && tx_piece_i[q*PieceW +: PieceW] == piece_i;
        if (reads[q]) reading_count_o |= sent_flits_i[q*LenW +: LenW];
      end
    end
  end
  assign before_valid_o = follows != '0;
  assign reading_o = reads != '0 && (reads & (reads - P'(1))) == '0;

endmodule
