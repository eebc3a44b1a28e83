// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From one message through several switches to one for each way between them.
#include "nic/program/switches.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/combined_routes.hpp"

namespace multitree::nic {
namespace {

/// The same network with an endpoint at each switch that adds or copies.
Topology with_interfaces(const Topology& topology) {
  TopologyBuilder builder(topology.name());
  std::uint32_t ranks = topology.num_ranks();
  for (const Node& node : topology.nodes()) {
    builder.add_node({node.name, node.abilities.any() ? std::optional(Rank{ranks++}) : node.rank});
  }
  for (const Link& link : topology.links()) {
    builder.add_link(link.src, link.dst, link.bandwidth, link.latency);
  }
  return std::move(builder).build();
}

/// A message between two ends of a group's routes: a rank, or a switch at work.
struct Piece {
  Rank near{}, far{};  ///< as seen from the common end
  std::uint32_t level = 0;
  std::vector<LinkId> route;  ///< from near to far
};

/// The pieces of a group, nearer ones first.
std::vector<Piece> pieces_of_group(const CombinedRoutes& routes, bool adds, Rank common,
                                   const Topology& with) {
  const auto& hops = routes.hops();
  struct Reached {
    Rank from{};
    std::uint32_t level = 0;
    std::vector<LinkId> route;
  };
  std::vector<Reached> reached(hops.size());
  std::vector<bool> has_next(hops.size(), false);
  for (const CombinedRoutes::Hop& hop : hops) {
    if (hop.nearer != CombinedRoutes::kNone) has_next[hop.nearer] = true;
  }
  std::vector<Piece> pieces;
  for (std::size_t h = 0; h < hops.size(); ++h) {
    Reached& here = reached[h];
    here =
        hops[h].nearer == CombinedRoutes::kNone ? Reached{common, 0, {}} : reached[hops[h].nearer];
    here.route.push_back(hops[h].link);
    const bool is_end = !has_next[h];
    if (!is_end && hops[h].ways < 2) continue;
    const Link& link = with.link(hops[h].link);
    const Rank at = *with.node(adds ? link.src : link.dst).rank;
    pieces.push_back({here.from, at, here.level, here.route});
    here = {at, here.level + 1, {}};
  }
  return pieces;
}

/// The pieces of all groups, and how many levels of switches there are.
struct Taken {
  struct Group {
    std::uint32_t step = 0, chunk = 0;
    Op op = Op::Copy;
    std::vector<Piece> pieces;
  };
  std::vector<Group> groups;
  std::uint32_t levels = 1;
};

Taken take_apart(const Schedule& schedule, const Topology& topology, const Topology& with,
                 const std::vector<ElementRange>& ranges) {
  Taken taken;
  const auto& transfers = schedule.transfers;
  for (std::size_t begin = 0, end = 0; begin < transfers.size(); begin = end) {
    while (end < transfers.size() && transfers[end].step == transfers[begin].step) ++end;
    for (const MessageGroup& group : message_groups(schedule, begin, end)) {
      const Transfer& one = transfers[group.transfers.front()];
      if (ranges[one.chunk].count == 0) continue;
      const bool adds = group.op == Op::Reduce;
      taken.groups.push_back({one.step, one.chunk, group.op,
                              pieces_of_group(group.routes(schedule, topology), adds,
                                              adds ? one.dst : one.src, with)});
      for (const Piece& piece : taken.groups.back().pieces) {
        taken.levels = std::max(taken.levels, piece.level + 1);
      }
    }
  }
  return taken;
}

}  // namespace

SwitchesAsRanks switches_as_ranks(const Schedule& schedule, const Topology& topology,
                                  std::uint64_t elements) {
  SwitchesAsRanks result{with_interfaces(topology), {}};
  Schedule& made = result.schedule;
  made.algorithm = schedule.algorithm;
  made.ranks = result.topology.num_ranks();
  const std::vector<ElementRange> ranges = chunk_ranges(schedule, elements);
  std::vector<std::uint32_t> number(ranges.size(), 0);
  for (std::size_t c = 0; c < ranges.size(); ++c) {
    if (ranges[c].count == 0) continue;
    number[c] = static_cast<std::uint32_t>(made.chunks.size());
    made.chunks.push_back(
        Chunk::rooted(schedule.chunks[c].root(), schedule.chunks[c].tree, ranges[c].count));
  }
  const Taken taken = take_apart(schedule, topology, result.topology, ranges);
  for (const Taken::Group& group : taken.groups) {
    const std::uint32_t first = group.step * taken.levels;
    for (const Piece& piece : group.pieces) {
      if (group.op == Op::Copy) {
        made.add(first + piece.level, Op::Copy, number[group.chunk], piece.near, piece.far,
                 piece.route);
      } else {
        const std::vector<LinkId> route(piece.route.rbegin(), piece.route.rend());
        made.add(first + taken.levels - 1 - piece.level, Op::Reduce, number[group.chunk], piece.far,
                 piece.near, route);
      }
    }
  }
  made.canonicalize();
  return result;
}

}  // namespace multitree::nic
