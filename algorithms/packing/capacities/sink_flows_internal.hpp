// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flows from all supplies to one sink at a time, on a network that changes a little between
/// questions: the flow of the last answer is mended instead of found anew.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/breadth_first_internal.hpp"

namespace multitree {

/// A directed network with capacities that may be changed at any time.
class FlowNetwork {
 public:
  struct Arc {
    std::uint32_t tail = 0, head = 0;
    std::int64_t capacity = 0;
  };

  explicit FlowNetwork(std::uint32_t nodes) : out_(nodes), in_(nodes) {}

  [[nodiscard]] std::uint32_t num_nodes() const { return static_cast<std::uint32_t>(out_.size()); }
  [[nodiscard]] std::uint32_t num_arcs() const { return static_cast<std::uint32_t>(arcs_.size()); }
  [[nodiscard]] const Arc& arc(std::uint32_t id) const { return arcs_[id]; }
  [[nodiscard]] std::span<const std::uint32_t> out(std::uint32_t node) const { return out_[node]; }
  [[nodiscard]] std::span<const std::uint32_t> in(std::uint32_t node) const { return in_[node]; }
  void set_capacity(std::uint32_t id, std::int64_t capacity) { arcs_[id].capacity = capacity; }

  std::uint32_t add_node();
  std::uint32_t add_arc(std::uint32_t tail, std::uint32_t head, std::int64_t capacity);
  /// Takes back the last node and its arcs; no arc may have been added to others since.
  void pop_node();
  /// Forgets the arcs of a node that are of no use any more (capacity 0); ids stay.
  void isolate(std::uint32_t node);

 private:
  std::vector<Arc> arcs_;
  std::vector<std::vector<std::uint32_t>> out_, in_;
};

/// One flow for every sink, each from all nodes with supplies.
class SinkFlows {
 public:
  /// `network` must outlive it; sinks are among its first `sinks` nodes.
  SinkFlows(const FlowNetwork& network, std::uint32_t sinks)
      : network_(network), kept_(sinks), complete_(sinks, false), search_(network.num_nodes()) {}

  /// How much of the supplies of all nodes but `sink` cannot be brought to it at the same time.
  std::int64_t shortfall(std::uint32_t sink, std::span<const std::int64_t> supply);

  /// After a shortfall() > 0: whether a node is on the sink's side of a cut that falls short by it.
  [[nodiscard]] bool on_sink_side(std::uint32_t node) const { return search_.has_met(node); }

  /// What the flow kept for the sink puts on an arc.
  [[nodiscard]] std::int64_t kept_flow(std::uint32_t sink, std::uint32_t arc) const;
  /// Whether the last answer for the sink was 0.
  [[nodiscard]] bool is_complete(std::uint32_t sink) const { return complete_[sink]; }

 private:
  struct ArcFlow {
    std::uint32_t arc = 0;
    std::int64_t flow = 0;
  };

  void load(std::uint32_t sink, std::span<const std::int64_t> supply);
  void retract_deficits(std::uint32_t sink);
  bool label(std::uint32_t sink);
  std::int64_t push_from(std::uint32_t source, std::uint32_t sink);
  std::int64_t room(std::uint32_t node, std::uint32_t slot) const;
  void change(std::uint32_t arc, std::int64_t amount);
  void store(std::uint32_t sink);

  /// The arcs at a node in one list: `slot` counts the outgoing first.
  struct Step {
    std::uint32_t arc = 0;
    bool forward = true;
  };
  [[nodiscard]] Step step(std::uint32_t node, std::uint32_t slot) const;

  const FlowNetwork& network_;
  std::vector<std::vector<ArcFlow>> kept_;  // by sink
  std::vector<bool> complete_;              // by sink
  std::vector<std::int64_t> flow_;          // by arc; zero outside shortfall()
  std::vector<std::uint32_t> used_;         // arcs whose flow_ may not be zero
  std::vector<bool> in_used_;
  std::vector<std::int64_t> excess_;  // by node: what arrives or is supplied and does not leave
  std::vector<std::uint32_t> short_nodes_, surplus_nodes_;
  BreadthFirst search_;  // from the sink backwards: hops are distances to it
  std::vector<std::uint32_t> next_slot_, path_;
};

}  // namespace multitree
