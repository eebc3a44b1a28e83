// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a time cannot be below, found for less than the time itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "algorithms/coalesced.hpp"
#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Of one schedule: what its busiest link carries, how many messages its busiest sender has, and
/// what it has been seen to take for less data.
class PriceFloor {
 public:
  PriceFloor() = default;
  PriceFloor(const Schedule& schedule, const Topology& priced);

  /// A prediction that is known.
  void note(std::uint64_t bytes, Time time) { known_[bytes] = time; }
  [[nodiscard]] const Time* known(std::uint64_t bytes) const;
  /// \returns a time that predict_time() is not below where each message costs its sender `message`
  [[nodiscard]] Time at(std::uint64_t bytes, Time message = {}) const;
  /// For predict_time(); null if the schedule does not coalesce.
  [[nodiscard]] const Rounds* rounds() const { return rounds_ ? &*rounds_ : nullptr; }

 private:
  double picoseconds_per_byte_ = 0;
  std::int64_t messages_ = 0;
  std::optional<Rounds> rounds_;
  std::map<std::uint64_t, Time> known_;
};

/// Of any schedule for a network: what the links at one rank, and those at all ranks together, take
/// for what must pass them.
Time least_time(const Topology& priced, Collective collective, Rank root, std::uint64_t bytes);

}  // namespace multitree
