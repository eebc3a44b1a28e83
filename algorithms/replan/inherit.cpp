// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A schedule's trees in the terms of a network that has changed.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "algorithms/replan/forest_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kGone = std::numeric_limits<std::uint32_t>::max();
/// A rank that no transfer has joined to a chunk's tree so far.
constexpr std::uint32_t kUnseen = Forest::kCut - 1;

/// Where the old nodes, ranks and links are now; kGone.
struct Mapping {
  std::vector<std::uint32_t> node, rank, link;

  Mapping(const Topology& before, const Topology& after) {
    std::map<std::string_view, std::uint32_t> by_name;
    for (std::uint32_t v = 0; v < after.num_nodes(); ++v) {
      by_name.emplace(after.node(NodeId{v}).name, v);
    }
    for (const Node& old : before.nodes()) {
      const auto found = by_name.find(old.name);
      node.push_back(found == by_name.end() ? kGone : found->second);
    }
    for (std::uint32_t r = 0; r < before.num_ranks(); ++r) {
      const std::uint32_t v = node[index(before.node_of(Rank{r}))];
      const auto now = v == kGone ? std::nullopt : after.node(NodeId{v}).rank;
      rank.push_back(now ? index(*now) : kGone);
    }
    map_links(before, after);
  }

 private:
  /// The k-th link between two nodes is still the k-th.
  void map_links(const Topology& before, const Topology& after) {
    using Pair = std::pair<std::uint32_t, std::uint32_t>;
    std::map<Pair, std::vector<std::uint32_t>> between;
    for (std::uint32_t l = 0; l < after.num_links(); ++l) {
      const Link& now = after.link(LinkId{l});
      between[{index(now.src), index(now.dst)}].push_back(l);
    }
    std::map<Pair, std::size_t> next;
    for (const Link& old : before.links()) {
      const Pair ends{node[index(old.src)], node[index(old.dst)]};
      const auto found = between.find(ends);
      const std::size_t k = next[ends]++;
      const bool is_left = found != between.end() && k < found->second.size();
      link.push_back(is_left ? found->second[k] : kGone);
    }
  }
};

/// New chunk of each old one; chunks of ranks that are gone go where every rank has its own.
std::vector<std::uint32_t> inherit_chunks(const Schedule& old, const Mapping& mapping,
                                          Forest& forest) {
  std::vector<std::uint32_t> now(old.chunks.size(), kGone);
  std::vector<bool> owns(forest.ranks(), false);
  std::uint32_t trees = 0;
  for (std::uint32_t c = 0; c < old.chunks.size(); ++c) {
    Chunk chunk = old.chunks[c];
    trees = std::max(trees, chunk.tree + 1);
    const std::uint32_t owner = mapping.rank[index(chunk.root())];
    if (owner == kGone && is_sharded(old.collective)) continue;
    chunk.set_root(owner == kGone ? Forest::kNobody : Rank{owner});
    if (owner != kGone) owns[owner] = true;
    now[c] = static_cast<std::uint32_t>(forest.header.chunks.size());
    forest.header.chunks.push_back(chunk);
  }
  for (std::uint32_t r = 0; is_sharded(old.collective) && r < forest.ranks(); ++r) {
    if (!owns[r]) forest.header.chunks.push_back(Chunk::rooted(Rank{r}, trees++, 1));
  }
  return now;
}

/// Takes over the transfers of which nothing is gone. Returns why the old ones are no trees: each
/// op has to join all ranks of a chunk but its owner to a parent, once.
std::string inherit_arcs(const Schedule& old, const Mapping& mapping,
                         const std::vector<std::uint32_t>& chunk_now, Forest& forest) {
  forest.routes.reserve(old.routes.size() + old.routes.size() / 8);
  for (const LinkId link : old.routes) forest.routes.push_back(LinkId{mapping.link[index(link)]});
  forest.arcs.reserve(old.transfers.size() + old.transfers.size() / 8);
  std::array<std::vector<std::uint32_t>, 2> count;
  for (auto& of_op : count) of_op.assign(old.chunks.size(), 0);
  for (const Transfer& t : old.transfers) {
    const auto o = static_cast<std::size_t>(t.op);
    auto& [first, last] = forest.span[o];
    if (last == 0) first = t.step;
    last = t.step + 1;
    ++count[o][t.chunk];
    const std::uint32_t chunk = chunk_now[t.chunk];
    const std::uint32_t src = mapping.rank[index(t.src)], dst = mapping.rank[index(t.dst)];
    const std::uint32_t child = t.op == Op::Copy ? dst : src;
    if (chunk == kGone || child == kGone) continue;
    Forest::Up& up = forest.up_of(t.op, chunk, child);
    if (up.arc != kUnseen) return fmt::format("chunk {} does not travel along a tree", t.chunk);
    up.arc = Forest::kCut;
    const auto route = forest.route(t);
    if (src == kGone || dst == kGone || std::ranges::find(route, LinkId{kGone}) != route.end()) {
      continue;
    }
    up = {static_cast<std::uint32_t>(forest.arcs.size()), t.op == Op::Copy ? src : dst};
    forest.arcs.push_back({t.step, t.op, chunk, Rank{src}, Rank{dst}, t.route_begin, t.route_size});
    forest.add_load(t.op, chunk, t);
  }
  forest.inherited = static_cast<std::uint32_t>(forest.arcs.size());
  for (const auto& of_op : count) {
    if (std::ranges::count(of_op, 0U) == std::ssize(of_op)) continue;
    const auto odd = std::ranges::find_if(of_op, [&](auto n) { return n + 1 != old.ranks; });
    if (odd != of_op.end()) {
      return fmt::format("the tree of chunk {} leaves out ranks", odd - of_op.begin());
    }
  }
  for (auto& of_op : forest.up) {
    for (Forest::Up& up : of_op) {
      if (up.arc == kUnseen) up.arc = Forest::kCut;
    }
  }
  return {};
}

/// Room for the trees of the ops that the collective has.
void prepare_trees(const Schedule& old, Forest& forest) {
  const bool has[] = {reduces(old.collective), copies(old.collective)};
  for (const Op op : {Op::Reduce, Op::Copy}) {
    const auto o = static_cast<std::size_t>(op);
    forest.carried[o].assign(forest.topology.num_links(), 0);
    if (!has[o]) continue;
    forest.up[o].assign(forest.num_chunks() * forest.ranks(), {kUnseen, Forest::kCut});
    forest.touched[o].assign(forest.num_chunks(), false);
    for (std::uint32_t c = 0; c < forest.num_chunks(); ++c) {
      const Rank owner = forest.header.chunks[c].root();
      if (owner != Forest::kNobody) forest.arc_of(op, c, index(owner)) = Forest::kRoot;
    }
  }
}

}  // namespace

std::string inherit(const Schedule& old, const Topology& old_topology, Forest& forest) {
  const Mapping mapping(old_topology, forest.topology);
  forest.header.collective = old.collective;
  forest.header.algorithm = old.algorithm;
  forest.header.coalesces = old.coalesces;
  forest.header.ranks = forest.topology.num_ranks();
  if (has_root(old.collective)) {
    const std::uint32_t root = mapping.rank[index(old.root)];
    if (root == kGone) {
      throw Error(
          ErrorCode::InvalidArgument,
          fmt::format("the root of the {}, rank {} ({}), is gone", to_string(old.collective),
                      index(old.root), old_topology.node(old_topology.node_of(old.root)).name));
    }
    forest.header.root = Rank{root};
  }
  forest.phased = is_phased(old);
  const auto chunk_now = inherit_chunks(old, mapping, forest);
  forest.share = shares_of(forest.header);
  prepare_trees(old, forest);
  if (std::string reason = inherit_arcs(old, mapping, chunk_now, forest); !reason.empty()) {
    return reason;
  }
  for (std::uint32_t l = 0; l < old_topology.num_links(); ++l) {
    const std::uint32_t now = mapping.link[l];
    if (now == kGone) continue;
    forest.same_slots &= old_topology.slots(LinkId{l}) == forest.topology.slots(LinkId{now});
  }
  return {};
}

}  // namespace multitree
