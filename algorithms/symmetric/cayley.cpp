// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of cyclic groups, and how a network is recognised as one.
#include "algorithms/symmetric/cayley.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace multitree {
namespace {

/// The graph of a shape for which the number of ranks fits.
std::optional<CayleyGraph> graph_of(const Shape& shape, std::uint32_t ranks) {
  const bool is_torus = shape.family == "torus" || shape.family == "ring";
  if (shape.dims.empty()) return std::nullopt;
  if (is_torus) {
    std::uint64_t size = 1;
    for (const std::uint32_t dim : shape.dims) {
      size *= dim;
      if (size == 0 || size > ranks) return std::nullopt;
    }
    if (size != ranks) return std::nullopt;
    return CayleyGraph::torus(shape.dims);
  }
  if (shape.dims.size() != 1) return std::nullopt;
  if (shape.family == "hypercube") {
    if (shape.dims[0] >= 32 || std::uint32_t{1} << shape.dims[0] != ranks) return std::nullopt;
    return CayleyGraph::hypercube(shape.dims[0]);
  }
  if (shape.family != "full" || shape.dims[0] != ranks) return std::nullopt;
  return CayleyGraph::complete(ranks);
}

std::string not_one(const Topology& topology, std::string_view why) {
  return fmt::format(
      "needs a whole torus, ring, hypercube or full network with equal links, {}: {}",
      topology.name(), why);
}

/// Fills in the links of one rank; false unless there is exactly one to each neighbour.
bool take_links(const Topology& topology, Rank rank, CayleyNetwork& network) {
  const std::uint32_t degree = network.graph.degree();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted, found;  // neighbour, what
  for (std::uint32_t s = 0; s < degree; ++s) {
    wanted.emplace_back(network.graph.apply(index(rank), s), s);
  }
  for (const LinkId id : topology.out_links(topology.node_of(rank))) {
    found.emplace_back(index(*topology.node(topology.link(id).dst).rank), index(id));
  }
  std::ranges::sort(wanted);
  std::ranges::sort(found);
  const auto neighbour = [](const auto& pair) { return pair.first; };
  if (!std::ranges::equal(wanted, found, {}, neighbour, neighbour)) return false;
  for (std::uint32_t i = 0; i < degree; ++i) {
    network.links[std::size_t{index(rank)} * degree + wanted[i].second] = LinkId{found[i].second};
  }
  return true;
}

}  // namespace

CayleyGraph::CayleyGraph(std::vector<std::uint32_t> sizes, std::vector<Generator> generators)
    : sizes_(std::move(sizes)), generators_(std::move(generators)) {
  std::vector<std::uint32_t> strides;
  for (const std::uint32_t size : sizes_) {
    strides.push_back(size_);
    size_ *= size;
  }
  std::vector<std::vector<std::uint32_t>> of_offset(sizes_.size());
  for (std::uint32_t s = 0; s < generators_.size(); ++s) {
    const auto [dim, offset] = generators_[s];
    if (of_offset[dim].empty()) of_offset[dim].resize(sizes_[dim]);
    of_offset[dim][offset] = s;
  }
  for (const auto [dim, offset] : generators_) {
    const std::uint32_t size = sizes_[dim], stride = strides[dim];
    moves_.push_back({.stride = stride,
                      .size = size,
                      .wrap_from = size - offset,
                      .up = offset * stride,
                      .down = (size - offset) * stride,
                      .inverse = of_offset[dim][size - offset]});
  }
}

CayleyGraph CayleyGraph::torus(std::vector<std::uint32_t> sizes) {
  std::vector<Generator> generators;
  for (std::uint32_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] > 1) generators.push_back({dim, 1});
    if (sizes[dim] > 2) generators.push_back({dim, sizes[dim] - 1});
  }
  return {std::move(sizes), std::move(generators)};
}

CayleyGraph CayleyGraph::hypercube(std::uint32_t dimensions) {
  return torus(std::vector<std::uint32_t>(dimensions, 2));
}

CayleyGraph CayleyGraph::complete(std::uint32_t size) {
  std::vector<Generator> generators;
  for (std::uint32_t offset = 1; offset < size; ++offset) generators.push_back({0, offset});
  return {{size}, std::move(generators)};
}

std::uint32_t CayleyGraph::translate(std::uint32_t left, std::uint32_t element) const {
  std::uint32_t result = 0, stride = 1;
  for (const std::uint32_t size : sizes_) {
    const std::uint32_t sum = left % size + element % size;
    result += (sum < size ? sum : sum - size) * stride;
    left /= size;
    element /= size;
    stride *= size;
  }
  return result;
}

std::optional<CayleyNetwork> find_cayley_network(const Topology& topology, std::string& reason) {
  if (topology.shape().family.empty()) {
    reason = not_one(topology, "its layout is not known");
    return std::nullopt;
  }
  const std::uint32_t ranks = topology.num_ranks();
  auto graph = topology.has_switches() ? std::nullopt : graph_of(topology.shape(), ranks);
  if (!graph) {
    reason = not_one(topology,
                     fmt::format("is a {} with {} ranks and {} switches", topology.shape().family,
                                 ranks, topology.num_nodes() - ranks));
    return std::nullopt;
  }
  const auto links = topology.links();
  if (std::ranges::any_of(
          links, [&](const Link& link) { return link.bandwidth != links.front().bandwidth; })) {
    reason = not_one(topology, "bandwidths differ");
    return std::nullopt;
  }
  CayleyNetwork network{.graph = std::move(*graph), .links = {}};
  network.links.resize(std::size_t{ranks} * network.graph.degree());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (!take_links(topology, Rank{rank}, network)) {
      reason = not_one(topology, fmt::format("rank {} has other links than a whole {} has", rank,
                                             topology.shape().family));
      return std::nullopt;
    }
  }
  return network;
}

}  // namespace multitree
