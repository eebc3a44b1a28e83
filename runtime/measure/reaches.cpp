// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which ranks are near and far, and how long they take to answer each other.
#include "runtime/measure/reaches_internal.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "algorithms/breadth_first_internal.hpp"
#include "runtime/measure/exchange_internal.hpp"

namespace multitree::runtime {
namespace {

constexpr std::uint32_t kReaches = 8;  // what one of them says may be chance
constexpr int kChains = 2;             // of each, of which the shortest counts

/// By node: links of a shortest way from `node`, or to it.
std::vector<std::uint32_t> hops_of(const Topology& topology, NodeId node, bool back) {
  return hops_from(topology.num_nodes(), index(node), [&](std::uint32_t at, const auto& meet) {
    if (back) {
      for (const LinkId id : topology.in_links(NodeId{at})) meet(index(topology.link(id).src));
    } else {
      for (const LinkId id : topology.out_links(NodeId{at})) meet(index(topology.link(id).dst));
    }
  });
}

/// Of ranks that are as far there as back, as they answer each other. \returns none if all such are
/// as far as each other
std::optional<Reach> reach_of(const Topology& topology, Rank rank) {
  const NodeId self = topology.node_of(rank);
  const std::vector<std::uint32_t> there = hops_of(topology, self, false);
  const std::vector<std::uint32_t> back = hops_of(topology, self, true);
  Reach reach{rank, rank, rank, kFar, 0};
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const std::uint32_t node = index(topology.node_of(Rank{r}));
    const std::uint32_t far = there[node];
    if (Rank{r} == rank || back[node] != far) continue;
    if (far < reach.near_hops) reach.near = Rank{r}, reach.near_hops = far;
    if (far > reach.far_hops) reach.far = Rank{r}, reach.far_hops = far;
  }
  if (reach.near_hops >= reach.far_hops) return std::nullopt;
  return reach;
}

}  // namespace

std::vector<Reach> reaches_to_measure(const Topology& topology) {
  const std::uint32_t n = topology.num_ranks();
  std::vector<Reach> reaches;
  for (std::uint32_t i = 0; i < std::min(kReaches, n); ++i) {
    if (const auto reach = reach_of(topology, Rank{i * n / std::min(kReaches, n)})) {
      reaches.push_back(*reach);
    }
  }
  return reaches;
}

namespace measuring {

std::vector<ReachSteps> measure_reaches(Rounds& rounds, Rank self,
                                        const std::vector<Reach>& reaches,
                                        std::chrono::nanoseconds chain) {
  constexpr Kind kSteps{1, kSmallBytes, kChain};
  const auto shortest = [&](Rank a, Rank b) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    Neighbours who;
    if (a == self) who.targets = who.sources = {seat_of(b)};
    if (b == self) who.targets = who.sources = {seat_of(a)};
    for (int i = 0; i < kChains; ++i) {
      if (who.targets.empty()) {
        rounds.watch(chain);
        least = 0;
      } else {
        const Span came = rounds.round(who, kSteps).front();
        least = std::min(least, came.length() / static_cast<std::int64_t>(kChain));
      }
    }
    return least;
  };
  std::vector<ReachSteps> steps;
  for (const Reach& reach : reaches) {
    // The first chain to a rank connects.
    const std::int64_t near = shortest(reach.from, reach.near);
    steps.push_back({near, shortest(reach.from, reach.far)});
  }
  return steps;
}

std::vector<ReachTimes> gather_reaches(const std::vector<Reach>& reaches,
                                       const std::vector<ReachSteps>& mine, Bootstrap& job,
                                       Deadline timeout) {
  const auto all = exchange_all(mine, job, timeout);
  std::vector<ReachTimes> times;
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const Reach& reach = reaches[i];
    const auto of = [&](Rank rank) { return all[index(seat_of(rank))].at(i); };
    times.push_back({reach, (of(reach.from).near + of(reach.near).near) / 2,
                     (of(reach.from).far + of(reach.far).far) / 2});
  }
  return times;
}

}  // namespace measuring
}  // namespace multitree::runtime
