// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Taking subtrees off a tree and hanging them elsewhere.
#include "algorithms/replan/tree_work_internal.hpp"

#include <algorithm>
#include <queue>

#include "algorithms/breadth_first_internal.hpp"

namespace multitree {

TreeWork::TreeWork(Forest& forest)
    : forest_(forest),
      children_(forest.ranks()),
      in_tree_(forest.ranks(), false),
      depth_(forest.ranks(), 0),
      seen_(forest.topology.num_nodes(), 0) {}

void TreeWork::open(Op op, std::uint32_t chunk, LinkLoad aim) {
  op_ = op;
  chunk_ = chunk;
  aim_ = aim;
  for (auto& list : children_) list.clear();
  in_tree_.assign(in_tree_.size(), false);
  for (std::uint32_t r = 0; r < forest_.ranks(); ++r) {
    if (forest_.arc_of(op, chunk, r) < Forest::kCut) children_[parent(r)].push_back(r);
  }
  set_depths(index(forest_.header.chunks[chunk].root()), 0);
}

std::vector<std::uint32_t> TreeWork::orphans() const {
  std::vector<std::uint32_t> list;
  for (std::uint32_t r = 0; r < forest_.ranks(); ++r) {
    if (forest_.arc_of(op_, chunk_, r) == Forest::kCut) list.push_back(r);
  }
  return list;
}

std::vector<std::uint32_t> TreeWork::below(std::uint32_t top) const {
  std::vector<std::uint32_t> list = {top};
  walk_breadth_first(list, [&](std::uint32_t rank) {
    list.insert(list.end(), children_[rank].begin(), children_[rank].end());
  });
  return list;
}

void TreeWork::set_depths(std::uint32_t top, std::uint32_t depth) {
  depth_[top] = depth;
  for (const std::uint32_t r : below(top)) {
    in_tree_[r] = true;
    for (const std::uint32_t child : children_[r]) depth_[child] = depth_[r] + 1;
  }
}

void TreeWork::detach(std::uint32_t rank) {
  std::uint32_t& arc = forest_.arc_of(op_, chunk_, rank);
  std::erase(children_[parent(rank)], rank);
  forest_.remove_load(op_, chunk_, forest_.arcs[arc]);
  arc = Forest::kCut;
  for (const std::uint32_t r : below(rank)) in_tree_[r] = false;
}

void TreeWork::attach(std::uint32_t rank, const Entry& entry) {
  Transfer arc{.step = 0, .op = op_, .chunk = chunk_, .src = entry.parent, .dst = Rank{rank}};
  if (op_ == Op::Reduce) std::swap(arc.src, arc.dst);
  arc.route_begin = add_route(entry.route, forest_.routes);
  arc.route_size = static_cast<std::uint32_t>(entry.route.size());
  const auto id = static_cast<std::uint32_t>(forest_.arcs.size());
  forest_.arcs.push_back(arc);
  attach_again(rank, id);
}

void TreeWork::attach_again(std::uint32_t rank, std::uint32_t arc) {
  forest_.up_of(op_, chunk_, rank) = {arc, index(parent_of(forest_.arcs[arc]))};
  forest_.add_load(op_, chunk_, forest_.arcs[arc]);
  const std::uint32_t above = parent(rank);
  children_[above].push_back(rank);
  set_depths(rank, depth_[above] + 1);
}

Entry TreeWork::entry_of(const Visit& visit) const {
  const Rank rank = *forest_.topology.node(NodeId{visit.node}).rank;
  Entry entry{rank, visit.load, visit.judged, depth_[index(rank)], {}};
  for (const Visit* v = &visit;; v = &visits_[v->before]) {
    entry.route.push_back(LinkId{v->link});
    if (v->before == Forest::kRoot) break;
  }
  // From the parent to the child: a Reduce goes the other way.
  if (op_ == Op::Reduce) std::ranges::reverse(entry.route);
  return entry;
}

/// Dijkstra's algorithm from `rank` towards possible parents, through switches, by the busiest link
/// on the way.
template <class Accept>
std::optional<Entry> TreeWork::search(std::uint32_t rank, const Accept& accept) {
  const Topology& topology = forest_.topology;
  const std::size_t group = forest_.group_of(op_);
  std::optional<Entry> best;
  const auto later = [&](std::uint32_t a, std::uint32_t b) {
    const Visit &x = visits_[a], &y = visits_[b];
    if (x.judged < y.judged || y.judged < x.judged) return y.judged < x.judged;
    if (x.hops != y.hops) return x.hops > y.hops;
    if (x.load < y.load || y.load < x.load) return y.load < x.load;
    return a > b;
  };
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(later)> queue(later);
  visits_.clear();
  ++stamp_;
  const auto leave = [&](NodeId node, const Visit* from, std::uint32_t before) {
    const LinkLoad load = from != nullptr ? from->load : LinkLoad{};
    const std::uint32_t hops = from != nullptr ? from->hops : 0;
    for (const LinkId id : op_ == Op::Copy ? topology.in_links(node) : topology.out_links(node)) {
      const Link& link = topology.link(id);
      const NodeId far = op_ == Op::Copy ? link.src : link.dst;
      const auto far_rank = topology.node(far).rank;
      if (far_rank ? !accept(index(*far_rank)) : seen_[index(far)] == stamp_) continue;
      const LinkLoad most = std::max(load, forest_.load(group, id, forest_.share[chunk_]));
      const Visit visit{most, std::max(most, aim_), hops + 1, index(far), index(id), before};
      if (far_rank) {
        visits_.push_back(visit);
        Entry found = entry_of(visits_.back());
        if (!best || found < *best) best = std::move(found);
      } else if (!best || !(best->judged < visit.judged)) {
        visits_.push_back(visit);
        queue.push(static_cast<std::uint32_t>(visits_.size() - 1));
      }
    }
  };
  leave(topology.node_of(Rank{rank}), nullptr, Forest::kRoot);
  while (!queue.empty()) {
    const std::uint32_t at = queue.top();
    queue.pop();
    const Visit visit = visits_[at];
    if (seen_[visit.node] == stamp_) continue;
    seen_[visit.node] = stamp_;
    if (best && best->judged < visit.judged) break;
    leave(NodeId{visit.node}, &visit, at);
  }
  return best;
}

std::optional<Entry> TreeWork::entry(std::uint32_t rank) {
  return search(rank, [&](std::uint32_t other) { return in_tree_[other]; });
}

bool TreeWork::hang(std::uint32_t orphan) {
  auto best = entry(orphan);
  if (best && !(aim_ < best->load)) {
    attach(orphan, *best);
    return true;
  }
  const std::vector<std::uint32_t> part = below(orphan);
  std::vector<bool> in_part(forest_.ranks(), false);
  for (const std::uint32_t r : part) in_part[r] = r != orphan;
  // A way to the orphan from below, if that is less loaded: that part has to be attached before.
  std::vector<std::uint32_t> lower;
  if (!best) {
    lower.assign(part.begin() + 1, part.end());
  } else if (const auto inner = search(orphan, [&](std::uint32_t r) { return in_part[r]; });
             inner && inner->judged < best->judged) {
    for (std::uint32_t r = index(inner->parent); r != orphan; r = parent(r)) lower.push_back(r);
  }
  std::optional<Entry> lower_entry;
  std::uint32_t lower_rank = 0;
  for (const std::uint32_t r : lower) {
    auto found = entry(r);
    if (!found || (lower_entry && !(*found < *lower_entry))) continue;
    lower_entry = std::move(found);
    lower_rank = r;
  }
  if (lower_entry && (!best || lower_entry->judged < best->judged)) {
    const std::uint32_t arc = forest_.arc_of(op_, chunk_, lower_rank);
    std::erase(children_[parent(lower_rank)], lower_rank);
    forest_.remove_load(op_, chunk_, forest_.arcs[arc]);
    attach(lower_rank, *lower_entry);
    return true;
  }
  if (!best) return false;
  attach(orphan, *best);
  return true;
}

bool TreeWork::improve(std::uint32_t rank, LinkLoad limit) {
  const std::uint32_t arc = forest_.arc_of(op_, chunk_, rank);
  detach(rank);
  const auto found = entry(rank);
  if (found && found->judged < limit) {
    attach(rank, *found);
    return true;
  }
  attach_again(rank, arc);
  return false;
}

}  // namespace multitree
