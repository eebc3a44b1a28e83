// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Chains within boxes and between them.
#include "algorithms/packing/trees/boxes.hpp"

#include <algorithm>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/routing.hpp"

namespace multitree {
namespace {

using BoxRanks = std::vector<std::vector<Rank>>;  // by box, ascending

/// What the fastest links join; empty unless that is boxes of one size.
BoxRanks find_boxes(const Topology& topology, Bandwidth fastest) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> box_of(topology.num_nodes(), kNone);
  BoxRanks boxes;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    if (box_of[index(topology.node_of(Rank{r}))] != kNone) continue;
    const auto box = static_cast<std::uint32_t>(boxes.size());
    std::deque<NodeId> left{topology.node_of(Rank{r})};
    box_of[index(left.front())] = box;
    while (!left.empty()) {
      const NodeId node = left.front();
      left.pop_front();
      for (const LinkId link : topology.out_links(node)) {
        const NodeId next = topology.link(link).dst;
        if (topology.link(link).bandwidth != fastest || box_of[index(next)] != kNone) continue;
        box_of[index(next)] = box;
        left.push_back(next);
      }
    }
    boxes.emplace_back();
  }
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    boxes[box_of[index(topology.node_of(Rank{r}))]].push_back(Rank{r});
  }
  const auto is_odd = [&](const auto& box) { return box.size() != boxes[0].size(); };
  if (boxes.size() < 2 || boxes[0].size() < 2 || std::ranges::any_of(boxes, is_odd)) return {};
  return boxes;
}

/// A route to each rank's neighbour, over links that are the fastest or over all others.
class Neighbours {
 public:
  Neighbours(const Topology& topology, Bandwidth fastest)
      : topology_(topology), fastest_(fastest), router_(topology), used_(topology.num_links(), 0) {}

  /// False if there is none that shares no link with the routes before it.
  bool add(Rank from, Rank to, bool in_box) {
    auto& route = routes_.emplace_back();
    const auto usable = [&](LinkId link) {
      return used_[index(link)] == 0 && (topology_.link(link).bandwidth == fastest_) == in_box;
    };
    if (!router_.find(topology_.node_of(from), topology_.node_of(to), usable, route)) return false;
    for (const LinkId link : route) used_[index(link)] = 1;
    return true;
  }
  [[nodiscard]] std::span<const LinkId> operator[](std::size_t number) const {
    return routes_[number];
  }

 private:
  const Topology& topology_;
  Bandwidth fastest_;
  Router router_;
  std::vector<std::uint8_t> used_;
  std::vector<std::vector<LinkId>> routes_;
};

}  // namespace

std::optional<TreePacking> pack_boxes(const Topology& topology) {
  if (!topology.has_switches() || topology.num_links() == 0) return std::nullopt;
  Bandwidth fastest = topology.links()[0].bandwidth;
  for (const Link& link : topology.links()) fastest = std::max(fastest, link.bandwidth);
  const BoxRanks boxes = find_boxes(topology, fastest);
  if (boxes.empty()) return std::nullopt;
  const std::size_t count = boxes.size(), size = boxes[0].size();
  const auto rank = [&](std::size_t box, std::size_t place) {
    return boxes[box % count][place % size];
  };
  // Two routes of each rank: around its box, and to the next one.
  Neighbours neighbours(topology, fastest);
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t p = 0; p < size; ++p) {
      if (!neighbours.add(rank(b, p), rank(b, p + 1), true)) return std::nullopt;
      if (!neighbours.add(rank(b, p), rank(b + 1, p), false)) return std::nullopt;
    }
  }
  TreePacking packing;
  packing.collective = Collective::AllReduce;
  packing.ranks = topology.num_ranks();
  const auto around = [&](std::size_t box, std::size_t place) {
    const std::size_t from = box % count * size + place % size;
    return packing.make_arc(rank(box, place), rank(box, place + 1), neighbours[2 * from]);
  };
  const auto onward = [&](std::size_t box, std::size_t place) {
    const std::size_t from = box % count * size + place % size;
    return packing.make_arc(rank(box, place), rank(box + 1, place), neighbours[2 * from + 1]);
  };
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t p = 0; p < size; ++p) {
      PackedTree tree;
      tree.root = rank(b, p);
      // Up: around each box to the root's place, from box to box to the root. Down: the reverse.
      for (std::size_t x = 1; x <= count; ++x) {
        for (std::size_t y = 1; y < size; ++y) tree.reduce.push_back(around(b + x, p + y));
      }
      for (std::size_t x = 1; x < count; ++x) tree.reduce.push_back(onward(b + x, p));
      for (std::size_t x = 0; x + 1 < count; ++x) tree.gather.push_back(onward(b + x, p));
      for (std::size_t x = 1; x <= count; ++x) {
        for (std::size_t y = 0; y + 1 < size; ++y) tree.gather.push_back(around(b + x, p + y));
      }
      packing.trees.push_back(std::move(tree));
    }
  }
  return packing;
}

}  // namespace multitree
