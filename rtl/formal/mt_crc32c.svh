// SPDX-License-Identifier: BSD-3-Clause
// prove: Width=9
// prove: Width=16
// steps: 2

// The definition: a shift register that is fed bit by bit, highest first.
logic [31:0] serial;
always_comb begin
  serial = '0;
  for (int unsigned i = Width; i > 0; i--) begin
    serial = {serial[30:0], 1'b0} ^ (serial[31] ^ data_i[i-1] ? 32'h1edc6f41 : 32'b0);
  end
  IsSerial: assert (crc_o == ~serial);
end

// Of words that differ in a burst of up to 32 bits none has the checksum of the other: as all is linear, that of
// the difference alone is not that of nothing.
(* anyconst *) logic [31:0] burst;
(* anyconst *) logic [5:0] at;
logic [Width-1:0] difference;
logic [31:0] of_difference;
assign difference = Width'((Width + 64)'(burst) << at);
always_comb begin
  of_difference = '0;
  for (int unsigned i = Width; i > 0; i--) begin
    of_difference = {of_difference[30:0], 1'b0}
                    ^ (of_difference[31] ^ difference[i-1] ? 32'h1edc6f41 : 32'b0);
  end
  SeesBurst: assert (difference == '0 || of_difference != '0);
end
