// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A graph as Boost's maximum flows want it. Slow to compile: for .cpp files that need it.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/edmonds_karp_max_flow.hpp>
#include <cstdint>
#include <vector>

namespace multitree {

/// Directed edges that each have one back, with what a flow needs to know of them by their numbers.
/// Capacities may be set anew for every flow; a flow that is to be mended rather than found anew
/// has a FlowNetwork (sink_flows).
class FlowGraph {
  using Graph =
      boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                            boost::property<boost::edge_index_t, std::size_t>>;
  using Edge = boost::graph_traits<Graph>::edge_descriptor;

  template <class Value>
  auto by_edge(std::vector<Value>& values) {
    return boost::make_iterator_property_map(values.begin(), boost::get(boost::edge_index, graph_));
  }
  template <class Value>
  auto by_vertex(std::vector<Value>& values) {
    return boost::make_iterator_property_map(values.begin(),
                                             boost::get(boost::vertex_index, graph_));
  }

 public:
  /// Scaled by ranks twice: the bandwidth of a large network in fine units overflows 64 bits.
  using Flow = __int128;

  explicit FlowGraph(std::size_t vertices)
      : graph_(vertices), predecessor_(vertices), color_(vertices), distance_(vertices) {}

  /// Edge id from -> to, and id + 1 back, both without capacity.
  std::size_t add_edge_pair(std::size_t from, std::size_t to) {
    const std::size_t id = reverse_.size();
    const Edge forward = boost::add_edge(from, to, id, graph_).first;
    const Edge backward = boost::add_edge(to, from, id + 1, graph_).first;
    reverse_.push_back(backward);
    reverse_.push_back(forward);
    capacity_.resize(id + 2, 0);
    residual_.resize(id + 2, 0);
    return id;
  }
  [[nodiscard]] std::size_t num_edges() const { return reverse_.size(); }
  void set_capacity(std::size_t edge, Flow capacity) { capacity_[edge] = capacity; }

  /// \pre No parallel edges: the algorithm is wrong with them.
  Flow boykov_kolmogorov(std::size_t source, std::size_t sink) {
    return boost::boykov_kolmogorov_max_flow(graph_, by_edge(capacity_), by_edge(residual_),
                                             by_edge(reverse_), by_vertex(predecessor_),
                                             by_vertex(color_), by_vertex(distance_),
                                             boost::get(boost::vertex_index, graph_), source, sink);
  }
  Flow edmonds_karp(std::size_t source, std::size_t sink) {
    return boost::edmonds_karp_max_flow(graph_, source, sink, by_edge(capacity_),
                                        by_edge(residual_), by_edge(reverse_), by_vertex(color_),
                                        by_vertex(predecessor_));
  }

  // What the last flow left.
  /// `visit(from, edge)`, for each vertex next to one and the edge from there.
  template <class Visit>
  void for_each_edge_into(std::size_t vertex, const Visit& visit) const {
    const auto number = boost::get(boost::edge_index, graph_);
    for (const Edge& out : boost::make_iterator_range(boost::out_edges(vertex, graph_))) {
      visit(boost::target(out, graph_), number[reverse_[number[out]]]);
    }
  }
  [[nodiscard]] Flow residual(std::size_t edge) const { return residual_[edge]; }
  [[nodiscard]] Flow flow(std::size_t edge) const { return capacity_[edge] - residual_[edge]; }
  [[nodiscard]] boost::default_color_type color(std::size_t vertex) const { return color_[vertex]; }

 private:
  Graph graph_;
  std::vector<Flow> capacity_, residual_;
  std::vector<Edge> reverse_, predecessor_;
  std::vector<boost::default_color_type> color_;
  std::vector<std::int64_t> distance_;
};

}  // namespace multitree
