// SPDX-License-Identifier: BSD-3-Clause
// with: prim/mt_onehot.sv
// prove: N=1
// prove: N=5
// prove: N=8
(* anyconst *) logic [IdxW-1:0] which;
always @* begin
  AnyIsSome: assert (any_o == |req_i);
  NoneWithoutRequest: assert (any_o || (onehot_o == '0 && idx_o == '0));
  OneBit: assert (!any_o || onehot_o == N'(1) << idx_o);
  RequestIsSet: assert (!any_o || req_i[idx_o]);
  Lowest: assert (32'(which) >= N || !req_i[which] || idx_o <= which);
end
