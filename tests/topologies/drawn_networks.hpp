// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small networks drawn at random, of all kinds at once: switches, unequal rates, parallel links,
/// links that lead one way only, groups whose other ranks only forward.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "topologies/group.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// What is drawn.
struct DrawnKind {
  std::uint32_t most_nodes = 8;  ///< >= 2
  bool one_way = false;          ///< links have no mates, but some have one back of another rate
  bool is_group = false;         ///< only some of the ranks are members
};
inline std::string to_string(const DrawnKind& kind) {
  return fmt::format("{} nodes{}{}", kind.most_nodes, kind.one_way ? ", one-way" : "",
                     kind.is_group ? ", group" : "");
}
/// All four combinations.
inline std::vector<DrawnKind> drawn_kinds(std::uint32_t most_nodes) {
  return {{most_nodes, false, false},
          {most_nodes, true, false},
          {most_nodes, false, true},
          {most_nodes, true, true}};
}

/// A network of a kind, the same with every standard library.
class DrawnNetwork {
 public:
  DrawnNetwork(std::mt19937_64& random, const DrawnKind& kind)
      : random_(random), builder_("drawn") {
    const std::uint32_t nodes = 2 + below(kind.most_nodes - 1);
    add_nodes(nodes);
    kind.one_way ? join_one_way(nodes) : join_both_ways(nodes);
  }
  Topology build(bool is_group) && {
    Topology whole = std::move(builder_).build();
    if (!is_group) return whole;
    std::vector<std::uint32_t> ranks = shuffled(whole.num_ranks());
    ranks.resize(1 + below(ranks.size()));
    std::vector<Rank> members;
    for (const std::uint32_t r : ranks) members.push_back(Rank{r});
    return restrict_to(whole, members);
  }

 private:
  std::uint32_t below(std::size_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  /// None in one of two cases, else below `bound`.
  std::uint32_t few(std::uint32_t bound) { return below(2) == 0 ? 0 : below(bound); }
  /// 0 to count - 1.
  std::vector<std::uint32_t> shuffled(std::uint32_t count) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
    return order;
  }
  Bandwidth rate() { return Bandwidth{(1 + below(6)) * std::uint64_t{1'000'000'000}}; }

  /// Ranks and switches in any order; at least one is a rank.
  void add_nodes(std::uint32_t nodes) {
    const std::uint32_t ranks = 1 + below(nodes);
    const std::vector<std::uint32_t> number = shuffled(nodes);
    for (std::uint32_t v = 0; v < nodes; ++v) {
      if (number[v] < ranks) {
        builder_.add_endpoint({}, Rank{number[v]});
      } else {
        builder_.add_switch(fmt::format("s{}", v));
      }
    }
  }

  /// A tree, anything from a star to a chain, and maybe more links; each has a mate.
  void join_both_ways(std::uint32_t nodes) {
    const std::vector<std::uint32_t> order = shuffled(nodes);
    const std::uint32_t reach = 1 + below(nodes);
    const auto join = [&](std::uint32_t a, std::uint32_t b) {
      builder_.add_duplex(NodeId{a}, NodeId{b}, rate(), Time{});
    };
    for (std::uint32_t i = 1; i < nodes; ++i) {
      join(order[i], order[i - 1 - below(std::min(reach, i))]);
    }
    for (std::uint32_t more = few(2 * nodes); more > 0; --more) {
      const std::uint32_t a = below(nodes), b = below(nodes);
      if (a != b) join(a, b);
    }
  }

  /// A cycle through all, and maybe more links.
  void join_one_way(std::uint32_t nodes) {
    const std::vector<std::uint32_t> order = shuffled(nodes);
    const auto join = [&](std::uint32_t a, std::uint32_t b) {
      builder_.add_link(NodeId{a}, NodeId{b}, rate(), Time{});
      if (below(4) == 0) builder_.add_link(NodeId{b}, NodeId{a}, rate(), Time{});
    };
    for (std::uint32_t i = 0; i < nodes; ++i) join(order[i], order[(i + 1) % nodes]);
    for (std::uint32_t more = few(3 * nodes); more > 0; --more) {
      const std::uint32_t a = below(nodes), b = below(nodes);
      if (a != b) join(a, b);
    }
  }

  std::mt19937_64& random_;
  TopologyBuilder builder_;
};

inline Topology draw_network(std::mt19937_64& random, const DrawnKind& kind) {
  return DrawnNetwork(random, kind).build(kind.is_group);
}

}  // namespace multitree
