// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sharing a level's arrivals at one node evenly among its links, by flows.
#include "algorithms/generators/level_loads_internal.hpp"

#include <algorithm>

#include "algorithms/flow_graph_internal.hpp"

namespace multitree {
namespace {

/// source -> arrivals -> links -> sink, the last with slots * steps.
class LevelFlow {
 public:
  LevelFlow(const std::vector<Arrivals>& arrivals, const std::vector<std::uint32_t>& slots,
            std::uint64_t steps)
      : arrivals_(arrivals), graph_(arrivals.size() + slots.size() + 2) {
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      connect(source(), arrival(i), arrivals[i].units);
      for (const std::uint32_t l : arrivals[i].links) {
        used_.push_back(connect(arrival(i), link(l), arrivals[i].units));
      }
    }
    for (std::size_t l = 0; l < slots.size(); ++l) connect(link(l), sink(), slots[l] * steps);
    flow_ = static_cast<std::uint64_t>(graph_.edmonds_karp(source(), sink()));
  }

  std::uint64_t flow() const { return flow_; }
  /// Whether arrivals i are on the source side of the minimum cut: they need more than there is.
  bool is_short(std::size_t i) const { return reached(arrival(i)); }
  bool is_full(std::size_t l) const { return reached(link(l)); }

  std::vector<std::vector<std::uint64_t>> units() const {
    std::vector<std::vector<std::uint64_t>> all;
    auto edge = used_.begin();
    for (const Arrivals& some : arrivals_) {
      auto& row = all.emplace_back();
      for (std::size_t j = 0; j < some.links.size(); ++j, ++edge) {
        row.push_back(static_cast<std::uint64_t>(graph_.flow(*edge)));
      }
    }
    return all;
  }

 private:
  std::size_t source() const { return 0; }
  std::size_t sink() const { return 1; }
  std::size_t arrival(std::size_t i) const { return 2 + i; }
  std::size_t link(std::size_t l) const { return 2 + arrivals_.size() + l; }
  bool reached(std::size_t vertex) const { return graph_.color(vertex) != boost::white_color; }

  std::size_t connect(std::size_t from, std::size_t to, std::uint64_t capacity) {
    const std::size_t edge = graph_.add_edge_pair(from, to);
    graph_.set_capacity(edge, static_cast<FlowGraph::Flow>(capacity));
    return edge;
  }

  const std::vector<Arrivals>& arrivals_;
  FlowGraph graph_;
  std::vector<std::size_t> used_;  // from arrivals to links
  std::uint64_t flow_ = 0;
};

}  // namespace

LevelLoads share_level(const std::vector<Arrivals>& arrivals,
                       const std::vector<std::uint32_t>& slots) {
  LevelLoads loads;
  std::uint64_t total = 0, room = 0;
  for (const Arrivals& some : arrivals) total += some.units;
  for (const std::uint32_t slot : slots) room += slot;
  loads.steps = (total + room - 1) / room;
  while (true) {
    const LevelFlow flow(arrivals, slots, loads.steps);
    if (flow.flow() == total) {
      loads.units = flow.units();
      return loads;
    }
    std::uint64_t needed = 0, there = 0;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      if (flow.is_short(i)) needed += arrivals[i].units;
    }
    for (std::size_t l = 0; l < slots.size(); ++l) {
      if (flow.is_full(l)) there += slots[l];
    }
    loads.steps = (needed + there - 1) / there;
  }
}

}  // namespace multitree
