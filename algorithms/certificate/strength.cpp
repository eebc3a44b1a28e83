// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Strength by Newton's method: for a ratio, the partition that violates it most comes from the
/// greedy algorithm for a Dilworth truncation, run as one flow that grows with the graph.
#include "algorithms/certificate/strength.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <limits>
#include <map>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/undirected_graph_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// Bytes per second times the number of classes: at most 2^64 * 2^32 links * 2^20 ranks.
using Flow = __int128;
using Vertex = std::uint32_t;

/// Neighbours u < v and the bandwidth from u to v and back.
struct Neighbours {
  Flow forward = 0, backward = 0;
};

std::map<std::pair<Vertex, Vertex>, Neighbours> join_neighbours(const Topology& topology) {
  std::map<std::pair<Vertex, Vertex>, Neighbours> joined;
  for (const Link& link : topology.links()) {
    const auto [low, high] = std::minmax({index(link.src), index(link.dst)});
    Neighbours& pair = joined[{low, high}];
    (index(link.src) == low ? pair.forward : pair.backward) +=
        static_cast<Flow>(link.bandwidth.bytes_per_second);
  }
  return joined;
}

/// Neighbours as edges from the lower vertex to the higher, with their bandwidths.
struct Neighbourhood : UndirectedGraph {
  std::vector<Flow> bandwidth;
};

Neighbourhood make_neighbourhood(const Topology& topology) {
  Neighbourhood graph;
  graph.nodes = topology.num_nodes();
  for (const auto& [ends, pair] : join_neighbours(topology)) {
    graph.edges.push_back({ends.first, ends.second});
    graph.bandwidth.push_back(pair.forward);
  }
  graph.index_edges();
  return graph;
}

/// Breadth first, so that a vertex arrives next to some that have room.
std::vector<Vertex> arrival_order(const UndirectedGraph& graph) {
  BreadthFirst search(graph.nodes);
  search.run(0, [&](Vertex from) {
    for (const auto& [to, edge] : graph.at(from)) search.meet(to);
  });
  return search.order();
}

/// Shares the capacity of every edge out between its two ends, each of which has room for a limited
/// amount, while vertices arrive one by one.
///
/// Vertex v brings room `ratio`, but its edges to those before it must be taken up by their rooms;
/// what they cannot take, v takes as well, on top of its `ratio`. The set S of vertices that could
/// pass none of it on is then tight: its rooms are the edges inside it plus one `ratio`, the least
/// that this rule (rooms of every set >= edges inside + ratio) allows. Tight sets that meet unite,
/// and the classes at the end are a partition that minimises b(E_P) - ratio * |P|.
class GrowingOrientation {
 public:
  GrowingOrientation(const Neighbourhood& graph, Flow scale, Flow ratio)
      : graph_(graph),
        scale_(scale),
        ratio_(ratio),
        share_(graph.edges.size() * 2, 0),
        room_(graph.nodes, 0),
        arrived_(graph.nodes, false),
        search_(graph.nodes),
        via_(graph.nodes, 0) {}

  /// The vertices that are tight with `v`, v first; valid until the next call.
  const std::vector<Vertex>& arrive(Vertex v) {
    for (const auto& [to, edge] : graph_.at(v)) {
      if (arrived_[to]) share_[half(v, to, edge)] = graph_.bandwidth[edge] * scale_;
    }
    arrived_[v] = true;
    while (pass_on(v)) continue;
    room_[v] = ratio_;
    return search_.order();
  }

 private:
  /// The half of an edge at its end `from`: the first at the lower end.
  static std::uint32_t half(Vertex from, Vertex to, std::uint32_t edge) {
    return 2 * edge + (from > to ? 1 : 0);
  }
  [[nodiscard]] Vertex end_of(std::uint32_t half) const {
    const UndirectedGraph::Edge& edge = graph_.edges[half / 2];
    return half % 2 == 0 ? edge.a : edge.b;
  }

  /// Moves load of `v` along a shortest path to a vertex with room; false if there is none.
  bool pass_on(Vertex v) {
    return !search_.run(v, [&](Vertex from) {
      for (const auto& [to, edge] : graph_.at(from)) {
        if (share_[half(from, to, edge)] == 0 || !search_.meet(to)) continue;
        via_[to] = half(from, to, edge);
        if (room_[to] == 0) continue;
        move(v, to);
        return false;
      }
      return true;
    });
  }

  void move(Vertex from, Vertex to) {
    Flow amount = room_[to];
    for (Vertex at = to; at != from; at = end_of(via_[at])) {
      amount = std::min(amount, share_[via_[at]]);
    }
    for (Vertex at = to; at != from; at = end_of(via_[at])) {
      share_[via_[at]] -= amount;
      share_[via_[at] ^ 1] += amount;
    }
    room_[to] -= amount;
  }

  const Neighbourhood& graph_;
  Flow scale_, ratio_;
  std::vector<Flow> share_;  // by half(): what the vertex at its end takes of the edge
  std::vector<Flow> room_;   // by vertex: what it could take still
  std::vector<bool> arrived_;
  BreadthFirst search_;
  std::vector<std::uint32_t> via_;  // half() of the edge that reached a vertex
};

/// A partition with its ratio b(E_P) / (|P| - 1).
struct Partition {
  std::vector<Vertex> class_of;  ///< by vertex: 0 .. count-1, in order of the first vertex
  Vertex count = 0;
  Flow between = 0;

  [[nodiscard]] bool is_weaker_than(const Partition& other) const {
    return between * (static_cast<Flow>(other.count) - 1) <
           other.between * (static_cast<Flow>(count) - 1);
  }
};

template <typename Label>
Partition make_partition(const Neighbourhood& graph, const Label& label) {
  Partition partition;
  std::vector<Vertex> number(graph.nodes, std::numeric_limits<Vertex>::max());
  for (Vertex v = 0; v < graph.nodes; ++v) {
    Vertex& of = number[label(v)];
    if (of == std::numeric_limits<Vertex>::max()) of = partition.count++;
    partition.class_of.push_back(of);
  }
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const auto& [a, b] = graph.edges[e];
    if (partition.class_of[a] != partition.class_of[b]) partition.between += graph.bandwidth[e];
  }
  return partition;
}

/// Minimises b(E_P) - ratio * |P|, the ratio being that of `current`.
Partition most_violated(const Neighbourhood& graph, const std::vector<Vertex>& order,
                        const Partition& current) {
  GrowingOrientation orientation(graph, static_cast<Flow>(current.count) - 1, current.between);
  boost::disjoint_sets_with_storage<> classes(graph.nodes);
  for (const Vertex v : order) {
    for (const Vertex u : orientation.arrive(v)) classes.union_set(u, v);
  }
  return make_partition(graph, [&](Vertex v) { return classes.find_set(v); });
}

/// A flow as a number of any size.
Exact to_exact(Flow value) { return Exact(boost::multiprecision::cpp_int(value)); }

}  // namespace

bool has_strength(const Topology& topology) {
  if (topology.has_switches()) return false;
  const auto joined = join_neighbours(topology);
  return std::ranges::all_of(
      joined, [](const auto& entry) { return entry.second.forward == entry.second.backward; });
}

Strength strength(const Topology& topology) {
  if (!has_strength(topology)) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected no switches and equal bandwidth in both directions, "
                            "which strength needs",
                            topology.name()));
  }
  const Neighbourhood graph = make_neighbourhood(topology);
  Partition weakest = make_partition(graph, [](Vertex v) { return v; });
  if (graph.nodes < 2) return {.value = 0, .classes = {{NodeId{0}}}};
  const std::vector<Vertex> order = arrival_order(graph);
  while (true) {
    Partition next = most_violated(graph, order, weakest);
    if (next.count < 2 || !next.is_weaker_than(weakest)) break;
    weakest = std::move(next);
  }
  Strength result;
  result.value = to_exact(weakest.between) / Exact(weakest.count - 1) /
                 Exact(topology.unit_bandwidth().bytes_per_second);
  result.classes.resize(weakest.count);
  for (Vertex v = 0; v < graph.nodes; ++v) {
    result.classes[weakest.class_of[v]].push_back(NodeId{v});
  }
  return result;
}

}  // namespace multitree
