// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a simulator needs of a schedule: the tables of all interfaces, and the routes of their
/// messages.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"
#include "nic/table/table.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

struct Program {
  /// Without the routes of interfaces: Tables::routes is empty and Entry::route 0, for simulators
  /// look at links, and large networks have millions of entries.
  Tables tables;
  std::vector<std::vector<LinkId>> routes;           ///< distinct, in the order of their first use
  std::vector<std::vector<std::uint32_t>> route_of;  ///< [rank][entry]: into routes
  std::uint32_t pieces = 0;                          ///< chunks of the schedule
  std::vector<std::uint32_t> first_piece;            ///< [flow]: number of its piece 0, of `pieces`

  /// Number of an entry's chunk among all.
  [[nodiscard]] std::uint32_t piece_of(const Entry& entry) const {
    return first_piece[entry.flow] + entry.piece;
  }
};

/// \pre the schedule verifies on the topology. \throws as compile_tables().
Program compile_program(const Schedule& schedule, const Topology& topology, std::uint64_t elements);

/// Elements of a buffer of `bytes`, rounded up to whole shards as the runtime pads them.
std::uint64_t padded_elements(std::uint64_t bytes, std::uint32_t element_bytes,
                              std::uint32_t ranks);

}  // namespace multitree::nic
