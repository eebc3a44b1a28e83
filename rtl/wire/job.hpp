// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective whose ranks are interfaces in hardware and in software, mixed, on links that are
/// frames.
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
  std::vector<bool> is_hardware = {};  ///< [rank]: verilated; else software
  Adders adders = Adders::Hardware;
  double drop = 0;                            ///< part of the frames that are lost on purpose
  std::chrono::milliseconds timeout{60'000};  ///< for all of it
};

/// What a rank has to tell.
struct WireReport {
  bool is_hardware = false;
  std::uint64_t flits = 0, frames = 0, again = 0, bad = 0;
  double seconds = 0;  ///< from the start until it was done; so are the others
  std::string wrong;   ///< the first element that is not the schedule's; empty: all are
};

/// \throws Error(Unsupported) naming the rank, the link and the channel, if a route takes a virtual
/// channel that links do not have: nothing would ever get across.
/// \param channels virtual channels of a link
void check_channels(const nic::Tables& tables, const Topology& topology, std::uint32_t channels);

/// All ranks in this thread, frames through memory. \returns [rank]
/// \throws Error(Unsupported) if the network has switches or as check_channels(), Network and
/// load(), whatever ranks are; Error(Timeout) saying who is not done; Error(InvalidInput) with what
/// an interface reports.
std::vector<WireReport> run_in_memory(const WireJob& job);

/// Collective: this rank's part, with its own frames. \returns [rank], of all
/// \param open makes the port, given the number of the job and its ways \throws as run_in_memory(),
/// and as Bootstrap::all_gather().
using OpenPort =
    std::function<std::unique_ptr<FramePort>(std::uint32_t job, const std::vector<Way>& ways)>;
std::vector<WireReport> run_on_wires(const WireJob& job, runtime::Bootstrap& bootstrap,
                                     std::size_t frame_bytes, const OpenPort& open);

}  // namespace multitree::rtl
