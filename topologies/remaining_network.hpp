// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The network that a job has left, and the numbers of those who are left of it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// The link between two ranks, both ways, through which nothing passes. a < b.
struct DeadLink {
  std::uint32_t a = 0, b = 0;
  auto operator<=>(const DeadLink&) const = default;
};

/// Of two ranks in any order.
constexpr DeadLink link_between(std::uint32_t one, std::uint32_t other) {
  return one < other ? DeadLink{one, other} : DeadLink{other, one};
}

/// A link between two ranks that has less than its rate, both ways.
struct SlowLink {
  DeadLink ends;
  std::uint32_t percent = 0;  ///< that is left
  bool operator==(const SlowLink&) const = default;
};

/// Who is left of a job. Ranks are numbered anew whenever some are lost; here all have the numbers
/// that they had at the beginning, and only here one is turned into the other.
class Survivors {
 public:
  /// All ranks of a job that has lost none.
  explicit Survivors(std::uint32_t all);

  /// By the number of today: that of the beginning. Ascending.
  [[nodiscard]] const std::vector<std::uint32_t>& ranks() const { return ranks_; }
  /// Between those who are left; ascending.
  [[nodiscard]] const std::vector<DeadLink>& dead_links() const { return dead_links_; }
  /// Those who are not left, ascending.
  [[nodiscard]] std::vector<std::uint32_t> lost() const;
  [[nodiscard]] bool is_all() const { return ranks_.size() == all_ && dead_links_.empty(); }
  [[nodiscard]] bool has(std::uint32_t rank) const { return today(rank).has_value(); }
  /// The number of today of a rank of the beginning; none if it is lost.
  [[nodiscard]] std::optional<std::uint32_t> today(std::uint32_t rank) const;
  /// Numbers of today of those who are left, but not in `part`, which has numbers of the beginning.
  [[nodiscard]] std::vector<std::uint32_t> all_but(const std::vector<std::uint32_t>& part) const;

  /// Those who are left after one more loss, told as a job tells it: `left` has by the new number
  /// the one before, `dead_links` all that there are between them, in the new numbers.
  [[nodiscard]] Survivors after(std::span<const std::uint32_t> left,
                                std::span<const DeadLink> dead_links) const;
  /// The same ranks with only those dead links that `before` has not.
  [[nodiscard]] Survivors without_links(const std::vector<DeadLink>& before) const;

 private:
  std::uint32_t all_;
  std::vector<std::uint32_t> ranks_;
  std::vector<DeadLink> dead_links_;
};

/// A network, and what is left of it. Nodes have the same names in both.
///
/// A host whose process died may forward no longer, so its node is taken out; where the others
/// could not reach each other any more it is believed to forward still.
class RemainingNetwork {
 public:
  /// Nothing is lost.
  explicit RemainingNetwork(Topology whole) : whole_(std::move(whole)) {}

  [[nodiscard]] const Topology& whole() const { return whole_; }
  /// What is left, ranks in the numbers of today.
  [[nodiscard]] const Topology& network() const { return left_ ? *left_ : whole_; }
  [[nodiscard]] bool is_whole() const { return !left_.has_value(); }

  /// What is left of network() when only these of its ranks are. \throws Error(Transport) if a dead
  /// link joins ranks that have no link of their own: a network with switches does not say which of
  /// its links is dead; Error(InvalidArgument): no rank is left, or the network is split.
  [[nodiscard]] RemainingNetwork after(const Survivors& survivors) const;
  /// The same with these links of network() at less than their rate. \throws Error(InvalidArgument)
  /// if there is none between those ranks, or the percentage is not of 1 to 100.
  [[nodiscard]] RemainingNetwork slowed(std::span<const SlowLink> links) const;
  /// The rank of whole() that `rank` of network() was.
  [[nodiscard]] Rank at_first(Rank rank) const;

 private:
  Topology whole_;
  std::optional<Topology> left_;
};

/// Those of the survivors that go on where dead links have split the network: the largest part of
/// them that is connected, of parts alike the one with the lowest rank. All of them where it is
/// whole. Ranks that are lost are believed to forward. In numbers of the beginning.
/// \throws Error(Transport) as RemainingNetwork::after().
std::vector<std::uint32_t> part_that_goes_on(const Topology& whole, const Survivors& survivors);

}  // namespace multitree
