// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From one message through several switches to one for each way between them.
#include "nic/program/switches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/combined_routes.hpp"
#include "algorithms/verify.hpp"
#include "generated/mt_pkg.hpp"
#include "nic/program/pieces_internal.hpp"
#include "nic/table/with_interfaces.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

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

/// The pieces of all groups.
std::vector<PieceGroup> take_apart(const Schedule& schedule, const Topology& topology,
                                   const Topology& with, const std::vector<ElementRange>& ranges) {
  std::vector<PieceGroup> taken;
  const auto& transfers = schedule.transfers;
  for (std::size_t begin = 0, end = 0; begin < transfers.size(); begin = end) {
    while (end < transfers.size() && transfers[end].step == transfers[begin].step) ++end;
    for (const MessageGroup& group : message_groups(schedule, begin, end)) {
      const Transfer& one = transfers[group.transfers.front()];
      if (ranges[one.chunk].count == 0) continue;
      const bool adds = group.op == Op::Reduce;
      taken.push_back({one.step, one.chunk, group.op,
                       pieces_of_group(group.routes(schedule, topology), adds,
                                       adds ? one.dst : one.src, with)});
    }
  }
  return taken;
}

/// Levels of switches, at least 1.
std::uint32_t levels_of(const std::vector<PieceGroup>& groups) {
  std::uint32_t levels = 1;
  for (const PieceGroup& group : groups) {
    for (const Piece& piece : group.pieces) levels = std::max(levels, piece.level + 1);
  }
  return levels;
}

/// Of each switch at which the pieces of a sum meet, the piece that it stores: one of those with
/// the fewest switches behind them, for it is there first.
std::map<Rank, std::size_t> stored_pieces(const std::vector<Piece>& pieces) {
  std::map<Rank, std::uint32_t> heights;
  std::map<Rank, std::size_t> stored;
  for (std::size_t i = pieces.size(); i-- > 0;) {
    const std::uint32_t height = heights[pieces[i].far];
    std::uint32_t& above = heights[pieces[i].near];
    above = std::max(above, height + 1);
    const auto [at, is_new] = stored.try_emplace(pieces[i].near, i);
    if (!is_new && height <= heights[pieces[at->second].far]) at->second = i;
  }
  return stored;
}

/// Adds the pieces of groups to a schedule. A step of the schedule becomes two for each level of
/// switches: in the first of them is what a switch stores, in the second what it adds to that.
/// What comes to ranks comes in the last, so that they have sent before what they are to send,
/// unless there is nothing else of the chunk.
class Adding {
 public:
  Adding(Schedule& made, std::uint32_t ranks, std::uint32_t levels)
      : made_(made), ranks_(ranks), levels_(levels) {}

  void add(const PieceGroup& group, std::uint32_t chunk) {
    const std::uint32_t first = 2 * levels_ * group.step;
    const std::uint32_t last = first + 2 * levels_ - 1;
    if (group.op == Op::Copy) {
      for (const Piece& piece : group.pieces) {
        const bool is_last = is_rank(piece.far) && !group.is_whole;
        made_.add(is_last ? last : first + 2 * piece.level, Op::Copy, chunk, piece.near, piece.far,
                  piece.route);
      }
      return;
    }
    const std::map<Rank, std::size_t> stored = stored_pieces(group.pieces);
    for (std::size_t i = 0; i < group.pieces.size(); ++i) {
      const Piece& piece = group.pieces[i];
      const bool stores = !is_rank(piece.near) && stored.at(piece.near) == i;
      const std::vector<LinkId> route(piece.route.rbegin(), piece.route.rend());
      made_.add(last - 2 * piece.level - (stores ? 1 : 0), stores ? Op::Copy : Op::Reduce, chunk,
                piece.far, piece.near, route);
    }
  }

 private:
  [[nodiscard]] bool is_rank(Rank rank) const { return index(rank) < ranks_; }

  Schedule& made_;
  std::uint32_t ranks_, levels_;
};

/// Gives transfers the first steps that they can have: what one reads was written in steps before,
/// what it overwrites was read by then, and links keep their order. Those of one chunk and step
/// stay in one.
class Hastening {
 public:
  Hastening(Schedule& schedule, const Topology& topology)
      : schedule_(schedule),
        values_(std::size_t{schedule.ranks} * schedule.chunks.size()),
        links_(topology.num_links(), 0) {}

  void run() {
    const auto& all = schedule_.transfers;
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      std::map<std::uint32_t, std::vector<std::size_t>> of_chunk;
      for (; end < all.size() && all[end].step == all[begin].step; ++end) {
        of_chunk[all[end].chunk].push_back(end);
      }
      for (const auto& [chunk, together] : of_chunk) place(together);
    }
    schedule_.canonicalize();
  }

 private:
  /// Steps from which a rank's value of a chunk may be read, copied to, and added to.
  struct Value {
    std::uint32_t read = 0, copied = 0, added = 0;
  };

  Value& value(Rank rank, std::uint32_t chunk) {
    return values_[std::size_t{index(rank)} * schedule_.chunks.size() + chunk];
  }
  void place(const std::vector<std::size_t>& together) {
    std::uint32_t step = 0;
    for (const std::size_t i : together) {
      const Transfer& t = schedule_.transfers[i];
      const Value& to = value(t.dst, t.chunk);
      step = std::max({step, value(t.src, t.chunk).read, t.op == Op::Copy ? to.copied : to.added});
      for (const LinkId link : schedule_.route(t)) step = std::max(step, links_[index(link)]);
    }
    for (const std::size_t i : together) {
      Transfer& t = schedule_.transfers[i];
      Value &from = value(t.src, t.chunk), &to = value(t.dst, t.chunk);
      from.copied = std::max(from.copied, step);
      from.added = std::max(from.added, step);
      to.read = std::max(to.read, step + 1);
      to.copied = std::max(to.copied, step + 1);
      if (t.op == Op::Copy) to.added = step + 1;
      for (const LinkId link : schedule_.route(t)) links_[index(link)] = step + 1;
    }
    for (const std::size_t i : together) schedule_.transfers[i].step = step;
  }

  Schedule& schedule_;
  std::vector<Value> values_;         // [rank][chunk]
  std::vector<std::uint32_t> links_;  // from which step on they are free
};

/// Flows of no more pieces than hardware has numbers for: a tree of more is several, one behind the
/// other.
void divide_flows(Schedule& schedule) {
  constexpr std::uint32_t kMost = 1U << mt_pkg::kNetPieceOfFlowW;
  std::map<std::uint32_t, std::uint32_t> pieces, first, next;
  for (const Chunk& chunk : schedule.chunks) ++pieces[chunk.tree];
  const auto flows_of = [](std::uint32_t number) { return (number + kMost - 1) / kMost; };
  std::uint32_t flows = 0;
  for (const auto& [tree, number] : pieces) {
    first[tree] = std::max(tree, flows);
    flows = first[tree] + flows_of(number);
  }
  for (Chunk& chunk : schedule.chunks) {
    const std::uint32_t number = pieces[chunk.tree], each = flows_of(number);
    const std::uint32_t of_flow = (number + each - 1) / each;
    const std::uint32_t piece = next[chunk.tree]++;
    chunk.tree = first[chunk.tree] + piece / of_flow;
  }
}

void check(const SwitchesAsRanks& made, const Schedule& schedule) {
  if (made.schedule.chunks.empty()) return;
  const VerifyReport report = verify(made.schedule, made.topology, {.max_violations = 1});
  if (report.ok()) return;
  throw Error(ErrorCode::Unsupported,
              fmt::format("interfaces of switches: expected '{}' to have a switch add or copy a "
                          "chunk for one sum or sender in a step, got {}",
                          schedule.algorithm, report.violations.front().message));
}

}  // namespace

SwitchesAsRanks switches_as_ranks(const Schedule& schedule, const Topology& topology,
                                  std::uint64_t elements) {
  SwitchesAsRanks result{with_interfaces(topology), {}};
  Schedule& made = result.schedule;
  made.collective = schedule.collective;
  made.algorithm = schedule.algorithm;
  made.root = schedule.root;
  made.ranks = result.topology.num_ranks();
  made.helpers = made.ranks - schedule.ranks;
  const std::vector<ElementRange> ranges = chunk_ranges(schedule, elements);
  std::vector<std::uint32_t> number(ranges.size(), 0);
  for (std::size_t c = 0; c < ranges.size(); ++c) {
    if (ranges[c].count == 0) continue;
    number[c] = static_cast<std::uint32_t>(made.chunks.size());
    made.chunks.push_back(schedule.chunks[c]);
    made.chunks.back().weight = ranges[c].count;
  }
  divide_flows(made);
  std::vector<PieceGroup> groups = take_apart(schedule, topology, result.topology, ranges);
  if (schedule.collective == Collective::AllReduce) {
    turn_to_middles(groups, topology, result.topology);
  }
  Adding adding(made, schedule.ranks, levels_of(groups));
  for (const PieceGroup& group : groups) adding.add(group, number[group.chunk]);
  made.canonicalize();
  Hastening(made, result.topology).run();
  check(result, schedule);
  return result;
}

void expect_hardware_switches(const Topology& topology) {
  for (const Node& node : topology.nodes()) {
    if (node.abilities.at_once == 0) continue;
    throw Error(ErrorCode::Unsupported,
                fmt::format("hardware: {}: expected switches that add and copy any number of "
                            "messages at once, got {} with at most {}; leave the number out",
                            topology.name(), node.name, node.abilities.at_once));
  }
}

}  // namespace multitree::nic
