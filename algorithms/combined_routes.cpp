// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Routes as a tree: sorted, so that those that run together are neighbours.
#include "algorithms/combined_routes.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace multitree {

namespace {

/// Routes seen from their common end.
class Ways {
 public:
  Ways(std::span<const std::span<const LinkId>> routes, Op op, const Topology& topology)
      : routes_(routes), topology_(topology), adds_(op == Op::Reduce) {}

  [[nodiscard]] std::size_t size(std::size_t route) const { return routes_[route].size(); }
  [[nodiscard]] LinkId link(std::size_t route, std::size_t hop) const {
    return routes_[route][adds_ ? size(route) - 1 - hop : hop];
  }
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const {
    const std::size_t least = std::min(size(a), size(b));
    for (std::size_t hop = 0; hop < least; ++hop) {
      if (link(a, hop) != link(b, hop)) return link(a, hop) < link(b, hop);
    }
    return size(a) < size(b);
  }
  /// Links that two routes have in common.
  [[nodiscard]] std::size_t together(std::size_t a, std::size_t b) const {
    std::size_t hops = 0;
    while (hops < std::min(size(a), size(b)) && link(a, hops) == link(b, hops)) ++hops;
    return hops;
  }
  /// The node behind so many links of a route; nothing if there is no such link.
  [[nodiscard]] std::optional<NodeId> node(std::size_t route, std::size_t hops) const {
    const LinkId last = link(route, hops - 1);
    if (index(last) >= topology_.num_links()) return std::nullopt;
    return adds_ ? topology_.link(last).src : topology_.link(last).dst;
  }
  [[nodiscard]] bool can_part(std::size_t route, std::size_t hops) const {
    if (hops == 0) return true;
    const auto at = node(route, hops);
    if (!at) return false;
    const SwitchAbilities& abilities = topology_.node(*at).abilities;
    return adds_ ? abilities.adds : abilities.copies;
  }

 private:
  std::span<const std::span<const LinkId>> routes_;
  const Topology& topology_;
  bool adds_;
};

}  // namespace

CombinedRoutes::CombinedRoutes(std::vector<std::span<const LinkId>> routes, Op op,
                               const Topology& topology)
    : far_hop_(routes.size(), kNone) {
  const Ways ways(routes, op, topology);
  std::vector<std::size_t> order(routes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return ways.before(a, b); });
  std::vector<std::uint32_t> path;  // hops of the route before
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t route = order[i];
    const std::size_t together = i == 0 ? 0 : ways.together(route, order[i - 1]);
    const auto apart = together > 0 ? ways.node(route, together) : std::nullopt;
    std::size_t shared = together;
    while (!ways.can_part(route, shared)) --shared;
    path.resize(shared);
    while (path.size() < ways.size(route)) {
      const std::uint32_t nearer = path.empty() ? kNone : path.back();
      if (nearer != kNone) ++hops_[nearer].ways;
      Hop hop{ways.link(route, path.size()), nearer};
      if (path.size() < together) hop.apart = apart;
      hops_.push_back(hop);
      path.push_back(static_cast<std::uint32_t>(hops_.size() - 1));
    }
    if (path.empty()) continue;
    ++hops_[path.back()].ways;
    far_hop_[route] = path.back();
  }
}

bool has_in_network_trees(const Topology& topology) {
  return topology.has_abilities() && topology.is_symmetric() &&
         std::ranges::all_of(topology.nodes(), [](const Node& node) {
           return node.abilities.adds == node.abilities.copies;
         });
}

CombinedRoutes MessageGroup::routes(const Schedule& schedule, const Topology& topology) const {
  std::vector<std::span<const LinkId>> list;
  list.reserve(transfers.size());
  for (const std::size_t i : transfers) list.push_back(schedule.route(schedule.transfers[i]));
  return {std::move(list), op, topology};
}

std::vector<MessageGroup> message_groups(const Schedule& schedule, std::size_t begin,
                                         std::size_t end) {
  const auto key = [&](std::size_t i) {
    const Transfer& t = schedule.transfers[i];
    return std::tuple(t.op, t.chunk, t.op == Op::Copy ? t.src : t.dst);
  };
  std::vector<std::size_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  std::ranges::stable_sort(order, {}, key);
  std::vector<MessageGroup> groups;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !schedule.in_network || key(order[i]) != key(order[i - 1])) {
      groups.push_back({{}, schedule.transfers[order[i]].op});
    }
    groups.back().transfers.push_back(order[i]);
  }
  return groups;
}

}  // namespace multitree
