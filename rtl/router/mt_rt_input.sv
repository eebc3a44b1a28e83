// SPDX-License-Identifier: BSD-3-Clause
// An input of a router: one buffer for each virtual channel, and the choice of which of them offers
// its next flit. A flit that arrives at an empty buffer can leave in the same cycle.
//
// Of the virtual channels that could move now, the one that has waited longest makes the request:
// headers ask for a free virtual channel of their output, an empty one if there is one (behind
// other worms they might have to wait for those); other flits need a place where their header went.
`include "mt_assert.svh"
`include "mt_bip.svh"
`include "mt_work.svh"

module mt_rt_input #(
  // Outputs to which it has a way: those of the router from 0 on, but the last one may have another number.
  parameter int unsigned NumPorts = 8,
  parameter int unsigned LastPort = NumPorts - 1,
  // 1: these are all outputs of the router. 0: a header that asks for another one stays.
  parameter int unsigned AllPorts = 1,
  // Virtual channels of each link.
  parameter int unsigned NumVc = 4,
  // Places of each virtual channel; a power of two. Senders may be given fewer.
  parameter int unsigned Depth = 512,
  localparam int unsigned VcW = NumVc > 1 ? $clog2(NumVc) : 1
) (
  input  logic clk_i,
  input  logic rst_ni,

  // From the link: a flit and the virtual channel that it is for.
  input  logic                      valid_i,
  input  logic [VcW-1:0]            vc_i,
  input  logic [mt_pkg::FlitW-1:0]  flit_i,
  // Places that became free, to the sender.
  output logic                      credit_valid_o,
  output logic [VcW-1:0]            credit_vc_o,

  // State of these outputs' virtual channels: no worm holds it; a place is free; all are.
  input  logic [NumPorts*NumVc-1:0] out_free_i,
  input  logic [NumPorts*NumVc-1:0] out_has_i,
  input  logic [NumPorts*NumVc-1:0] out_empty_i,

  // The request (which of these outputs), the flit to be moved, and whether it may move.
  output logic                        req_o,
  output logic [mt_pkg::HopPortW-1:0] req_port_o,
  output logic [VcW-1:0]              req_vc_o,
  output logic [mt_pkg::FlitW-1:0]    flit_o,
  input  logic                        grant_i
);

  localparam int unsigned PtrW = $clog2(Depth);
  localparam int unsigned PortW = mt_pkg::HopPortW;

  `MT_BIP_SIGNALS

  logic [mt_pkg::FlitBits-1:0] mem [NumVc*Depth];
  logic [PtrW-1:0] rd_q [NumVc];
  logic [PtrW-1:0] wr_q [NumVc];
  logic [PtrW:0] count_q [NumVc];
  logic [NumVc-1:0] stored_q;  // count_q != 0

  // Where the worm at the front of each virtual channel goes.
  logic [NumVc-1:0] routed_q;
  logic [PortW-1:0] port_q [NumVc];
  logic [VcW-1:0] to_q [NumVc];

  logic [NumVc-1:0] has;
  assign has = stored_q | (valid_i ? NumVc'(1) << vc_i : '0);

  // What each virtual channel wants.
  logic [NumVc-1:0] can;
  logic [NumVc*PortW-1:0] want_port;
  logic [NumVc*VcW-1:0] want_vc;

  logic [mt_pkg::HopW-1:0] hop;
  logic [NumVc-1:0] mask, free, with_place, with_empty, usable;
  logic [PortW-1:0] port;
  logic has_way;
  logic [VcW-1:0] best;
  always_comb begin
    hop = '0;
    mask = '0;
    free = '0;
    with_place = '0;
    with_empty = '0;
    usable = '0;
    best = '0;
    port = '0;
    has_way = 1'b1;
    can = '0;
    want_port = '0;
    want_vc = '0;
    if (`MT_WORK(has != '0)) begin
      for (int unsigned v = 0; v < NumVc; v++) begin
        if (`MT_WORK(has[v])) begin
          best = to_q[v];
          port = NumPorts > 1 ? port_q[v] : '0;
          if (routed_q[v]) begin
            can[v] = has[v] && out_has_i[32'(port) * NumVc + 32'(to_q[v])];
          end else begin
            hop = stored_q[v] ? mem[{VcW'(v), rd_q[v]}][mt_pkg::HopW-1:0]
                              : flit_i[mt_pkg::HopW-1:0];
            port = hop[PortW-1:0];
            mask = hop[PortW +: NumVc];
            if (AllPorts == 0) begin
              has_way = 32'(port) == LastPort || 32'(port) + 1 < NumPorts;
              if (!has_way) mask = '0;
              if (!has_way || 32'(port) == LastPort) port = PortW'(NumPorts - 1);
            end
            free = mask & out_free_i[32'(port) * NumVc +: NumVc];
            with_place = free & out_has_i[32'(port) * NumVc +: NumVc];
            with_empty = free & out_empty_i[32'(port) * NumVc +: NumVc];
            usable = with_empty != '0 ? with_empty : with_place;
            for (int unsigned c = NumVc; c > 0; c--) if (usable[c-1]) best = VcW'(c - 1);
            can[v] = has[v] && usable != '0;
          end
          want_port[v*PortW +: PortW] = port;
          want_vc[v*VcW +: VcW] = best;
        end
      end
    end
  end

  logic [NumVc-1:0] unused_chosen;
  logic [VcW-1:0] vc;
  mt_lru_arb #(.N(NumVc)) u_lru (
    .clk_i, .rst_ni, .req_i(can), .en_i(grant_i), .gnt_o(unused_chosen), .gnt_idx_o(vc));

  assign req_o = can != '0;

  // The flit itself. A header leaves without the hop that it has just taken.
  mt_pkg::flit_t flit;
  logic is_header;
  logic [mt_pkg::DataW-1:0] old_data, new_data;
  logic [mt_pkg::ParityW-1:0] changes;
  always_comb begin
    `MT_BIP_NONE
    changes = '0;
    flit = '0;
    is_header = 1'b0;
    old_data = '0;
    new_data = '0;
    req_port_o = '0;
    req_vc_o = '0;
    if (`MT_WORK(req_o)) begin
      req_port_o = want_port[vc*PortW +: PortW];
      req_vc_o = want_vc[vc*VcW +: VcW];
      flit = stored_q[vc] ? mt_pkg::FlitW'(mem[{vc, rd_q[vc]}]) : flit_i;
      is_header = !routed_q[vc];
      if (is_header) begin
        old_data = flit.data;
        new_data = old_data;
        if (old_data[mt_pkg::HeaderW-1]) begin
          new_data[mt_pkg::LongRouteW-1:0] = old_data[mt_pkg::LongRouteW-1:0] >> mt_pkg::HopW;
        end else begin
          new_data[mt_pkg::ShortRouteW-1:0] = old_data[mt_pkg::ShortRouteW-1:0] >> mt_pkg::HopW;
        end
        flit.data = new_data;
        // What was wrong before stays wrong.
        `MT_BIP(changes, {2'b0, old_data ^ new_data})
        flit.parity ^= changes;
      end
    end
  end
  assign flit_o = flit;

  logic push, pop;
  assign pop = grant_i && stored_q[vc];
  assign push = valid_i && !(grant_i && !stored_q[vc]);

  always_ff @(posedge clk_i) begin
    if (push) mem[{vc_i, wr_q[vc_i]}] <= flit_i[mt_pkg::FlitBits-1:0];
    if (grant_i) begin
      port_q[vc] <= req_port_o;
      to_q[vc] <= req_vc_o;
    end
  end

  always_ff @(posedge clk_i) begin
    credit_vc_o <= vc;
    if (!rst_ni) begin
      credit_valid_o <= 1'b0;
      stored_q <= '0;
      routed_q <= '0;
      for (int unsigned v = 0; v < NumVc; v++) begin
        rd_q[v] <= '0;
        wr_q[v] <= '0;
        count_q[v] <= '0;
      end
    end else begin
      credit_valid_o <= grant_i;
      if (grant_i) routed_q[vc] <= !flit.tail;
      if (`MT_WORK(push || pop)) begin
        if (push) wr_q[vc_i] <= wr_q[vc_i] + PtrW'(1);
        if (pop) rd_q[vc] <= rd_q[vc] + PtrW'(1);
        if (push && !(pop && vc == vc_i)) begin
          count_q[vc_i] <= count_q[vc_i] + (PtrW + 1)'(1);
          stored_q[vc_i] <= 1'b1;
        end
        if (pop && !(push && vc == vc_i)) begin
          count_q[vc] <= count_q[vc] - (PtrW + 1)'(1);
          stored_q[vc] <= count_q[vc] != (PtrW + 1)'(1);
        end
      end
    end
  end

  logic full;
  assign full = count_q[vc_i] == (PtrW + 1)'(Depth);
  `MT_ASSERT(NoOverflow, !(push && full))
  `MT_ASSERT(GrantedOnRequest, !grant_i || req_o)
  `MT_ASSERT(WormBeginsWithHead, !(grant_i && is_header && !flit.head))
  `MT_ASSERT(PortExists, !req_o || 32'(req_port_o) < NumPorts)

endmodule
