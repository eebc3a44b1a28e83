// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The group is taken from the layout, the generators from rank 0, and every link is compared.
#include "algorithms/symmetric/cayley_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topologies/error.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

std::string not_one(const Topology& topology, std::string_view why) {
  return fmt::format(
      "needs a network that looks the same from every rank (a whole torus, ring, hypercube, full "
      "network, circulant, twisted torus or network of permutations with equal links), {}: {}",
      topology.name(), why);
}

std::string other_links(const Topology& topology, std::uint32_t rank) {
  return not_one(topology, fmt::format("rank {} has other links than a whole {} has", rank,
                                       topology.shape().family));
}

/// The ranks that the links of a rank lead to, with these links; ascending.
std::vector<std::pair<std::uint32_t, LinkId>> neighbours(const Topology& topology, Rank rank) {
  std::vector<std::pair<std::uint32_t, LinkId>> found;
  for (const LinkId id : topology.out_links(topology.node_of(rank))) {
    found.emplace_back(index(*topology.node(topology.link(id).dst).rank), id);
  }
  std::ranges::sort(found);
  return found;
}

/// Fills in the links of one rank; false unless they are those of the generators.
bool take_links(const Topology& topology, Rank rank, CayleyNetwork& network) {
  const std::uint32_t degree = network.graph.degree();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted;  // neighbour, generator
  for (std::uint32_t s = 0; s < degree; ++s) {
    wanted.emplace_back(network.graph.apply(index(rank), s), s);
  }
  std::ranges::sort(wanted);
  const auto found = neighbours(topology, rank);
  const auto neighbour = [](const auto& pair) { return pair.first; };
  if (!std::ranges::equal(wanted, found, {}, neighbour, neighbour)) return false;
  for (std::uint32_t i = 0; i < degree; ++i) {
    network.links[std::size_t{index(rank)} * degree + wanted[i].second] = found[i].second;
  }
  return true;
}

/// The graph that rank 0's links generate; empty if some link of it has no way back.
std::optional<CayleyGraph> generated(const Topology& topology, FiniteGroup group) {
  std::vector<std::uint32_t> generators;
  for (const auto& [rank, link] : neighbours(topology, Rank{0})) generators.push_back(rank);
  try {
    return CayleyGraph(std::move(group), std::move(generators));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<CayleyNetwork> find_cayley_network(const Topology& topology, std::string& reason) {
  const Shape& shape = topology.shape();
  const std::uint32_t ranks = topology.num_ranks();
  if (shape.family.empty()) {
    reason = not_one(topology, "its layout is not known");
    return std::nullopt;
  }
  std::optional<FiniteGroup> group = structure_of(topology).group;
  if (!group) {
    reason = not_one(topology, fmt::format("is a {} with {} ranks and {} switches", shape.family,
                                           ranks, topology.num_nodes() - ranks));
    return std::nullopt;
  }
  const auto links = topology.links();
  if (std::ranges::any_of(
          links, [&](const Link& link) { return link.bandwidth != links.front().bandwidth; })) {
    reason = not_one(topology, "bandwidths differ");
    return std::nullopt;
  }
  auto graph = generated(topology, std::move(*group));
  if (!graph) {
    reason = other_links(topology, 0);
    return std::nullopt;
  }
  CayleyNetwork network{.graph = std::move(*graph), .links = {}};
  network.links.resize(std::size_t{ranks} * network.graph.degree());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (take_links(topology, Rank{rank}, network)) continue;
    reason = other_links(topology, rank);
    return std::nullopt;
  }
  return network;
}

}  // namespace multitree
