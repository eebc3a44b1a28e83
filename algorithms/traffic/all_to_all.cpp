// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gives paths chunks and steps.
#include "algorithms/traffic/all_to_all.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "algorithms/generators/link_calendar_internal.hpp"
#include "algorithms/registry.hpp"

namespace multitree {
namespace {

/// The part of a path up to the next rank.
std::span<const LinkId> next_hop(std::span<const LinkId> links, const Topology& topology) {
  std::size_t size = 1;
  while (topology.node(topology.link(links[size - 1]).dst).is_switch()) ++size;
  return links.first(size);
}

/// What each rank keeps: its own entry, and what its row is shorter than the longest.
std::vector<std::uint64_t> kept(const Demand& demand) {
  std::vector<std::uint64_t> kept(demand.ranks(), demand.shard());
  for (std::uint32_t s = 0; s < demand.ranks(); ++s) {
    for (std::uint32_t t = 0; t < demand.ranks(); ++t) {
      if (s != t) kept[s] -= demand.at(Rank{s}, Rank{t});
    }
  }
  return kept;
}

/// Chunks by source, then target; `chunk_of` receives the number of each path's.
std::vector<Chunk> chunks_of(const RoutedDemand& routed, const Demand& demand,
                             std::vector<std::uint32_t>& chunk_of) {
  const std::vector<std::uint64_t> keeps = kept(demand);
  const std::size_t paths = routed.paths.size();
  const auto chunk = [&](std::size_t i) {  // paths, then what ranks keep
    if (i < paths) {
      const FlowPath& path = routed.paths[i];
      return Chunk{path.source, path.target, 0, path.weight};
    }
    return Chunk::rooted(Rank{static_cast<std::uint32_t>(i - paths)}, 0,
                         keeps[i - paths] * routed.parts);
  };
  std::vector<std::size_t> order(paths + keeps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    const Chunk c = chunk(i);
    return std::tuple(c.source, c.target, i);
  });
  std::vector<Chunk> chunks;
  chunk_of.resize(paths);
  for (const std::size_t i : order) {
    Chunk c = chunk(i);
    if (c.weight == 0) continue;
    c.tree = static_cast<std::uint32_t>(chunks.size());
    if (i < paths) chunk_of[i] = c.tree;
    chunks.push_back(c);
  }
  return chunks;
}

}  // namespace

Demand demand_of(const Schedule& schedule) {
  std::vector<std::uint64_t> entries(std::size_t{schedule.ranks} * schedule.ranks, 0);
  for (const Chunk& chunk : schedule.chunks) {
    entries[std::size_t{index(chunk.source)} * schedule.ranks + index(chunk.target)] +=
        chunk.weight;
  }
  const auto differs = [&](std::uint64_t entry) { return entry != entries.front(); };
  if (std::ranges::none_of(entries, differs)) return Demand::uniform(schedule.ranks);
  return {schedule.ranks, std::move(entries)};
}

Schedule all_to_all_schedule(const RoutedDemand& routed, const Demand& demand,
                             const Topology& topology) {
  Schedule schedule;
  schedule.collective = Collective::AllToAll;
  schedule.algorithm = "paths";
  schedule.ranks = topology.num_ranks();
  std::vector<std::uint32_t> chunk_of;
  schedule.chunks = chunks_of(routed, demand, chunk_of);

  std::vector<std::size_t> order(routed.paths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    const FlowPath& path = routed.paths[i];
    const std::uint32_t ahead =
        (index(path.target) + schedule.ranks - index(path.source)) % schedule.ranks;
    return std::tuple(-static_cast<std::int64_t>(path.links.size()), ahead, path.source, i);
  };
  std::ranges::sort(order, {}, key);
  LinkCalendar calendar(topology);
  for (const std::size_t i : order) {
    const FlowPath& path = routed.paths[i];
    std::span<const LinkId> rest = path.links;
    Rank at = path.source;
    for (std::uint32_t step = 0; !rest.empty(); ++step) {
      const auto hop = next_hop(rest, topology);
      rest = rest.subspan(hop.size());
      const Rank to = *topology.node(topology.link(hop.back()).dst).rank;
      step = calendar.next_free(hop, step);
      calendar.take(hop, step);
      schedule.add(step, Op::Copy, chunk_of[i], at, to, hop);
      at = to;
    }
  }
  schedule.canonicalize();
  expect_verified(schedule, topology);
  return schedule;
}

}  // namespace multitree
