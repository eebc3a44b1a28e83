// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A node lies on a simple path between two ranks if two paths lead from it to different ranks that
/// share no other node: if it is on a cycle through a node that is joined to all ranks.
#include "topologies/io/reduce_network_internal.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/biconnected_components.hpp>
#include <boost/graph/strong_components.hpp>
#include <iterator>
#include <set>
#include <utility>

namespace multitree {
namespace {

using Directed = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using Undirected =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property,
                          boost::property<boost::edge_index_t, std::size_t>>;

}  // namespace

bool joins_ranks(const std::vector<bool>& is_rank, const std::vector<Link>& links) {
  Directed graph(is_rank.size());
  for (const Link& link : links) boost::add_edge(index(link.src), index(link.dst), graph);
  std::vector<std::size_t> component(is_rank.size());
  boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, graph)));
  std::set<std::size_t> of_ranks;
  for (std::size_t node = 0; node < is_rank.size(); ++node) {
    if (is_rank[node]) of_ranks.insert(component[node]);
  }
  return of_ranks.size() == 1;
}

std::vector<bool> nodes_that_carry(const std::vector<bool>& is_rank,
                                   const std::vector<Link>& links) {
  const auto end = static_cast<std::uint32_t>(is_rank.size());
  std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const Link& link : links) edges.insert(std::minmax({index(link.src), index(link.dst)}));
  for (std::uint32_t node = 0; node < end; ++node) {
    if (is_rank[node]) edges.insert({node, end});
  }
  Undirected graph(is_rank.size() + 1);
  std::size_t id = 0;
  for (const auto& [a, b] : edges) boost::add_edge(a, b, id++, graph);
  std::vector<std::size_t> component(edges.size());
  boost::biconnected_components(
      graph, boost::make_iterator_property_map(component.begin(), get(boost::edge_index, graph)));

  std::set<std::size_t> of_ranks;
  id = 0;
  for (const auto& [a, b] : edges) {
    if (b == end) of_ranks.insert(component[id]);
    ++id;
  }
  std::vector<bool> carries = is_rank;
  id = 0;
  for (const auto& [a, b] : edges) {
    if (b != end && of_ranks.contains(component[id])) carries[a] = carries[b] = true;
    ++id;
  }
  return carries;
}

}  // namespace multitree
