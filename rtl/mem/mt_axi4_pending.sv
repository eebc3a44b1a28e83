// SPDX-License-Identifier: BSD-3-Clause
// Words that were accepted to be written and are not known to be: reads of them have to wait. Words
// are counted in 2^HashW places by a hash of their address: what shares a place with a word that is
// being written waits as well, for a while.
`include "mt_assert.svh"

module mt_axi4_pending #(
  // Bits of a byte address; places are 2^HashW; words that a place can count.
  parameter int unsigned AxiAddrW = 40,
  parameter int unsigned HashW = 12,
  parameter int unsigned CountW = 4,
  // Reads that are looked at in a cycle.
  parameter int unsigned NumLooks = 1,
  localparam int unsigned A = AxiAddrW
) (
  input  logic clk_i,
  input  logic rst_ni,
  // Places are 0, some cycles after reset; nothing else may happen before.
  output logic ready_o,

  // A word is accepted, if its place can count one more; one is written.
  input  logic         add_i,
  input  logic [A-1:0] add_addr_i,
  output logic         full_o,
  input  logic         done_i,
  input  logic [A-1:0] done_addr_i,

  input  logic [NumLooks*A-1:0] look_addr_i,
  output logic [NumLooks-1:0]   pending_o
);

  // Buffers that lie one behind the other, each a power of two long, shall not share all places.
  function automatic logic [HashW-1:0] place_of(input logic [A-1:0] addr);
    logic [A+HashW-1:0] word;
    place_of = '0;
    word = {{HashW{1'b0}}, addr} >> mt_pkg::ByteW;
    for (int unsigned at = 0; at < A - mt_pkg::ByteW; at += HashW) begin
      place_of = {place_of[HashW-3:0], place_of[HashW-1:HashW-2]} ^ word[at +: HashW];
    end
  endfunction

  // Since reset, modulo 2^CountW: those that are not the same in both are on their way.
  logic [CountW-1:0] added [1 << HashW];
  logic [CountW-1:0] written [1 << HashW];
  logic [HashW:0] clear_q;
  logic [HashW-1:0] add, done;
  assign ready_o = clear_q[HashW];
  assign add = place_of(add_addr_i);
  assign done = place_of(done_addr_i);
  assign full_o = CountW'(added[add] - written[add]) == '1;
  for (genvar i = 0; i < NumLooks; i++) begin : gen_look
    logic [HashW-1:0] place;
    assign place = place_of(look_addr_i[i*A +: A]);
    assign pending_o[i] = added[place] != written[place];
  end

  always_ff @(posedge clk_i) begin
    if (!ready_o) added[clear_q[HashW-1:0]] <= '0;
    else if (add_i) added[add] <= added[add] + CountW'(1);
    if (!ready_o) written[clear_q[HashW-1:0]] <= '0;
    else if (done_i) written[done] <= written[done] + CountW'(1);
    if (!rst_ni) clear_q <= '0;
    else if (!ready_o) clear_q <= clear_q + (HashW + 1)'(1);
  end

  `MT_ASSERT(CountsFit, !add_i || (ready_o && !full_o))
  logic [CountW-1:0] pending;
  assign pending = added[done] - written[done];
  `MT_ASSERT(WrittenWasAdded, !done_i || (ready_o && pending != '0))

endmodule
