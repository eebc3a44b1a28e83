// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules for a network that has changed: repaired where they are hurt, not made anew.
#pragma once

#include <cstdint>
#include <string>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// What replan() did. Loads are of the busiest link, in shard times of the new network: what a
/// schedule takes when it is pipelined without end. Reductions and copies that do not overlap are
/// added up.
struct ReplanReport {
  std::uint32_t trees = 0;  ///< a chunk's reduction and its copies are a tree each
  std::uint32_t kept = 0;   ///< trees with the same arcs and routes as before
  Exact load_before = 0;    ///< of the old schedule on the old network
  Exact load_after = 0;
  /// No schedule of this kind has less load: the exact optimum, unless what has to enter and leave
  /// a rank (or all links together) already proves `load_after` to be within 5 % of it.
  Exact bound = 0;
  bool regenerated = false;            ///< made anew by the old algorithm
  std::string reason;                  ///< ... because of this; or why it is repaired beyond 5 %
  double seconds = 0;                  ///< without verification (wall clock)
  double verify_seconds = 0;           ///< of the old and the new schedule
  [[nodiscard]] double ratio() const;  ///< load_after / bound; 1 if both are 0
};

struct Replan {
  Schedule schedule;
  ReplanReport report;
};

/// The schedule of a network that has lost (or got) links, switches or ranks. Nodes are the same if
/// they have the same name.
///
/// Trees that use nothing that is gone stay as they are. In the others the parts that are cut off
/// are hung elsewhere over links with little load, not deeper than need be; then subtrees move away
/// from links with too much load. Only what follows a change gets new steps. Chunks of dead ranks
/// go to others in an all-reduce and vanish elsewhere; new ranks get chunks of their own. If that
/// leaves more than 5 % above the optimum, or no trees are found, the old algorithm generates the
/// schedule, and the better one is returned. Same input, same schedule.
///
/// \throws Error: InvalidInput if the old schedule does not verify on the old network,
/// InvalidArgument if the root of the collective is gone, Unsupported if it has to be made anew and
/// the algorithm cannot.
Replan replan(const Schedule& old, const Topology& old_topology, const Topology& new_topology);

}  // namespace multitree
