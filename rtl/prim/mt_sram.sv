// SPDX-License-Identifier: BSD-3-Clause
// A memory: every one of the hardware that a chip would make of macros is one of these. A port that writes and
// NumRead that read:
//   * A word is written with an edge of wr_clk_i where wr_en_i, whole. There is no reset: nobody looks at what was
//     never written.
//   * Registered 1: with an edge of rd_clk_i where rd_en_i the word comes to rd_data_o, and stays until the next such
//     edge. It is never the word that is written at that edge.
//   * Registered 0: rd_data_o is the word at rd_addr_i in the same cycle, while rd_en_i; otherwise nobody looks at
//     it. A word that is written is there from the cycle after the edge on. These are register files.
//   * rd_clk_i is another clock than wr_clk_i in mt_async_fifo alone, where Registered is 1.
//
// A chip defines MT_SRAM_MACRO as the name of a module of its own with these parameters and ports, which is put in
// the place of every memory of MT_SRAM_LEAST bits (2048 unless it is defined) or more.
`include "mt_work.svh"

`ifndef MT_SRAM_LEAST
  `define MT_SRAM_LEAST 2048
`endif

module mt_sram #(
  // Bits of a word; words; ports that read.
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 16,
  parameter int unsigned NumRead = 1,
  // 1: what is read comes with the edge, from a register.
  parameter int unsigned Registered = 0,
  localparam int unsigned AddrW = Depth > 1 ? $clog2(Depth) : 1
) (
  input  logic                     wr_clk_i,
  input  logic                     wr_en_i,
  input  logic [AddrW-1:0]         wr_addr_i,
  input  logic [Width-1:0]         wr_data_i,

  // Port p in bits p*W +: W.
  input  logic                     rd_clk_i,
  input  logic [NumRead-1:0]       rd_en_i,
  input  logic [NumRead*AddrW-1:0] rd_addr_i,
  output logic [NumRead*Width-1:0] rd_data_o
);

`ifdef MT_SRAM_MACRO
  localparam bit IsMacro = Width * Depth >= `MT_SRAM_LEAST;
`else
  localparam bit IsMacro = 1'b0;
`endif

  if (IsMacro) begin : gen_macro
`ifdef MT_SRAM_MACRO
    `MT_SRAM_MACRO #(.Width(Width), .Depth(Depth), .NumRead(NumRead), .Registered(Registered)) u_macro (
      .wr_clk_i, .wr_en_i, .wr_addr_i, .wr_data_i, .rd_clk_i, .rd_en_i, .rd_addr_i, .rd_data_o);
`endif
  end else begin : gen_words
    logic [Width-1:0] mem [Depth];
    always_ff @(posedge wr_clk_i) begin
      if (wr_en_i) mem[wr_addr_i] <= wr_data_i;
    end
    for (genvar p = 0; p < NumRead; p++) begin : gen_read
      if (Registered != 0) begin : gen_register
        logic [Width-1:0] data_q;
        always_ff @(posedge rd_clk_i) begin
          if (rd_en_i[p]) data_q <= mem[rd_addr_i[p*AddrW +: AddrW]];
        end
        assign rd_data_o[p*Width +: Width] = data_q;
      end else begin : gen_wires
        assign rd_data_o[p*Width +: Width] = `MT_WORK(rd_en_i[p]) ? mem[rd_addr_i[p*AddrW +: AddrW]] : '0;
      end
    end
    if (Registered == 0) begin : gen_no_clock
      logic unused;
      assign unused = &{1'b0, rd_clk_i, rd_en_i};
    end
`ifdef FORMAL
    // For proofs, which look at all words.
    logic [Depth*Width-1:0] words;
    for (genvar w = 0; w < Depth; w++) begin : gen_word
      assign words[w*Width +: Width] = mem[w];
    end
`endif
  end

endmodule
