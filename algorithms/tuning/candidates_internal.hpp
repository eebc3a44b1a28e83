// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The schedules that are compared: made of specs on all processors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/schedule_store_internal.hpp"
#include "algorithms/tuning/tune.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Sizes a factor apart.
std::vector<std::uint64_t> grid_of(std::uint64_t first, std::uint64_t last, std::uint64_t factor);

/// Whether two do the same, whatever they are called.
bool are_alike(const Schedule& a, const Schedule& b);

/// What a message costs in the time of the network that generators see, where the one that counts
/// has other bandwidths: how many pieces are best depends on what bytes cost beside messages. Where
/// ranks share processors, a message of each rank takes what all of them take.
Time message_cost(const Topology& topology, const TuneOptions& options);

/// What a spec stands for on a network.
struct Made {
  std::string spec;
  bool sized = false;       ///< the same algorithm as the one before, told another size
  std::uint64_t bytes = 0;  ///< the size that it was told; 0: it does not ask
  Schedule schedule;        ///< unverified
  std::string unsupported;  ///< why the network does not allow it; then there is no schedule
};

/// Each spec as the algorithm is for each of the sizes, in their order; those from `whole` on, and
/// the last before. What is the same for two sizes is listed once. Nothing is made yet.
std::vector<Made> list_candidates(const std::vector<std::string>& specs,
                                  const std::vector<std::uint64_t>& sizes, std::uint64_t whole,
                                  Time message);

/// Makes one. \throws Error as generate_schedule(), but not Unsupported.
void make_candidate(Made& candidate, const Topology& topology, Collective collective, Rank root,
                    ScheduleStore& store);

/// Makes all of them. `on_start` may be empty; it is told, by one thread at a time, how many are
/// over when another begins. \throws as make_candidate(), of the first that fails
void make_candidates(std::vector<Made>& candidates, const Topology& topology, Collective collective,
                     Rank root, ScheduleStore& store,
                     const std::function<void(std::size_t over, std::string_view spec)>& on_start);

}  // namespace multitree
