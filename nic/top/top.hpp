// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A whole network as one SystemVerilog module: its ranks, switches and links as instances of rtl/.
#pragma once

#include <cstdint>
#include <string>

#include "nic/top/wiring.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

/// "mt_net_torus_4x4": the name of the topology with what identifiers cannot have as underscores.
std::string top_name(const Topology& topology);

/// The module `top_name()`: an mt_net_rank for each rank, an mt_switch for each switch, an mt_link
/// for each link, registers of all ranks behind one AXI4-Lite slave, memory streams and traces of
/// port p of rank r in bits (r*M + p)*W +: W, M the most ports of a rank. Same network, same bytes.
/// \param command how it is made, for the comment at its top.
/// \param helpers ranks, the last, that are switches which add and copy, for that comment.
std::string systemverilog_top(const Topology& topology, const Wiring& wiring,
                              const std::string& command, std::uint32_t helpers = 0);

/// The files that it needs, for simulators: `rtl` is where rtl/ is, `top` the module's own file;
/// and the width of its flits, if it is not the usual one.
std::string top_file_list(const std::string& rtl, const std::string& top, std::uint32_t flit_bits);

}  // namespace multitree::nic
