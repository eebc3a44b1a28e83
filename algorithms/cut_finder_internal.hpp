// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Minimum cuts of a network between its ranks. Slow to compile: for .cpp files that need it.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/flow_graph_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/topology.hpp"

namespace multitree::cuts {

using Flow = FlowGraph::Flow;
constexpr Flow kMaxBandwidth = std::numeric_limits<std::int64_t>::max();

[[noreturn]] inline void fail_too_fine(const Topology& topology) {
  std::uint64_t unit = 0;
  for (const Link& link : topology.links()) unit = std::gcd(unit, link.bandwidth.bytes_per_second);
  throw Error(
      ErrorCode::Unsupported,
      fmt::format("{}: bandwidths have no common unit coarse enough for exact bounds (their "
                  "greatest common divisor is {} B/s); round them, for example to 1MB/s",
                  topology.name(), unit));
}

/// Minimum cuts from a super source to one sink, on the network with its bandwidths in units of
/// their greatest common divisor, over and over with other capacities.
class CutFinder {
 public:
  explicit CutFinder(const Topology& topology)
      : topology_(topology), graph_(topology.num_nodes() + 1) {
    for (const Link& link : topology.links()) {
      gcd_ = std::gcd(gcd_, link.bandwidth.bytes_per_second);
    }
    Flow total = 1;
    for (const Link& link : topology.links()) total += units(link);
    if (total > kMaxBandwidth) fail_too_fine(topology);
    join_neighbours();
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      supply_edges_.push_back(graph_.add_edge_pair(source(), index(topology.node_of(Rank{r}))));
    }
  }

  /// Bandwidth of a link in common units.
  Flow units(const Link& link) const {
    return static_cast<Flow>(link.bandwidth.bytes_per_second / gcd_);
  }
  std::uint64_t unit() const { return gcd_; }

  /// Capacities: every link its units times `scale`, the source to rank r supply[r].
  void set_capacities(Flow scale, const std::vector<Flow>& supply) {
    for (std::size_t e = 0; e < bandwidth_.size(); ++e) {
      graph_.set_capacity(e, bandwidth_[e] * scale);
    }
    for (std::size_t r = 0; r < supply.size(); ++r) {
      graph_.set_capacity(supply_edges_[r], supply[r]);
    }
  }

  Flow max_flow(Rank sink) {
    return graph_.boykov_kolmogorov(source(), index(topology_.node_of(sink)));
  }

  /// Whether a node is on the source side of the minimum cut of the last max_flow(), the cut next
  /// to the source.
  bool in_source_side(NodeId node) const { return graph_.color(index(node)) == boost::black_color; }

  /// The sink side of the minimum cut next to the sink, of the last max_flow(): the nodes that
  /// could send it more, ascending.
  std::vector<NodeId> smallest_sink_side(Rank sink) const {
    BreadthFirst search(topology_.num_nodes() + 1);
    search.run(index(topology_.node_of(sink)), [&](std::uint32_t at) {
      graph_.for_each_edge_into(at, [&](std::size_t from, std::size_t edge) {
        if (graph_.residual(edge) > 0) search.meet(static_cast<std::uint32_t>(from));
      });
    });
    std::vector<NodeId> side;
    for (std::uint32_t node = 0; node < topology_.num_nodes(); ++node) {
      if (search.has_met(node)) side.push_back(NodeId{node});
    }
    return side;
  }

 private:
  std::size_t source() const { return topology_.num_nodes(); }

  /// One edge each way between every two neighbours, its capacity the sum of the links that way.
  /// The flow algorithm of Boost is wrong on graphs with parallel edges.
  void join_neighbours() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> edges;
    for (const Link& link : topology_.links()) {
      const std::uint32_t low = std::min(index(link.src), index(link.dst));
      const std::uint32_t high = std::max(index(link.src), index(link.dst));
      const auto [entry, is_new] = edges.try_emplace({low, high}, 0);
      if (is_new) entry->second = graph_.add_edge_pair(low, high);
      const std::size_t edge = entry->second + (index(link.src) == low ? 0 : 1);
      bandwidth_.resize(graph_.num_edges(), 0);
      bandwidth_[edge] += units(link);
    }
  }

  const Topology& topology_;
  FlowGraph graph_;
  std::uint64_t gcd_ = 0;
  std::vector<Flow> bandwidth_;            // of the edges between neighbours, in common units
  std::vector<std::size_t> supply_edges_;  // by rank
};

}  // namespace multitree::cuts
