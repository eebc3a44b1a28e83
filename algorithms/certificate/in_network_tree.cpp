// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Turning trees of links to any root.
#include <algorithm>
#include <map>
#include <tuple>

#include "algorithms/certificate/in_network_trees_internal.hpp"
#include "algorithms/combined_routes.hpp"

namespace multitree {
namespace {

/// The arcs of one sender, and the tree of their routes. \param first of its arcs
struct Sender {
  std::size_t first = 0, end = 0;
  CombinedRoutes routes;
};

std::vector<Sender> senders_of(const std::vector<TreeArc>& gather, const RoutePool& routes,
                               const Topology& topology) {
  std::vector<Sender> senders;
  for (std::size_t first = 0, end = 0; first < gather.size(); first = end) {
    std::vector<std::span<const LinkId>> list;
    while (end < gather.size() && gather[end].src == gather[first].src) {
      list.push_back(route_of(gather[end++], routes));
    }
    senders.push_back({first, end, CombinedRoutes(std::move(list), Op::Copy, topology)});
  }
  return senders;
}

}  // namespace

InNetworkTree::InNetworkTree(const std::vector<TreeArc>& gather, const RoutePool& routes,
                             const Topology& topology)
    : InNetworkTree(topology) {
  for (const Sender& sender : senders_of(gather, routes, topology)) {
    const auto& hops = sender.routes.hops();
    std::vector<std::uint32_t> vertex(hops.size(), CombinedRoutes::kNone);
    for (std::size_t i = sender.first; i < sender.end; ++i) {
      vertex[sender.routes.far_hop(i - sender.first)] = index(gather[i].dst);
    }
    for (std::size_t h = 0; h < hops.size(); ++h) {
      if (vertex[h] == CombinedRoutes::kNone) vertex[h] = add_vertex();
      add_edge(hops[h].nearer == CombinedRoutes::kNone ? index(gather[sender.first].src)
                                                       : vertex[hops[h].nearer],
               vertex[h], hops[h].link);
    }
  }
}

void InNetworkTree::add_edge(std::uint32_t a, std::uint32_t b, LinkId link) {
  ways_[a].push_back({b, link});
  ways_[b].push_back({a, *topology_.mate(link)});
}

std::vector<TreeArc> InNetworkTree::arcs_from(Rank root, RoutePool& routes) const {
  struct Place {
    std::uint32_t at = 0, from = 0;
    std::vector<LinkId> route;
  };
  std::vector<TreeArc> arcs;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> senders{{index(root), index(root)}};
  for (std::size_t s = 0; s < senders.size(); ++s) {
    const auto [sender, from] = senders[s];
    std::vector<Place> open{{sender, from, {}}};
    while (!open.empty()) {
      const Place place = std::move(open.back());
      open.pop_back();
      for (const Way& way : ways_[place.at]) {
        if (way.to == place.from) continue;
        std::vector<LinkId> route = place.route;
        route.push_back(way.link);
        if (way.to < topology_.num_ranks()) {
          arcs.push_back(make_arc(Rank{sender}, Rank{way.to}, route, routes));
          senders.emplace_back(way.to, place.at);
        } else {
          open.push_back({way.to, place.at, std::move(route)});
        }
      }
    }
  }
  return arcs;
}

PackedTree InNetworkTree::rooted(Rank root, RoutePool& routes) const {
  PackedTree tree;
  tree.root = root;
  tree.gather = arcs_from(root, routes);
  for (auto arc = tree.gather.rbegin(); arc != tree.gather.rend(); ++arc) {
    std::vector<LinkId> back;
    for (const LinkId link : route_of(*arc, routes)) back.push_back(*topology_.mate(link));
    std::ranges::reverse(back);
    tree.reduce.push_back(make_arc(arc->dst, arc->src, back, routes));
  }
  return tree;
}

std::vector<std::int64_t> InNetworkTree::distances(std::uint32_t from) const {
  std::vector<std::int64_t> far(ways_.size(), -1);
  std::vector<std::uint32_t> open{from};
  far[from] = 0;
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    for (const Way& way : ways_[at]) {
      if (far[way.to] >= 0) continue;
      // One more for the link itself, where latencies are 0.
      far[way.to] = far[at] + topology_.link(way.link).latency.picoseconds + 1;
      open.push_back(way.to);
    }
  }
  return far;
}

Rank InNetworkTree::centre() const {
  // The farthest vertex from any is an end of a longest path.
  const auto farthest = [](const std::vector<std::int64_t>& far) {
    return static_cast<std::uint32_t>(std::ranges::max_element(far) - far.begin());
  };
  const std::uint32_t one = farthest(distances(0));
  const auto from_one = distances(one), from_other = distances(farthest(from_one));
  std::uint32_t best = 0;
  const auto most = [&](std::uint32_t rank) { return std::max(from_one[rank], from_other[rank]); };
  for (std::uint32_t rank = 1; rank < topology_.num_ranks(); ++rank) {
    if (most(rank) < most(best)) best = rank;
  }
  return Rank{best};
}

std::vector<std::pair<LinkId, std::int32_t>> messages_on_links(const std::vector<TreeArc>& gather,
                                                               const RoutePool& routes,
                                                               const Topology& topology) {
  std::map<LinkId, std::int32_t> count;
  for (const Sender& sender : senders_of(gather, routes, topology)) {
    for (const CombinedRoutes::Hop& hop : sender.routes.hops()) ++count[hop.link];
  }
  return {count.begin(), count.end()};
}

}  // namespace multitree
