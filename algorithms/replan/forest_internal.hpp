// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The trees of a schedule, every chunk's own, while they are taken over to another network.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/route_pool.hpp"
#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// What a link carries over its bandwidth, compared exactly.
struct LinkLoad {
  std::uint64_t carried = 0, bandwidth = 1;
  friend bool operator<(const LinkLoad& a, const LinkLoad& b) {
    using Wide = unsigned __int128;
    return Wide{a.carried} * b.bandwidth < Wide{b.carried} * a.bandwidth;
  }
};

/// Trees by parent. A chunk's arc of rank r joins r to its parent: a Copy to r, or a Reduce from r.
/// Arcs below `inherited` are transfers of the old schedule in terms of the new network, with their
/// old steps; those behind are new.
struct Forest {
  static constexpr std::uint32_t kRoot = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kCut = kRoot - 1;  ///< has lost its parent
  static constexpr Rank kNobody{kRoot};             ///< owner of a chunk whose owner is gone

  explicit Forest(const Topology& network) : topology(network) {}

  const Topology& topology;
  Schedule header;                   ///< without transfers
  std::vector<std::uint64_t> share;  ///< of each chunk in the buffer, in common units
  std::vector<Transfer> arcs;
  RoutePool routes;
  std::uint32_t inherited = 0;
  /// The arc of a rank (or kRoot, kCut) and, beside it for fast walks, the arc's other end.
  struct Up {
    std::uint32_t arc = kCut, parent = kCut;
  };
  /// Per op, chunk-major. Empty: the collective has no such op.
  std::array<std::vector<Up>, 2> up;
  std::array<std::vector<bool>, 2> touched;  ///< per op, chunks whose tree is not the old one
  /// Old steps of each op: [first, second).
  std::array<std::pair<std::uint32_t, std::uint32_t>, 2> span{};
  bool phased = true;      ///< all reductions come before all copies: each has the links to itself
  bool same_slots = true;  ///< a step has as much room on every link as it had
  std::array<std::vector<std::uint64_t>, 2> carried;  ///< per group_of(op), of each link

  [[nodiscard]] std::uint32_t ranks() const { return header.ranks; }
  [[nodiscard]] std::size_t num_chunks() const { return header.chunks.size(); }
  [[nodiscard]] Up& up_of(Op op, std::uint32_t chunk, std::uint32_t rank) {
    return up[static_cast<std::size_t>(op)][std::size_t{chunk} * header.ranks + rank];
  }
  [[nodiscard]] const Up& up_of(Op op, std::uint32_t chunk, std::uint32_t rank) const {
    return up[static_cast<std::size_t>(op)][std::size_t{chunk} * header.ranks + rank];
  }
  [[nodiscard]] std::uint32_t& arc_of(Op op, std::uint32_t chunk, std::uint32_t rank) {
    return up_of(op, chunk, rank).arc;
  }
  /// \pre The rank has an arc.
  [[nodiscard]] std::uint32_t parent(Op op, std::uint32_t chunk, std::uint32_t rank) const {
    return up_of(op, chunk, rank).parent;
  }
  [[nodiscard]] std::size_t group_of(Op op) const {
    return phased ? static_cast<std::size_t>(op) : 0;
  }
  [[nodiscard]] std::span<const LinkId> route(const Transfer& arc) const {
    return route_of(arc, routes);
  }
  [[nodiscard]] LinkLoad load(std::size_t group, LinkId link, std::uint64_t more = 0) const {
    return {carried[group][index(link)] + more, topology.link(link).bandwidth.bytes_per_second};
  }
  void add_load(Op op, std::uint32_t chunk, const Transfer& arc);
  void remove_load(Op op, std::uint32_t chunk, const Transfer& arc);
};

/// The end of an arc that is further from the root, and the other.
[[nodiscard]] constexpr Rank child_of(const Transfer& arc) {
  return arc.op == Op::Copy ? arc.dst : arc.src;
}
[[nodiscard]] constexpr Rank parent_of(const Transfer& arc) {
  return arc.op == Op::Copy ? arc.src : arc.dst;
}

/// Takes the old trees over: what used a node or link that is gone is cut, ranks that are new are
/// roots of chunks of their own (where every rank has one) and cut off from all trees. Nodes are
/// the same if they have the same name. Returns why that is impossible: a chunk travels no tree.
/// \throws Error(InvalidArgument) if the root of the collective is gone.
std::string inherit(const Schedule& old, const Topology& old_topology, Forest& forest);

/// Shares of the buffer that a schedule's chunks hold, in common units. Rounded where the common
/// unit would be beyond 2^-32.
[[nodiscard]] std::vector<std::uint64_t> shares_of(const Schedule& schedule);

/// Whether all reductions of a schedule come before all its copies. \pre Sorted by step.
[[nodiscard]] bool is_phased(const Schedule& schedule);

/// The busiest link's time for a schedule on its network, summed over phases that come one after
/// the other (`phased`), in shard times of another network.
[[nodiscard]] Exact load_of(const Schedule& schedule, bool phased, const Topology& topology,
                            const Topology& shards_of);

/// The busiest link's time for the trees as they are, in shard times of their network.
[[nodiscard]] Exact load_of(const Forest& forest);

/// A load that no trees fall below: what must enter and leave each rank, and all links together.
[[nodiscard]] LinkLoad least_load(const Forest& forest, std::size_t group);

/// In shard times of the forest's network.
[[nodiscard]] Exact to_shard_times(const Forest& forest, const LinkLoad& load);

/// Attaches what is cut off, over links with little load, then, while the busiest link carries more
/// than 1.05 times least_load(), moves subtrees away from such links. Throws std::logic_error if a
/// rank cannot be reached.
void repair(Forest& forest);

/// A concurrent all-reduce repaired as undirected trees.
struct Mirrored {
  Schedule schedule;
  std::uint32_t kept = 0;  ///< chunks that are reduced and spread over the same edges as before
  LinkLoad bound;          ///< that no schedule of this kind falls below, in the forest's shares
};

/// For an all-reduce, as inherited, that is not phased and reduces each chunk over the edges that
/// it spreads it over, on a network of equal links both ways without switches: hangs the parts of
/// its trees together, exchanges edges until no link has more than 4 % beyond the least load, and
/// gives all transfers new steps. Nothing where that is not so.
[[nodiscard]] std::optional<Mirrored> repair_mirrored(const Forest& forest);

/// Steps for all arcs: inherited ones whose way to the root is unchanged keep theirs (relative to
/// their phase), the others get the earliest that links allow. Arcs to leaves, which nothing waits
/// for, make room where what changed has to pass. Canonical.
[[nodiscard]] Schedule retime(const Forest& forest);

/// Steps of arcs.
struct Timing {
  std::vector<std::uint32_t> step;     ///< of each arc in use
  std::vector<bool> fixed;             ///< inherited arcs in use that stay in the order of steps
  std::vector<std::uint32_t> retimed;  ///< the other arcs in use
};

/// The canonical schedule.
[[nodiscard]] Schedule assemble(const Forest& forest, const Timing& timing);

}  // namespace multitree
