// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Copies a Topology into a Boost.Graph.
#include "topologies/graph.hpp"

namespace multitree {

Graph make_graph(const Topology& topology) {
  Graph graph(topology.num_nodes());
  std::uint32_t id = 0;
  for (const Link& link : topology.links()) {
    boost::add_edge(index(link.src), index(link.dst), id++, graph);
  }
  return graph;
}

}  // namespace multitree
