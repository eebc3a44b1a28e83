// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective whose ranks are interfaces in hardware and in software, mixed, and whose switches
/// are routers in either, or interfaces where they add and copy, on links that are frames.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "nic/parameters.hpp"
#include "nic/table/table.hpp"
#include "rtl/sim/loader.hpp"
#include "rtl/sim/network.hpp"
#include "rtl/wire/frame_port.hpp"
#include "runtime/job/bootstrap.hpp"
#include "topologies/topology.hpp"

namespace multitree::rtl {

struct WireJob {
  const Schedule& schedule;
  const Topology& topology;
  std::uint64_t bytes = 0;  ///< of the buffer; rounded up to whole shards
  HardwareType type = HardwareType::Fp32;
  nic::Parameters parameters = {};
  /// [number, as of NodeNumbers]: verilated; else, and where there is none, software.
  std::vector<bool> is_hardware = {};
  Adders adders = Adders::Hardware;
  double drop = 0;                            ///< part of the frames that are lost on purpose
  std::chrono::milliseconds timeout{60'000};  ///< for all of it
  /// A node of another process that does not answer for so long is gone.
  std::chrono::milliseconds most_silence{10'000};
};

/// What a node has to tell.
struct WireReport {
  bool is_hardware = false;
  std::uint64_t flits = 0, frames = 0, again = 0, bad = 0;
  double seconds = 0;  ///< from the start until it was done, or of a switch all were
  std::string wrong;   ///< the first element that is not the schedule's; empty: all are
};

/// \throws Error(Unsupported) naming the rank, the link and the channel, if a route takes a virtual
/// channel that links do not have: nothing would ever get across.
/// \param channels virtual channels of a link
void check_channels(const nic::Tables& tables, const Topology& topology, std::uint32_t channels);

/// All nodes in this thread, frames through memory. \returns [number, as of NodeNumbers]
/// \throws Error(Unsupported) as check_channels(), nic::switches_as_ranks(), Network and load(),
/// whatever nodes are; Error(Timeout) saying who is not done; Error(InvalidInput) with what a node
/// reports.
std::vector<WireReport> run_in_memory(const WireJob& job);

using OpenPort = std::function<std::unique_ptr<FramePort>(const Neighbourhood& around)>;

/// Collective: this process's part, with its own frames: its rank or its switch, or both, as
/// processes_of() says. \returns as run_in_memory() \param open makes the port
/// \throws as run_in_memory() and processes_of(), and as Bootstrap::all_gather().
std::vector<WireReport> run_on_wires(const WireJob& job, runtime::Bootstrap& bootstrap,
                                     std::size_t frame_bytes, const OpenPort& open);

}  // namespace multitree::rtl
