// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which transfers of a schedule travel together, where it asks for that (Schedule::coalesces).
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Most bytes of a message of several chunks (Schedule::coalesces) on this network: what is longer
/// takes its time by bytes, and would keep its receiver from passing on what has come. That is what
/// the fastest link carries in a few times what a message costs its sender, a power of two from
/// 128 KiB to 1 MiB.
std::uint64_t most_together(const Topology& topology);

/// Whether chunks of which the longest has so many bytes travel together, in messages of at most
/// `most` bytes.
inline bool fit_together(double longest, std::uint64_t most) {
  return 2 * longest <= static_cast<double>(most);
}

/// For each transfer of a schedule, by its number, its round, from 0: as late as what comes after
/// it allows, links aside, or, where that makes fewer messages, that of its step, with as many
/// steps in a round as can be. What a rank does with its value of a chunk never has a lower level
/// than what it did with it before, and a higher one than what it received before; what it sends
/// and receives in one step has one level. So messages of one level wait for none of each other,
/// whatever chunks they hold. \pre transfers are in canonical order
std::vector<std::uint32_t> levels_of(const Schedule& schedule);

/// What can travel together, found once for predictions of many sizes.
struct Rounds {
  std::vector<std::uint32_t> levels;  ///< levels_of()
  std::vector<std::uint32_t> order;   ///< transfers by level, sender, receiver
};
/// \pre as levels_of()
Rounds rounds_of(const Schedule& schedule);

}  // namespace multitree
