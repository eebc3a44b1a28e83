// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flows that come from nearby.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/cut_finder_internal.hpp"
#include "topologies/topology.hpp"

namespace multitree::cuts {

/// Whether enough reaches a node from sources near it, at the cost of what is looked at: a maximum
/// flow of the whole network costs its size, even where paths are short.
class NearFlow {
 public:
  NearFlow(const Topology& topology, const CutFinder& finder)
      : topology_(topology),
        finder_(finder),
        search_(topology.num_nodes()),
        step_(topology.num_nodes()),
        flow_(topology.num_links(), 0) {}

  /// Shortest augmenting paths (Edmonds and Karp 1972) back from `sink` to nodes that have as much
  /// as anybody wants. Links carry their units times `scale`. False where not so much arrives, or
  /// where that takes long to see.
  bool reaches(NodeId sink, Flow demand, Flow scale, const std::vector<bool>& is_source) {
    std::size_t looks = 0;
    while (demand > 0) {
      const std::uint32_t source = nearest(index(sink), scale, is_source, looks);
      if (source == kNobody) break;
      demand -= augment(source, index(sink), demand, scale);
    }
    for (const std::uint32_t link : touched_) flow_[link] = 0;
    touched_.clear();
    return demand <= 0;
  }

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  /// Nodes that all searches for one sink look at.
  static constexpr std::size_t kMostLooks = 2048;

  /// How a node sends to the one from which the search met it: over a link, or by taking back what
  /// that one sends over it.
  struct Step {
    LinkId link{};
    bool takes_back = false;
  };

  std::uint32_t nearest(std::uint32_t sink, Flow scale, const std::vector<bool>& is_source,
                        std::size_t& looks) {
    std::uint32_t found = kNobody;
    search_.run(sink, [&](std::uint32_t node) {
      if (is_source[node]) found = node;
      if (found != kNobody || ++looks > kMostLooks) return false;
      for (const LinkId id : topology_.in_links(NodeId{node})) {
        if (flow_[index(id)] < capacity(id, scale)) meet(topology_.link(id).src, {id, false});
      }
      for (const LinkId id : topology_.out_links(NodeId{node})) {
        if (flow_[index(id)] > 0) meet(topology_.link(id).dst, {id, true});
      }
      return true;
    });
    return found;
  }

  void meet(NodeId node, const Step& step) {
    if (search_.meet(index(node))) step_[index(node)] = step;
  }

  [[nodiscard]] Flow capacity(LinkId id, Flow scale) const {
    return finder_.units(topology_.link(id)) * scale;
  }

  /// Sends along the path that was found. \returns how much
  Flow augment(std::uint32_t source, std::uint32_t sink, Flow demand, Flow scale) {
    Flow most = demand;
    walk(source, sink, [&](const Step& step) {
      const Flow flow = flow_[index(step.link)];
      most = std::min(most, step.takes_back ? flow : capacity(step.link, scale) - flow);
    });
    walk(source, sink, [&](const Step& step) {
      flow_[index(step.link)] += step.takes_back ? -most : most;
      touched_.push_back(index(step.link));
    });
    return most;
  }

  template <typename Visit>
  void walk(std::uint32_t from, std::uint32_t sink, const Visit& visit) const {
    for (std::uint32_t node = from; node != sink;) {
      const Step& step = step_[node];
      visit(step);
      const Link& link = topology_.link(step.link);
      node = index(step.takes_back ? link.src : link.dst);
    }
  }

  const Topology& topology_;
  const CutFinder& finder_;
  BreadthFirst search_;
  std::vector<Step> step_;  // by node that the last search met
  std::vector<Flow> flow_;  // by link
  std::vector<std::uint32_t> touched_;
};

}  // namespace multitree::cuts
