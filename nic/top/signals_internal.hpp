// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Signals of a network's module: memory, registers, traces.
#pragma once

#include <array>
#include <string_view>

namespace multitree::nic {

/// A signal of a rank that the network has for all ranks side by side.
struct Signal {
  std::string_view name, width;  // bits of a port: "" is 1
  bool is_input = false, is_of_port = true;
};

/// As in rtl/net/mt_net_rank.sv.
inline constexpr std::array kMemory = {Signal{"tx_req_tvalid", ""},
                                       Signal{"tx_req_tready", "", true},
                                       Signal{"tx_req_tdata", "A"},
                                       Signal{"tx_tvalid", "", true},
                                       Signal{"tx_tready", ""},
                                       Signal{"tx_tdata", "D", true},
                                       Signal{"acc_req_tvalid", ""},
                                       Signal{"acc_req_tready", "", true},
                                       Signal{"acc_req_tdata", "A"},
                                       Signal{"acc_tvalid", "", true},
                                       Signal{"acc_tready", ""},
                                       Signal{"acc_tdata", "D", true},
                                       Signal{"stage_req_tvalid", ""},
                                       Signal{"stage_req_tready", "", true},
                                       Signal{"stage_req_tdata", "S"},
                                       Signal{"stage_tvalid", "", true},
                                       Signal{"stage_tready", ""},
                                       Signal{"stage_tdata", "D", true},
                                       Signal{"stage_wr_tvalid", ""},
                                       Signal{"stage_wr_tready", "", true},
                                       Signal{"stage_wr_tdata", "(S + D)"},
                                       Signal{"stage_wr_tkeep", "K"},
                                       Signal{"res_tvalid", ""},
                                       Signal{"res_tready", "", true},
                                       Signal{"res_taddr", "A"},
                                       Signal{"res_tkeep", "K"},
                                       Signal{"res_tdata", "D"},
                                       Signal{"mem_idle", "", true, false},
                                       Signal{"mem_error", "", true, false}};
/// As in rtl/net/mt_net_axil.sv.
inline constexpr std::array kRegisters = {
    Signal{"awvalid", "", true}, Signal{"awready", ""},          Signal{"awaddr", "RegW", true},
    Signal{"awprot", "3", true}, Signal{"wvalid", "", true},     Signal{"wready", ""},
    Signal{"wdata", "32", true}, Signal{"wstrb", "4", true},     Signal{"bvalid", ""},
    Signal{"bready", "", true},  Signal{"bresp", "2"},           Signal{"arvalid", "", true},
    Signal{"arready", ""},       Signal{"araddr", "RegW", true}, Signal{"arprot", "3", true},
    Signal{"rvalid", ""},        Signal{"rready", "", true},     Signal{"rdata", "32"},
    Signal{"rresp", "2"}};
inline constexpr std::array kTraces = {Signal{"trace_running", "", false, false},
                                       Signal{"trace_done", "", false, false},
                                       Signal{"trace_begun", ""},
                                       Signal{"trace_sent", ""},
                                       Signal{"trace_issued", ""},
                                       Signal{"trace_rx_piece", "16"},
                                       Signal{"trace_rx_turn", "16"},
                                       Signal{"trace_rx_pos", "16"},
                                       Signal{"trace_taken", ""},
                                       Signal{"trace_taken_piece", "16"},
                                       Signal{"trace_step", "16", false, false}};

}  // namespace multitree::nic
