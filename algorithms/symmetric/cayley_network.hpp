// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Recognising a network as a Cayley graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topologies/cayley.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// A network that is a Cayley graph, rank r being element r.
struct CayleyNetwork {
  CayleyGraph graph;
  std::vector<LinkId> links;  ///< of element x and generator s: links[x * degree + s]

  [[nodiscard]] LinkId link(std::uint32_t element, std::uint32_t generator) const {
    return links[std::size_t{element} * graph.degree() + generator];
  }
};

/// The network's structure has a group, and rank 0's links are the generators; they make up the
/// whole network if each rank has the links that these give it, all with one bandwidth. Otherwise
/// empty, and `reason` says why. O(links log degree).
std::optional<CayleyNetwork> find_cayley_network(const Topology& topology, std::string& reason);

}  // namespace multitree
