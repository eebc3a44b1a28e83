// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Making cut trees whole again and spreading their load.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "algorithms/replan/tree_work_internal.hpp"

namespace multitree {
namespace {

constexpr Op kOps[] = {Op::Copy, Op::Reduce};
constexpr std::uint32_t kMaxPasses = 16;

bool has(const Forest& forest, Op op) { return !forest.up[static_cast<std::size_t>(op)].empty(); }

/// Gives a chunk whose owner is gone to the rank that has most of the others below it.
void choose_owner(Forest& forest, std::uint32_t chunk) {
  const Op op = has(forest, Op::Copy) ? Op::Copy : Op::Reduce;
  std::vector<std::uint32_t> below(forest.ranks(), 0);
  for (std::uint32_t r = 0; r < forest.ranks(); ++r) {
    std::uint32_t top = r;
    while (forest.arc_of(op, chunk, top) < Forest::kCut) {
      top = forest.parent(op, chunk, top);
    }
    ++below[top];
  }
  const auto owner = static_cast<std::uint32_t>(std::ranges::max_element(below) - below.begin());
  forest.header.chunks[chunk].set_root(Rank{owner});
  for (const Op each : kOps) {
    if (!has(forest, each)) continue;
    std::uint32_t& arc = forest.arc_of(each, chunk, owner);
    if (arc < Forest::kCut) forest.remove_load(each, chunk, forest.arcs[arc]);
    arc = Forest::kRoot;
  }
}

void make_whole(Forest& forest, TreeWork& tree, Op op, std::uint32_t chunk, LinkLoad aim) {
  tree.open(op, chunk, aim);
  std::vector<std::uint32_t> orphans = tree.orphans();
  while (!orphans.empty()) {
    bool progress = false;
    for (const std::uint32_t orphan : orphans) progress |= tree.hang(orphan);
    if (!progress) {
      throw std::logic_error(
          fmt::format("no way to attach rank {} to the tree of chunk {}", orphans.front(), chunk));
    }
    std::erase_if(orphans,
                  [&](std::uint32_t r) { return forest.arc_of(op, chunk, r) != Forest::kCut; });
  }
}

/// An arc over a link that carries too much.
struct Use {
  LinkId link{};
  Op op{};
  std::uint32_t chunk, rank, arc;
};

/// The arcs over links that carry more than `aim`, the busiest links first.
std::vector<Use> uses_of_busy_links(Forest& forest, std::size_t group, LinkLoad aim) {
  std::vector<std::uint32_t> place(forest.topology.num_links(), Forest::kRoot);
  std::vector<LinkId> busy;
  for (std::uint32_t l = 0; l < place.size(); ++l) {
    if (aim < forest.load(group, LinkId{l})) busy.push_back(LinkId{l});
  }
  std::ranges::stable_sort(
      busy, [&](LinkId a, LinkId b) { return forest.load(group, b) < forest.load(group, a); });
  for (std::uint32_t i = 0; i < busy.size(); ++i) place[index(busy[i])] = i;
  std::vector<std::vector<Use>> uses(busy.size());
  for (std::uint32_t id = 0; !busy.empty() && id < forest.arcs.size(); ++id) {
    const Transfer& arc = forest.arcs[id];
    if (forest.group_of(arc.op) != group) continue;
    const std::uint32_t rank = index(child_of(arc));
    for (const LinkId link : forest.route(arc)) {
      const std::uint32_t at = place[index(link)];
      if (at == Forest::kRoot || forest.arc_of(arc.op, arc.chunk, rank) != id) continue;
      uses[at].push_back({link, arc.op, arc.chunk, rank, id});
    }
  }
  std::vector<Use> list;
  for (const auto& each : uses) list.insert(list.end(), each.begin(), each.end());
  return list;
}

/// Whether the busiest link of a group carries at most 5 % more than `aim`.
bool is_near(const Forest& forest, std::size_t group, LinkLoad aim) {
  using Wide = unsigned __int128;
  for (std::uint32_t l = 0; l < forest.topology.num_links(); ++l) {
    const LinkLoad load = forest.load(group, LinkId{l});
    if (Wide{load.carried} * 20 * aim.bandwidth > Wide{aim.carried} * 21 * load.bandwidth) {
      return false;
    }
  }
  return true;
}

/// One pass over the links that carry too much; how many arcs were moved.
/// `effort` limits the work: tries left.
std::size_t spread(Forest& forest, TreeWork& tree, std::size_t group, LinkLoad aim,
                   std::size_t& effort) {
  std::size_t moved = 0;
  for (const Use& use : uses_of_busy_links(forest, group, aim)) {
    const LinkLoad load = forest.load(group, use.link);
    if (!(aim < load) || forest.arc_of(use.op, use.chunk, use.rank) != use.arc) continue;
    if (effort == 0) break;
    --effort;
    tree.open(use.op, use.chunk, aim);
    if (!tree.improve(use.rank, load)) continue;
    forest.touched[static_cast<std::size_t>(use.op)][use.chunk] = true;
    ++moved;
  }
  return moved;
}

}  // namespace

void repair(Forest& forest) {
  for (std::uint32_t c = 0; c < forest.num_chunks(); ++c) {
    if (forest.header.chunks[c].root() == Forest::kNobody) choose_owner(forest, c);
  }
  TreeWork tree(forest);
  for (const Op op : kOps) {
    if (!has(forest, op)) continue;
    const LinkLoad aim = least_load(forest, forest.group_of(op));
    const auto& up = forest.up[static_cast<std::size_t>(op)];
    for (std::uint32_t c = 0; c < forest.num_chunks(); ++c) {
      const auto first = up.begin() + static_cast<std::ptrdiff_t>(std::size_t{c} * forest.ranks());
      const bool is_cut = std::any_of(first, first + forest.ranks(),
                                      [](const Forest::Up& u) { return u.arc == Forest::kCut; });
      if (!is_cut) continue;
      forest.touched[static_cast<std::size_t>(op)][c] = true;
      make_whole(forest, tree, op, c, aim);
    }
  }
  // A try opens a tree: so much work as opening every tree a few times.
  std::size_t effort = 4 * (forest.num_chunks() + 64);
  for (std::size_t group = 0; group < 2; ++group) {
    const LinkLoad aim = least_load(forest, group);
    for (std::uint32_t pass = 0; pass < kMaxPasses; ++pass) {
      if (is_near(forest, group, aim) || spread(forest, tree, group, aim, effort) == 0) break;
    }
  }
}

}  // namespace multitree
