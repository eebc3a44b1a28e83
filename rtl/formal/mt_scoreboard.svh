// SPDX-License-Identifier: BSD-3-Clause
// prove: PieceW=1 CntW=2 NumPorts=2 EnExchange=1
// prove: PieceW=2 CntW=3 NumPorts=2 EnExchange=1
// prove: PieceW=2 CntW=3 NumPorts=4 EnExchange=1
// prove: PieceW=1 CntW=2 NumPorts=2 EnExchange=0
// steps: 3
// cover: 8

// Any piece, and its counts: sums of what all ports said since it was cleared.
(* anyconst *) logic [PieceW-1:0] which;
logic cleared_q;
logic [CntW-1:0] taken_ref_q, sent_ref_q, claimed_ref_q, takes, sends, claims;
logic [NumPorts-1:0] tx_here, rx_here, taken_here;
for (genvar p = 0; p < NumPorts; p++) begin : gen_here
  assign tx_here[p] = tx_piece_i[p*PieceW +: PieceW] == which;
  assign rx_here[p] = rx_piece_i[p*PieceW +: PieceW] == which;
  assign taken_here[p] = taken_piece_i[p*PieceW +: PieceW] == which;
end
always_comb begin
  takes = '0;
  sends = '0;
  claims = '0;
  for (int unsigned p = 0; p < NumPorts; p++) begin
    takes = takes + CntW'(taken_i[p] && taken_here[p]);
    sends = sends + CntW'(tx_sent_i[p] && tx_here[p]);
    claims = claims + CntW'(rx_claim_i[p] && rx_here[p]);
  end
end
always_ff @(posedge clk_i) begin
  if (!rst_ni) cleared_q <= 1'b0;
  else if (clear_i && clear_piece_i == which) begin
    cleared_q <= 1'b1;
    taken_ref_q <= '0;
    sent_ref_q <= '0;
    claimed_ref_q <= '0;
  end else if (!clear_i) begin
    taken_ref_q <= taken_ref_q + takes;
    sent_ref_q <= sent_ref_q + sends;
    claimed_ref_q <= claimed_ref_q + claims;
  end
end

// What the user promises: a message is claimed by one port, and before it is taken in; nothing is
// counted while pieces are cleared.
`MT_ASSUME(OneClaim, (rx_claim_i & rx_here & ((rx_claim_i & rx_here) - 1'b1)) == '0)
`MT_ASSUME(ClaimedBeforeTaken, known == '1)

logic [NumPorts-1:0] tx_taken_right, rx_taken_right, rx_sent_right, rx_claimed_right;
for (genvar p = 0; p < NumPorts; p++) begin : gen_right
  assign tx_taken_right[p] = !tx_here[p] || tx_taken_o[p*CntW +: CntW] == taken_ref_q;
  assign rx_taken_right[p] = !rx_here[p] || rx_taken_o[p*CntW +: CntW] == taken_ref_q;
  assign rx_claimed_right[p] = !rx_here[p] || rx_claimed_o[p*CntW +: CntW] == claimed_ref_q;
  assign rx_sent_right[p] = !rx_here[p] || rx_sent_o[p*CntW +: CntW] ==
                                               (EnExchange != 0 ? sent_ref_q : '0);
end
`MT_ASSERT(SendersSeeTaken, !cleared_q || tx_taken_right == '1)
`MT_ASSERT(ReceiversSeeTaken, !cleared_q || rx_taken_right == '1)
`MT_ASSERT(ReceiversSeeSent, !cleared_q || rx_sent_right == '1)
`MT_ASSERT(ReceiversSeeClaimed, !cleared_q || rx_claimed_right == '1)
`MT_ASSERT(CountsAreSums, !cleared_q || (taken_q[which] == taken_ref_q &&
                                         claimed_q[which] == claimed_ref_q))
if (EnExchange != 0) begin : gen_sent_sum
  `MT_ASSERT(SentIsSum, !cleared_q || sent_q[which] == sent_ref_q)
end

`MT_COVER(AllAtOnce, cleared_q && taken_ref_q == CntW'(NumPorts) && sent_ref_q == CntW'(NumPorts)
                     && claimed_ref_q == CntW'(NumPorts))
