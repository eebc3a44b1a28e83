// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a contraction of ranks to cuts of all nodes: a place for every switch.
///
/// Weigh the contraction tree by entry costs. The cuts charge a hop from u to v the height of v
/// above the lowest common ancestor of both, and that is at most the cheapest path's price. Give a
/// switch w a place p in the tree (a height on the way from the whole to a rank) and a price, and
/// they charge the links at w within their prices if p is near enough the way from u to v for all
/// pairs: within price(u to w) + price(w to v) - charge(u, v). The places near a way are a subtree,
/// every two of them meet (triangle inequality), hence all of them do (Helly), where the lowest of
/// their tops is.
#include <algorithm>

#include "algorithms/certificate/metric_trees_internal.hpp"
#include "algorithms/certificate/shortest_paths_internal.hpp"

namespace multitree {
namespace {

using Parts = std::vector<Contraction::Part>;

/// A place in the tree: on the edge above `part`, `height` above the whole.
struct Place {
  std::uint32_t part = 0;
  Price height;
  Price price;  ///< of a switch
};

class Placer {
 public:
  Placer(const Topology& topology, const std::vector<Price>& price, const Parts& parts)
      : topology_(topology),
        parts_(parts),
        heights_(parts.size(), 0),
        places_(topology.num_nodes()) {
    for (std::size_t part = parts.size() - 1; part-- > 0;) {
      heights_[part] = heights_[parts[part].parent] + parts[part].entry_cost;
    }
    for (std::uint32_t node = 0; node < topology.num_nodes(); ++node) {
      from_.push_back(cheapest_paths(topology, price, {NodeId{node}}, Through::AnyNode).distance);
    }
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      const std::uint32_t node = index(topology.node_of(Rank{r}));
      places_[node] = {r, heights_[r], 0};
      placed_.push_back(node);
    }
    for (std::uint32_t node = 0; node < topology.num_nodes(); ++node) {
      if (topology.nodes()[node].is_switch()) place(node);
    }
  }

  const std::vector<Place>& places() const { return places_; }

  /// Height of the whole plus the entry costs down to the part.
  const Price& height(std::uint32_t part) const { return heights_[part]; }

 private:
  /// Height of the lowest common ancestor of two places.
  Price meeting(const Place& a, const Place& b) const {
    std::uint32_t x = a.part, y = b.part;
    // Parents have higher numbers than their children.
    while (x != y) (x < y ? x : y) = parts_[std::min(x, y)].parent;
    return std::min({a.height, b.height, heights_[x]});
  }

  void place(std::uint32_t node) {
    Price nearest = -1, highest = -1;
    std::uint32_t below = placed_.front();
    for (const std::uint32_t other : placed_) {
      const Price in = from_[other][node] + places_[other].price;
      const Price out = from_[node][other] - places_[other].price;
      if (other == placed_.front() || in < nearest) nearest = in;
      const Price reach = places_[other].height - out;
      if (other == placed_.front() || reach > highest) {
        highest = reach;
        below = other;
      }
    }
    Place& place = places_[node];
    place.height = std::max<Price>(0, highest - nearest);
    place.part = places_[below].part;
    while (parts_[place.part].parent != place.part &&
           heights_[parts_[place.part].parent] >= place.height) {
      place.part = parts_[place.part].parent;
    }
    bool first = true;
    for (const std::uint32_t other : placed_) {
      const Price out = from_[node][other] - places_[other].price;
      const Price charge = places_[other].height - meeting(place, places_[other]) - out;
      if (first || charge > place.price) place.price = charge;
      first = false;
    }
    placed_.push_back(node);
  }

  const Topology& topology_;
  const Parts& parts_;
  std::vector<Price> heights_;            ///< by part
  std::vector<std::vector<Price>> from_;  ///< distances by node and node
  std::vector<Place> places_;             ///< by node
  std::vector<std::uint32_t> placed_;
};

/// The nodes at or below each part, by the height at which they are.
std::vector<std::vector<std::uint32_t>> nodes_below(const Parts& parts,
                                                    const std::vector<Place>& places) {
  std::vector<std::vector<std::uint32_t>> result(parts.size());
  for (std::uint32_t node = 0; node < places.size(); ++node) {
    for (std::uint32_t part = places[node].part;; part = parts[part].parent) {
      result[part].push_back(node);
      if (parts[part].parent == part) break;
    }
  }
  return result;
}

}  // namespace

PricedCuts cuts_of_out_trees(const Topology& topology, const std::vector<Price>& price) {
  const Contraction contraction = contract(topology, price);
  const Parts& parts = contraction.parts;
  const Placer placer(topology, price, parts);
  const std::vector<Place>& places = placer.places();
  PricedCuts result;
  for (const Place& place : places) result.switch_price.push_back(place.price);
  const auto below = nodes_below(parts, places);
  for (std::uint32_t part = 0; part + 1 < parts.size(); ++part) {
    // Going down the edge above the part, it loses the switches that are on the edge.
    Price from = placer.height(parts[part].parent);
    const Price& to = placer.height(part);
    while (from < to) {
      Price next = to;
      std::vector<NodeId> far;
      for (const std::uint32_t node : below[part]) {
        if (places[node].height <= from) continue;
        far.push_back(NodeId{node});
        next = std::min(next, places[node].height);
      }
      result.cuts.push_back({std::move(far), Price(next - from)});
      from = next;
    }
  }
  return result;
}

}  // namespace multitree
