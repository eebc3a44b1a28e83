// SPDX-License-Identifier: BSD-3-Clause
// with: pkg/mt_pkg.sv arith/mt_fp_add.sv arith/mt_reduce_unit.sv
// prove: Latency=1 EnFp32=0 EnBf16=0 EnFp16=0
// prove: Latency=2 EnFp32=0 EnBf16=0 EnFp16=0
// prove: Latency=3 EnFp32=0 EnBf16=0 EnFp16=0
// steps: 4
// cover: 10

// What ports promise: only a result can be refused; integers are added.
`MT_ASSUME(RefusesResults, (ready_i | valid_o) == '1)
`MT_ASSUME(AddsIntegers, dtype_i == '0)

// One of those that ask goes; who does not ask may do what it likes.
`MT_ASSERT(OneGoes, (ask_i & go_o) == 2'd1 || (ask_i & go_o) == 2'd2 || ask_i == '0)
`MT_ASSERT(OthersGo, (ask_i | go_o) == '1)
// Only words that are there go into the unit, one in every move in which there is one.
`MT_ASSERT(OneEnters, enters == '0 || enters == 2'd1 || enters == 2'd2)
`MT_ASSERT(EntersIfThere, (enters & ~(valid_i & ~copy_i)) == '0 &&
                          (enters != '0 || (valid_i & ~copy_i) == '0))
`MT_ASSERT(MovesTogether, (take_o & valid_i) == (en_o ? enters | (valid_i & copy_i) : '0))

// Any lane of 32 bits; what is to hold at each port.
(* anyconst *) logic [1:0] lane;
logic [N-1:0] ask_passed_q, word_passed_q;  // the other went or moved while this one wanted to
logic [N-1:0] first_to_go, first_to_enter, last_there, done_q, stages_right, copies_right;
logic [N-1:0] copy_out, result_right;

for (genvar p = 0; p < N; p++) begin : gen_see
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i || !ask_i[p]) ask_passed_q[p] <= 1'b0;
    else ask_passed_q[p] <= !go_o[p];
    if (!rst_ni || clear_i || !adds[p]) word_passed_q[p] <= 1'b0;
    else if (en_o) word_passed_q[p] <= !enters[p];
  end
  assign first_to_go[p] = upper_goes_first_q == 1'(p);
  assign first_to_enter[p] = upper_enters_first_q == 1'(p);

  // The words of the port, as they were taken, in as many stages as the unit has.
  logic [Latency-1:0] there_q, stage_right;
  logic [31:0] a, b;
  logic [32*Latency-1:0] words_q;
  assign a = a_i[p*D + 32*lane +: 32];
  assign b = b_i[p*D + 32*lane +: 32];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      there_q <= '0;
      done_q[p] <= 1'b0;
    end else begin
      done_q[p] <= !en_o && (done_q[p] || (valid_o[p] && ready_i[p]));
      if (en_o) there_q <= Latency'({there_q, valid_i[p] && take_o[p]});
    end
    if (en_o) words_q <= (32*Latency)'({words_q, copy_i[p] ? b : a + b});
  end
  assign last_there[p] = there_q[Latency-1];
  assign stages_right[p] = there_q == (gen_port[p].added_q | gen_port[p].copied_q)
                           && (gen_port[p].added_q & gen_port[p].copied_q) == '0;
  for (genvar s = 0; s < Latency; s++) begin : gen_word
    assign stage_right[s] = !gen_port[p].copied_q[s]
        || gen_port[p].gen_stage[s].word_q[32*lane +: 32] == words_q[32*s +: 32];
  end
  assign copies_right[p] = stage_right == '1;
  assign copy_out[p] = gen_port[p].copied_q[Latency-1];
  assign result_right[p] = r_o[p*D + 32*lane +: 32] == words_q[32*(Latency-1) +: 32];
end

// Nobody is passed twice: who was passed goes first.
`MT_ASSERT(AskIsShort, (ask_passed_q & ~go_o) == '0)
`MT_ASSERT(WaitIsShort, (word_passed_q & adds & ~enters) == '0)
`MT_ASSERT(PassedGoesFirst, (ask_passed_q & ~first_to_go) == '0)
`MT_ASSERT(PassedEntersFirst, (word_passed_q & ~first_to_enter) == '0)
// Each word comes out once: it is offered until it is accepted, and nothing moves before.
`MT_ASSERT(StagesAreWords, stages_right == '1)
`MT_ASSERT(OfferedOnce, valid_o == (last_there & ~done_q))
`MT_ASSERT(NoneIsLost, !en_o || (last_there & ~done_q & ~(valid_o & ready_i)) == '0)
// Copies are what came; so are sums, where the unit's only stage can be seen.
`MT_ASSERT(CopiesAreRight, copies_right == '1)
`MT_ASSERT(ResultIsCopy, (valid_o & copy_out & ~result_right) == '0)
if (Latency == 1) begin : gen_sum
  `MT_ASSERT(ResultIsSum, (last_there & ~result_right) == '0)
end
`MT_COVER(PassedThenServed, ask_passed_q[0] && word_passed_q[0] && enters[0] && en_o && go_o[0])
`MT_COVER(AcceptedBeforeOther, done_q[0] && valid_o[1])
