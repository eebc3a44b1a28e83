// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A job that shrinks, told to Survivors: they keep the ranks of the beginning, the job has seats
/// of today.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "topologies/remaining_network.hpp"

namespace multitree::runtime {

/// For Survivors, which take bare numbers.
[[nodiscard]] inline std::vector<multitree::DeadLink> numbered(std::span<const DeadLink> links) {
  std::vector<multitree::DeadLink> bare;
  for (const auto& [a, b] : links) bare.push_back({index(a), index(b)});
  return bare;
}

/// Those who are left after one more loss.
[[nodiscard]] inline Survivors after(const Survivors& before, const Shrunk& shrunk) {
  std::vector<std::uint32_t> left;
  for (const Seat seat : shrunk.survivors) left.push_back(index(seat));
  return before.after(left, numbered(shrunk.dead_links));
}

/// None if it is lost.
[[nodiscard]] inline std::optional<Seat> seat_today(const Survivors& survivors, Rank at_first) {
  const auto today = survivors.today(index(at_first));
  return today ? std::optional(Seat{*today}) : std::nullopt;
}

/// Of those who are left, but not in `part`.
[[nodiscard]] inline std::vector<Seat> all_but(const Survivors& survivors,
                                               const std::vector<std::uint32_t>& part) {
  std::vector<Seat> others;
  for (const std::uint32_t today : survivors.all_but(part)) others.push_back(Seat{today});
  return others;
}

[[nodiscard]] inline Rank rank_at_first(const Survivors& survivors, Seat today) {
  return Rank{survivors.ranks().at(index(today))};
}

}  // namespace multitree::runtime
