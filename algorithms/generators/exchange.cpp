// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exchange of whole vectors, one hop a dimension: the fewest rounds that an all-reduce can have,
/// for the smallest messages. In round d every rank swaps what it has with all ranks that differ
/// from it in coordinate d only, which are its neighbours; the sums of the line are then
/// everywhere on it. A value is sent as it was before the round, so one round must reach the whole
/// line: lines are complete graphs.
#include <algorithm>
#include <map>

#include "algorithms/generators/generators_internal.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

/// The most ranks of a line with which all of it are neighbours.
std::uint32_t most_neighbours(Line line) {
  if (line == Line::Complete) return UINT32_MAX;
  return line == Line::Ring ? 3 : 2;
}

/// The sizes of a grid whose lines are complete graphs: tori of sizes up to 3, hypercubes, full
/// networks. Empty: none.
std::vector<std::uint32_t> complete_lines(const Topology& topology) {
  const std::optional<Grid> grid = structure_of(topology).grid;
  if (!grid) return {};
  const std::uint32_t most = most_neighbours(grid->line);
  const bool complete =
      std::ranges::all_of(grid->sizes, [&](std::uint32_t size) { return size <= most; });
  return complete ? grid->sizes : std::vector<std::uint32_t>{};
}

std::map<std::pair<NodeId, NodeId>, LinkId> links_by_ends(const Topology& topology) {
  std::map<std::pair<NodeId, NodeId>, LinkId> by_ends;
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Link& link = topology.link(LinkId{l});
    by_ends.try_emplace({link.src, link.dst}, LinkId{l});
  }
  return by_ends;
}

/// Calls visit(round, src, dst, link) for every message; false if a link is missing.
template <class Visit>
bool for_each_swap(const Topology& topology, const Visit& visit) {
  const std::vector<std::uint32_t> sizes = complete_lines(topology);
  const auto by_ends = links_by_ends(topology);
  std::uint32_t stride = 1, ranks = 1, round = 0;
  for (const std::uint32_t size : sizes) ranks *= size;
  if (ranks != topology.num_ranks()) return false;
  for (const std::uint32_t size : sizes) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const std::uint32_t own = r / stride % size;
      for (std::uint32_t other = 0; other < size; ++other) {
        if (other == own) continue;
        const std::uint32_t to = r + (other - own) * stride;  // modular: may be below r
        const auto link = by_ends.find({topology.node_of(Rank{r}), topology.node_of(Rank{to})});
        if (link == by_ends.end()) return false;
        visit(round, Rank{r}, Rank{to}, link->second);
      }
    }
    if (size > 1) ++round;
    stride *= size;
  }
  return true;
}

std::optional<std::string> exchange_unsupported(const Topology& topology) {
  if (topology.num_ranks() == 1 || for_each_swap(topology, [](auto...) {})) return std::nullopt;
  return "exchange: expected a full network, a hypercube, or a torus with sizes up to 3, got " +
         topology.name();
}

Schedule exchange_all_gather(const Topology& topology, const Spec& options) {
  return breadth_first_algorithm().all_gather(topology, options);
}

Schedule exchange_broadcast(const Topology& topology, Rank root, const Spec& options) {
  return breadth_first_algorithm().broadcast(topology, root, options);
}

Schedule exchange_all_reduce(const Topology& topology, const Spec&) {
  Schedule schedule = all_reduce_header(topology, 1);
  for_each_swap(topology, [&](std::uint32_t round, Rank src, Rank dst, LinkId link) {
    schedule.add(round, Op::Reduce, 0, src, dst, {&link, 1});
  });
  schedule.canonicalize();
  return schedule;
}

}  // namespace

Algorithm exchange_algorithm() {
  return {.name = "exchange",
          .summary = "whole vectors to all neighbours of a dimension at once; fewest rounds",
          .source = "full exchange, dimension by dimension",
          .unsupported = exchange_unsupported,
          .all_gather = exchange_all_gather,
          .broadcast = exchange_broadcast,
          .all_reduce = exchange_all_reduce};
}

}  // namespace multitree
