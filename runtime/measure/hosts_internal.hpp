// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks that run on one machine, as far as measuring is concerned.
#pragma once

#include <string>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "runtime/measure/link_measurement.hpp"
#include "topologies/topology.hpp"

namespace multitree::runtime::measuring {

/// Who shares a machine, and which of them measure each other: the same at every rank.
struct Host {
  std::vector<Rank> ranks;
  std::vector<MeasuredPair> pairs;  ///< between them
  /// They share memory as well; else each is in a container or an emulated node of its own, and
  /// their messages go over links.
  bool memory = true;
};

/// Collective: those machines with two ranks or more that measure each other.
/// \throws Error(Transport), Error(Timeout) of the bootstrap
std::vector<Host> find_hosts(Bootstrap& job, const Topology& topology, Deadline timeout);

}  // namespace multitree::runtime::measuring
