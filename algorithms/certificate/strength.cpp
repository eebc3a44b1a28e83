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
#include <numeric>

#include "algorithms/breadth_first_internal.hpp"
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

/// An undirected graph in compressed rows; half-edges of an edge know each other.
struct UndirectedGraph {
  struct HalfEdge {
    Vertex to = 0;
    std::uint32_t mate = 0;  ///< the half-edge at the other end
    Flow bandwidth = 0;
  };
  std::vector<std::uint32_t> begin;  ///< of vertex v: half_edges[begin[v] .. begin[v + 1])
  std::vector<HalfEdge> half_edges;
  [[nodiscard]] Vertex size() const { return static_cast<Vertex>(begin.size() - 1); }
};

UndirectedGraph make_undirected(const Topology& topology) {
  const auto joined = join_neighbours(topology);
  UndirectedGraph graph;
  graph.begin.assign(topology.num_nodes() + 1, 0);
  for (const auto& [ends, pair] : joined) {
    ++graph.begin[ends.first + 1];
    ++graph.begin[ends.second + 1];
  }
  std::partial_sum(graph.begin.begin(), graph.begin.end(), graph.begin.begin());
  graph.half_edges.resize(joined.size() * 2);
  std::vector<std::uint32_t> next(graph.begin.begin(), graph.begin.end() - 1);
  for (const auto& [ends, pair] : joined) {
    const std::uint32_t a = next[ends.first]++, b = next[ends.second]++;
    graph.half_edges[a] = {ends.second, b, pair.forward};
    graph.half_edges[b] = {ends.first, a, pair.forward};
  }
  return graph;
}

/// Breadth first, so that a vertex arrives next to some that have room.
std::vector<Vertex> arrival_order(const UndirectedGraph& graph) {
  BreadthFirst search(graph.size());
  search.run(0, [&](Vertex from) {
    for (std::uint32_t h = graph.begin[from]; h < graph.begin[from + 1]; ++h) {
      search.meet(graph.half_edges[h].to);
    }
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
  GrowingOrientation(const UndirectedGraph& graph, Flow scale, Flow ratio)
      : graph_(graph),
        scale_(scale),
        ratio_(ratio),
        share_(graph.half_edges.size(), 0),
        room_(graph.size(), 0),
        arrived_(graph.size(), false),
        search_(graph.size()),
        via_(graph.size(), 0) {}

  /// The vertices that are tight with `v`, v first; valid until the next call.
  const std::vector<Vertex>& arrive(Vertex v) {
    for (std::uint32_t h = graph_.begin[v]; h < graph_.begin[v + 1]; ++h) {
      const auto& half = graph_.half_edges[h];
      if (arrived_[half.to]) share_[h] = half.bandwidth * scale_;
    }
    arrived_[v] = true;
    while (pass_on(v)) continue;
    room_[v] = ratio_;
    return search_.order();
  }

 private:
  /// Moves load of `v` along a shortest path to a vertex with room; false if there is none.
  bool pass_on(Vertex v) {
    return !search_.run(v, [&](Vertex from) {
      for (std::uint32_t h = graph_.begin[from]; h < graph_.begin[from + 1]; ++h) {
        const Vertex to = graph_.half_edges[h].to;
        if (share_[h] == 0 || !search_.meet(to)) continue;
        via_[to] = h;
        if (room_[to] == 0) continue;
        move(v, to);
        return false;
      }
      return true;
    });
  }

  void move(Vertex from, Vertex to) {
    const auto previous = [&](Vertex at) {
      return graph_.half_edges[graph_.half_edges[via_[at]].mate].to;
    };
    Flow amount = room_[to];
    for (Vertex at = to; at != from; at = previous(at)) amount = std::min(amount, share_[via_[at]]);
    for (Vertex at = to; at != from; at = previous(at)) {
      share_[via_[at]] -= amount;
      share_[graph_.half_edges[via_[at]].mate] += amount;
    }
    room_[to] -= amount;
  }

  const UndirectedGraph& graph_;
  Flow scale_, ratio_;
  std::vector<Flow> share_;  // by half-edge: what its vertex takes of the edge
  std::vector<Flow> room_;   // by vertex: what it could take still
  std::vector<bool> arrived_;
  BreadthFirst search_;
  std::vector<std::uint32_t> via_;  // half-edge that reached a vertex
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
Partition make_partition(const UndirectedGraph& graph, const Label& label) {
  Partition partition;
  std::vector<Vertex> number(graph.size(), std::numeric_limits<Vertex>::max());
  for (Vertex v = 0; v < graph.size(); ++v) {
    Vertex& of = number[label(v)];
    if (of == std::numeric_limits<Vertex>::max()) of = partition.count++;
    partition.class_of.push_back(of);
  }
  for (const auto& half : graph.half_edges) {
    const Vertex from = graph.half_edges[half.mate].to;
    if (from < half.to && partition.class_of[from] != partition.class_of[half.to]) {
      partition.between += half.bandwidth;
    }
  }
  return partition;
}

/// Minimises b(E_P) - ratio * |P|, the ratio being that of `current`.
Partition most_violated(const UndirectedGraph& graph, const std::vector<Vertex>& order,
                        const Partition& current) {
  GrowingOrientation orientation(graph, static_cast<Flow>(current.count) - 1, current.between);
  boost::disjoint_sets_with_storage<> classes(graph.size());
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
  const UndirectedGraph graph = make_undirected(topology);
  Partition weakest = make_partition(graph, [](Vertex v) { return v; });
  if (graph.size() < 2) return {.value = 0, .classes = {{NodeId{0}}}};
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
  for (Vertex v = 0; v < graph.size(); ++v) {
    result.classes[weakest.class_of[v]].push_back(NodeId{v});
  }
  return result;
}

}  // namespace multitree
