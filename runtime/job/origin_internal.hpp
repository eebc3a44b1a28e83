// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The processes of a job by numbers that stay however often it shrinks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/job/links.hpp"

namespace multitree::runtime {

/// A process by the seat that it had when its job began.
enum class Origin : std::uint32_t {};

[[nodiscard]] constexpr std::uint32_t index(Origin origin) {
  return static_cast<std::uint32_t>(origin);
}
/// What fmt prints.
[[nodiscard]] constexpr std::uint32_t format_as(Origin origin) { return index(origin); }

/// In a job that has not shrunk, one and the same; else seat_in() tells.
[[nodiscard]] constexpr Origin origin_of(Seat at_first) { return Origin{index(at_first)}; }
[[nodiscard]] constexpr Seat seat_at_first(Origin origin) { return Seat{index(origin)}; }

/// Those who are in a job by now, by seat; ascending.
using Members = std::vector<Origin>;

/// The first of a job: as many as it begins with.
[[nodiscard]] inline Members all_members(std::uint32_t size) {
  Members all;
  for (std::uint32_t i = 0; i < size; ++i) all.push_back(Origin{i});
  return all;
}
[[nodiscard]] inline bool has(const Members& members, Origin origin) {
  return std::ranges::binary_search(members, origin);
}
/// \pre it is one of them
[[nodiscard]] inline Seat seat_in(const Members& members, Origin origin) {
  return Seat{
      static_cast<std::uint32_t>(std::ranges::lower_bound(members, origin) - members.begin())};
}

}  // namespace multitree::runtime
