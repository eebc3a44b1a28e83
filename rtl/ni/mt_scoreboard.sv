// SPDX-License-Identifier: BSD-3-Clause
// What an interface knows of each piece: messages taken in, sent, and begun to be taken in. All
// counts are those that earlier cycles have left.
`include "mt_assert.svh"
`include "mt_work.svh"

module mt_scoreboard #(
  // Pieces: 2^PieceW.
  parameter int unsigned PieceW = 6,
  // Width of counts.
  parameter int unsigned CntW = 3,
  // Send ports, which are also receive ports.
  parameter int unsigned NumPorts = 4,
  // 1: counts messages sent (ranks that exchange sums need it).
  parameter int unsigned EnExchange = 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Sets the counts of one piece to 0; all have to be before a collective.
  input  logic clear_i,
  input  logic [PieceW-1:0] clear_piece_i,

  // Send ports ask for one piece each.
  input  logic [NumPorts*PieceW-1:0] tx_piece_i,
  output logic [NumPorts*CntW-1:0]   tx_taken_o,
  input  logic [NumPorts-1:0]        tx_sent_i,  // a message of tx_piece_i was sent

  // Receive ports ask for one piece each.
  input  logic [NumPorts*PieceW-1:0] rx_piece_i,
  output logic [NumPorts*CntW-1:0]   rx_taken_o,
  output logic [NumPorts*CntW-1:0]   rx_sent_o,
  output logic [NumPorts*CntW-1:0]   rx_claimed_o,
  input  logic [NumPorts-1:0]        rx_claim_i,  // a message of rx_piece_i is begun

  // A message was taken in.
  input  logic [NumPorts-1:0]        taken_i,
  input  logic [NumPorts*PieceW-1:0] taken_piece_i
);

  localparam int unsigned Num = 1 << PieceW;

  logic [CntW-1:0] taken_q [Num];
  logic [CntW-1:0] sent_q [Num];
  logic [CntW-1:0] claimed_q [Num];

  // Ports before p that count the same piece in the same cycle.
  logic [NumPorts*CntW-1:0] sent_before, taken_before;
  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    assign tx_taken_o[p*CntW +: CntW] = taken_q[tx_piece_i[p*PieceW +: PieceW]];
    assign rx_taken_o[p*CntW +: CntW] = taken_q[rx_piece_i[p*PieceW +: PieceW]];
    assign rx_claimed_o[p*CntW +: CntW] = claimed_q[rx_piece_i[p*PieceW +: PieceW]];
    if (EnExchange != 0) begin : gen_sent
      assign rx_sent_o[p*CntW +: CntW] = sent_q[rx_piece_i[p*PieceW +: PieceW]];
    end else begin : gen_no_sent
      assign rx_sent_o[p*CntW +: CntW] = '0;
    end
    always_comb begin
      sent_before[p*CntW +: CntW] = CntW'(1);
      taken_before[p*CntW +: CntW] = CntW'(1);
      if (`MT_WORK((tx_sent_i | taken_i) != '0)) begin
        for (int q = 0; q < p; q++) begin
          if (tx_sent_i[q]
              && tx_piece_i[q*PieceW +: PieceW] == tx_piece_i[p*PieceW +: PieceW]) begin
            sent_before[p*CntW +: CntW] += CntW'(1);
          end
          if (taken_i[q]
              && taken_piece_i[q*PieceW +: PieceW] == taken_piece_i[p*PieceW +: PieceW]) begin
            taken_before[p*CntW +: CntW] += CntW'(1);
          end
        end
      end
    end
  end

  // The last of several writes to one piece counts, and it has the sum of all.
  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      taken_q[clear_piece_i] <= '0;
      claimed_q[clear_piece_i] <= '0;
    end else begin
      for (int unsigned p = 0; p < NumPorts; p++) begin
        if (taken_i[p]) begin
          taken_q[taken_piece_i[p*PieceW +: PieceW]]
            <= taken_q[taken_piece_i[p*PieceW +: PieceW]] + taken_before[p*CntW +: CntW];
        end
        if (rx_claim_i[p]) begin
          claimed_q[rx_piece_i[p*PieceW +: PieceW]]
            <= claimed_q[rx_piece_i[p*PieceW +: PieceW]] + CntW'(1);
        end
      end
    end
  end
  if (EnExchange != 0) begin : gen_count_sent
    always_ff @(posedge clk_i) begin
      if (clear_i) begin
        sent_q[clear_piece_i] <= '0;
      end else begin
        for (int unsigned p = 0; p < NumPorts; p++) begin
          if (tx_sent_i[p]) begin
            sent_q[tx_piece_i[p*PieceW +: PieceW]]
              <= sent_q[tx_piece_i[p*PieceW +: PieceW]] + sent_before[p*CntW +: CntW];
          end
        end
      end
    end
  end

`ifndef SYNTHESIS
  logic [NumPorts-1:0] known;
  for (genvar p = 0; p < NumPorts; p++) begin : gen_check
    assign known[p] = !taken_i[p] || taken_q[taken_piece_i[p*PieceW +: PieceW]]
                                     < claimed_q[taken_piece_i[p*PieceW +: PieceW]];
  end
  `MT_ASSERT(TakenWasClaimed, known == '1)
`endif

endmodule
