// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ways up to where ranks meet, looked up link by link, and compared between ranks.
#include "algorithms/symmetric/alike_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "algorithms/symmetric/cayley_network.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

std::optional<LinkId> link_between(const Topology& topology, NodeId from, NodeId to) {
  for (const LinkId id : topology.out_links(from)) {
    if (topology.link(id).dst == to) return id;
  }
  return std::nullopt;
}

/// The generators of each level: offsets of one coordinate.
CayleyGraph graph_of(const std::vector<std::uint32_t>& sizes) {
  std::vector<std::uint32_t> generators;
  for (std::uint32_t stride = 1; const std::uint32_t size : sizes) {
    for (std::uint32_t offset = 1; offset < size; ++offset) generators.push_back(offset * stride);
    stride *= size;
  }
  return {FiniteGroup::grid(sizes), std::move(generators)};
}

/// Looks up the links of all levels; `why_not` is what is wrong where that fails.
class Climb {
 public:
  Climb(const Topology& topology, const RankLevels& levels)
      : topology_(topology), levels_(levels), graph_(graph_of(levels.sizes)) {}

  std::optional<AlikeNetwork> run() {
    user_.assign(topology_.num_links(), kNobody);
    orbit_of_.assign(topology_.num_links(), kNobody);
    std::uint32_t generator = 0, stride = 1;
    for (std::uint32_t l = 0; l < levels_.sizes.size(); ++l) {
      const std::uint32_t size = levels_.sizes[l];
      if (size > 1 && !add_level(l, generator, stride)) return std::nullopt;
      generator += size - 1;
      stride *= size;
    }
    if (!all_links_used() || !boxes_are_closed()) return std::nullopt;
    AlikeRanks ranks{
        .graph = std::move(graph_), .links = std::move(orbits_), .levels = levels_.sizes};
    return AlikeNetwork(topology_, std::move(ranks), std::move(found_));
  }

  std::string why_not;

 private:
  bool add_level(std::uint32_t level, std::uint32_t generator, std::uint32_t stride) {
    const auto up = [&](std::uint32_t rank) {
      return levels_.way_up({.dims = topology_.shape().dims,
                             .ranks = topology_.num_ranks(),
                             .level = level,
                             .rank = rank});
    };
    AlikeNetwork::Level found;
    found.direct = up(0).empty();
    found.first_generator = generator;
    const std::uint32_t size = levels_.sizes[level];
    found.links_per_rank = found.direct ? size - 1 : static_cast<std::uint32_t>(up(0).size());
    for (std::uint32_t rank = 0; rank < topology_.num_ranks(); ++rank) {
      std::vector<std::uint32_t> nodes = up(rank);
      // Where a rank meets others, the first of them does too.
      const std::uint32_t first = rank - rank / stride % size * stride;
      if (!nodes.empty() && nodes.back() != up(first).back()) return other_links(rank);
      for (std::uint32_t s = 0; found.direct && s + 1 < size; ++s) {
        nodes.push_back(index(topology_.node_of(Rank{graph_.apply(rank, generator + s)})));
      }
      if (!add_rank(rank, nodes, found)) return false;
    }
    add_ways(found, size);
    found_.push_back(std::move(found));
    return true;
  }

  /// The links of one rank, compared with those of rank 0.
  bool add_rank(std::uint32_t rank, const std::vector<std::uint32_t>& nodes,
                AlikeNetwork::Level& level) {
    NodeId at = topology_.node_of(Rank{rank});
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i] >= topology_.num_nodes()) return other_links(rank);
      const auto link = link_between(topology_, at, NodeId{nodes[i]});
      if (!link || !topology_.mate(*link)) return other_links(rank);
      level.links.push_back(*link);
      const LinkId like = level.links[i];
      if (rank == 0) new_orbit(*link, level.direct);
      std::uint32_t& user = user_[index(*link)];
      std::uint32_t& orbit = orbit_of_[index(*link)];
      if (user == kNobody) {
        user = rank;
        orbit = orbit_of_[index(like)];
      }
      if (user != rank) {
        why_not = fmt::format("ranks {} and {} share the link from {} to {}", user, rank,
                              topology_.node(at).name, topology_.node(NodeId{nodes[i]}).name);
        return false;
      }
      const Link &one = topology_.link(*link), &first = topology_.link(like);
      if (orbit != orbit_of_[index(like)] || one.bandwidth != first.bandwidth ||
          one.latency != first.latency) {
        return other_links(rank);
      }
      if (!level.direct) at = NodeId{nodes[i]};
    }
    return true;
  }

  /// A link of rank 0 and, unless it is straight to a rank, the one back down.
  void new_orbit(LinkId id, bool direct) {
    if (orbit_of_[index(id)] != kNobody) return;
    const Link& link = topology_.link(id);
    user_[index(id)] = 0;
    orbit_of_[index(id)] = static_cast<std::uint32_t>(orbits_.orbits.size());
    const LinkOrbits::Orbit orbit{link.bandwidth, link.latency, topology_.slots(id)};
    orbits_.orbits.insert(orbits_.orbits.end(), direct ? 1 : 2, orbit);
  }

  /// Up, and down what another rank has gone up.
  void add_ways(const AlikeNetwork::Level& level, std::uint32_t size) {
    std::vector<std::uint32_t> up;
    for (std::uint32_t i = 0; i < level.links_per_rank; ++i) {
      up.push_back(orbit_of_[index(level.links[i])]);
    }
    for (std::uint32_t s = 0; s + 1 < size; ++s) {
      if (level.direct) orbits_.ways.push_back({up[s]});
      if (!level.direct && s == 0) {
        orbits_.ways.push_back(up);
        for (std::size_t i = up.size(); i-- > 0;) orbits_.ways.back().push_back(up[i] + 1);
      }
      orbits_.way_of.push_back(static_cast<std::uint32_t>(orbits_.ways.size() - 1));
    }
  }

  /// A rank with more links than these could do more.
  bool all_links_used() {
    if (topology_.num_ranks() == 1) return true;
    for (std::uint32_t rank = 0; rank < topology_.num_ranks(); ++rank) {
      for (const LinkId id : topology_.out_links(topology_.node_of(Rank{rank}))) {
        if (user_[index(id)] != rank) return other_links(rank);
      }
    }
    return true;
  }

  /// Nothing but ways of a higher level leads out of a box.
  bool boxes_are_closed() {
    std::vector<std::uint32_t> first_above(topology_.num_nodes(), kNobody);  // of switches
    for (const AlikeNetwork::Level& level : found_) {
      for (const LinkId id : level.links) {
        if (!level.direct) first_above[index(topology_.link(id).dst)] = level.first_generator;
      }
    }
    for (const Link& link : topology_.links()) {
      const std::uint32_t above = first_above[index(link.src)];
      if (topology_.node(link.src).rank || above == kNobody ||
          above == found_.back().first_generator) {
        continue;
      }
      const auto back =
          topology_.mate(LinkId{static_cast<std::uint32_t>(&link - topology_.links().data())});
      if (back && user_[index(*back)] != kNobody) continue;
      why_not = fmt::format("a link from {} to {} leaves a box", topology_.node(link.src).name,
                            topology_.node(link.dst).name);
      return false;
    }
    return true;
  }

  bool other_links(std::uint32_t rank) {
    why_not = fmt::format("rank {} has other links than in a whole {} of equal links", rank,
                          topology_.shape().family);
    return false;
  }

  const Topology& topology_;
  const RankLevels& levels_;
  CayleyGraph graph_;
  LinkOrbits orbits_;
  std::vector<AlikeNetwork::Level> found_;
  std::vector<std::uint32_t> user_, orbit_of_;  // of each link
};

/// As one level on which a link leads along each generator.
AlikeNetwork of_links(const Topology& topology, CayleyNetwork network) {
  const std::uint32_t degree = network.graph.degree();
  AlikeRanks ranks = linked_ranks(std::move(network.graph));
  for (std::size_t i = 0; i < network.links.size(); ++i) {
    LinkOrbits::Orbit& orbit = ranks.links.orbits[i % degree];
    const Link& link = topology.link(network.links[i]);
    orbit.bandwidth = link.bandwidth;
    orbit.latency = i < degree ? link.latency : std::max(orbit.latency, link.latency);
  }
  AlikeNetwork::Level level;
  level.direct = true;
  level.links_per_rank = degree;
  level.links = std::move(network.links);
  return {topology, std::move(ranks), {std::move(level)}};
}

}  // namespace

std::vector<LinkId> AlikeNetwork::route(std::uint32_t element, std::uint32_t generator) const {
  auto level = levels_.begin();
  while (std::next(level) != levels_.end() && std::next(level)->first_generator <= generator) {
    ++level;
  }
  const auto at = [&](std::uint32_t rank, std::uint32_t i) {
    return level->links[std::size_t{rank} * level->links_per_rank + i];
  };
  if (level->direct) return {at(element, generator - level->first_generator)};
  const std::uint32_t to = ranks_.graph.apply(element, generator);
  std::vector<LinkId> links;
  for (std::uint32_t i = 0; i < level->links_per_rank; ++i) links.push_back(at(element, i));
  for (std::uint32_t i = level->links_per_rank; i-- > 0;) {
    links.push_back(*topology_->mate(at(to, i)));
  }
  return links;
}

std::optional<AlikeNetwork> find_alike_network(const Topology& topology, std::string& reason) {
  const std::optional<RankLevels> levels = structure_of(topology).levels;
  if (!levels) {
    auto network = find_cayley_network(topology, reason);
    if (!network) return std::nullopt;
    return of_links(topology, std::move(*network));
  }
  Climb climb(topology, *levels);
  auto found = climb.run();
  if (!found) {
    reason = fmt::format("needs a network that looks the same from every rank, {}: {}",
                         topology.name(), climb.why_not);
  }
  return found;
}

}  // namespace multitree
