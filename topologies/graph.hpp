// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A Topology as a Boost.Graph, for components, searches and flows. Vertices are NodeIds in order;
/// the edge_index of an edge is its LinkId. Include it in .cpp files only: it is slow to compile.
#pragma once

#include <boost/graph/adjacency_list.hpp>

#include "topologies/topology.hpp"

namespace multitree {

using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, boost::no_property,
                          boost::property<boost::edge_index_t, std::uint32_t>>;

/// O(nodes + links).
Graph make_graph(const Topology& topology);

}  // namespace multitree
