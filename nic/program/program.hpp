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

/// One of several jobs (nic/jobs.hpp) of a program.
struct JobRow {
  std::uint32_t priority = 0;
  std::uint64_t ready = 0;  ///< cycle before which no rank starts it
  std::uint64_t delay = 0;  ///< cycles from when a rank could start it to when it does
  std::vector<std::uint64_t> computing = {};  ///< [rank]: cycles; empty: it is a collective
  std::vector<std::uint32_t> after = {};      ///< jobs before it
  std::uint64_t first_element = 0;            ///< where its buffer begins
  std::vector<std::uint64_t> messages = {};   ///< [rank]: that it sends, and that it takes in
};

struct Program {
  /// Without the routes of interfaces: Tables::routes is empty and Entry::route 0, for simulators
  /// look at links, and large networks have millions of entries.
  Tables tables;
  std::vector<std::vector<LinkId>> routes;           ///< distinct, in the order of their first use
  std::vector<std::vector<std::uint32_t>> route_of;  ///< [rank][entry]: into routes
  std::uint32_t pieces = 0;                          ///< chunks of the schedule
  std::vector<std::uint32_t> first_piece;            ///< [flow]: number of its piece 0, of `pieces`
  std::vector<JobRow> jobs;                          ///< empty: one collective and nothing else
  std::vector<std::uint32_t> job_of_piece;           ///< [piece], where there are jobs

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
