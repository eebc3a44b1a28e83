// SPDX-License-Identifier: BSD-3-Clause
// prove: Width=1 Groups=1
// prove: Width=13 Groups=4
// prove: Width=40 Groups=8

// Bit by bit.
function automatic logic [Groups-1:0] reference(input logic [Width-1:0] data);
  reference = '0;
  for (int unsigned i = 0; i < Width; i++) reference[i%Groups] = reference[i%Groups] ^ data[i];
endfunction

// Any error in up to Groups neighbouring bits.
(* anyconst *) logic [Groups-1:0] burst;
(* anyconst *) logic [$clog2(Width+1)-1:0] place;
logic [Width-1:0] error;
assign error = Width'(burst) << place;

always @* begin
  EveryBitCounts: assert (parity_o == reference(data_i));
  FindsBursts: assert (error == '0 || reference(data_i ^ error) != parity_o);
end
