// SPDX-License-Identifier: BSD-3-Clause
// What went wrong in a cycle, and the lowest port at which it did.
`include "mt_work.svh"

module mt_errors #(
  parameter int unsigned NumPorts = 4,
  parameter int unsigned PieceW = 10,
  localparam int unsigned P = NumPorts
) (
  input  logic armed_i,    // or running: messages may come
  input  logic running_i,
  // Of the ports: of their tables, of worms that came, of credits.
  input  logic [P-1:0] parity_i,
  input  logic [P-1:0] opcode_i,
  input  logic [P-1:0] corrupt_i,
  input  logic [P-1:0] length_i,
  input  logic [P-1:0] piece_error_i,
  input  logic [P-1:0] duplicate_i,
  input  logic [P-1:0] parked_full_i,
  input  logic [P-1:0] header_i,
  input  logic [P-1:0] credit_over_i,
  input  logic [P-1:0] no_credit_i,
  // What the ports look at.
  input  logic [P*PieceW-1:0] piece_i,
  // An entry is written to the table of this port; more is written elsewhere than there is room for; a
  // credit of the router came twice; one of its links is dead; nothing has moved.
  input  logic entry_write_i,
  input  logic [mt_pkg::HopPortW-1:0] entry_port_i,
  input  logic [P-1:0] table_full_i,
  input  logic overflow_i,
  input  logic router_over_i,
  input  logic link_dead_i,
  input  logic mem_error_i,  // memory has answered with an error
  input  logic expires_i,

  output logic [mt_pkg::NumErrors-1:0] error_o,
  output logic [3:0]  port_o,
  output logic [15:0] error_piece_o
);

  logic [P-1:0] late, any, full_hit;
  for (genvar p = 0; p < P; p++) begin : gen_full
    assign full_hit[p] = 32'(entry_port_i) == p && table_full_i[p];
  end
  assign late = armed_i ? '0 : header_i;
  assign any = (running_i ? parity_i : '0) | opcode_i | corrupt_i | length_i | piece_error_i
               | duplicate_i | parked_full_i | late | credit_over_i | (expires_i ? no_credit_i : '0);
  always_comb begin
    error_o = '0;
    if (`MT_WORK(any != '0)) begin
      error_o[mt_pkg::ErrTableParity] = running_i && parity_i != '0;
      error_o[mt_pkg::ErrOpcode] = opcode_i != '0;
      error_o[mt_pkg::ErrCorrupt] = corrupt_i != '0;
      error_o[mt_pkg::ErrLength] = length_i != '0;
      error_o[mt_pkg::ErrPiece] = piece_error_i != '0;
      error_o[mt_pkg::ErrDuplicate] = duplicate_i != '0;
      error_o[mt_pkg::ErrParked] = parked_full_i != '0;
      error_o[mt_pkg::ErrLate] = late != '0;
    end
    error_o[mt_pkg::ErrTableFull] = overflow_i
        || (entry_write_i && (full_hit != '0 || 32'(entry_port_i) >= P));
    error_o[mt_pkg::ErrCreditOver] = credit_over_i != '0 || router_over_i;
    error_o[mt_pkg::ErrCreditStuck] = link_dead_i || (expires_i && no_credit_i != '0);
    error_o[mt_pkg::ErrMemory] = mem_error_i;
    error_o[mt_pkg::ErrTimeout] = expires_i && no_credit_i == '0;
  end

  always_comb begin
    {port_o, error_piece_o} = '0;
    for (int unsigned p = P; p > 0; p--) begin
      if (any[p-1]) begin
        port_o = 4'(p - 1);
        error_piece_o = 16'(piece_i[(p-1)*PieceW +: PieceW]);
      end
    end
  end

endmodule
