// SPDX-License-Identifier: BSD-3-Clause
// prove: N=1
// prove: N=5
// prove: N=8
(* anyconst *) logic [IdxW-1:0] which;
always @* begin
  IndexOfTheBit: assert (32'(which) >= N || onehot_i != N'(1) << which || idx_o == which);
  IndexOfNone: assert (onehot_i != '0 || idx_o == '0);
end
