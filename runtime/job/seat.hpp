// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which process of a job is meant, as against which endpoint of a network.
#pragma once

#include <cstdint>

#include "topologies/topology.hpp"

namespace multitree::runtime {

/// A process of a job: 0 .. Bootstrap::size()-1. A job that shrinks numbers those who stay anew, in
/// the order that they had.
enum class Seat : std::uint32_t {};

[[nodiscard]] constexpr std::uint32_t index(Seat seat) { return static_cast<std::uint32_t>(seat); }

/// The ranks of a network, and so of the schedules made for it, take the seats of the job that runs
/// them in their order. These two are the only places where one becomes the other.
[[nodiscard]] constexpr Seat seat_of(Rank rank) { return Seat{index(rank)}; }
[[nodiscard]] constexpr Rank rank_at(Seat seat) { return Rank{index(seat)}; }

}  // namespace multitree::runtime
