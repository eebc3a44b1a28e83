// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Maximum flows by augmentation along shortest paths (Dinic), started from the last flow.
#include <algorithm>

#include "algorithms/packing/capacities/sink_flows_internal.hpp"

namespace multitree {

std::uint32_t FlowNetwork::add_node() {
  out_.emplace_back();
  in_.emplace_back();
  return num_nodes() - 1;
}

std::uint32_t FlowNetwork::add_arc(std::uint32_t tail, std::uint32_t head, std::int64_t capacity) {
  const std::uint32_t id = num_arcs();
  arcs_.push_back({tail, head, capacity});
  out_[tail].push_back(id);
  in_[head].push_back(id);
  return id;
}

void FlowNetwork::pop_node() {
  const std::uint32_t node = num_nodes() - 1;
  while (!arcs_.empty() && arcs_.back().tail == node) {
    in_[arcs_.back().head].pop_back();
    arcs_.pop_back();
  }
  out_.pop_back();
  in_.pop_back();
}

void FlowNetwork::isolate(std::uint32_t node) {
  for (const std::uint32_t id : out_[node]) std::erase(in_[arcs_[id].head], id);
  for (const std::uint32_t id : in_[node]) std::erase(out_[arcs_[id].tail], id);
  out_[node].clear();
  in_[node].clear();
}

SinkFlows::Step SinkFlows::step(std::uint32_t node, std::uint32_t slot) const {
  const auto out = network_.out(node);
  if (slot < out.size()) return {out[slot], true};
  return {network_.in(node)[slot - out.size()], false};
}

void SinkFlows::change(std::uint32_t arc, std::int64_t amount) {
  flow_[arc] += amount;
  if (in_used_[arc]) return;
  in_used_[arc] = true;
  used_.push_back(arc);
}

/// Starts from the kept flow, as far as capacities still allow it.
void SinkFlows::load(std::uint32_t sink, std::span<const std::int64_t> supply) {
  const std::uint32_t nodes = network_.num_nodes(), arcs = network_.num_arcs();
  flow_.resize(std::max<std::size_t>(flow_.size(), arcs), 0);
  in_used_.resize(flow_.size(), false);
  excess_.assign(supply.begin(), supply.end());
  excess_.resize(nodes, 0);
  search_.grow(nodes);
  next_slot_.resize(std::max<std::size_t>(next_slot_.size(), nodes));
  for (const auto& [id, kept] : kept_[sink]) {
    if (id >= arcs) continue;
    const FlowNetwork::Arc& arc = network_.arc(id);
    const std::int64_t flow = std::min(kept, arc.capacity);
    if (flow == 0 || arc.tail == sink) continue;
    change(id, flow);
    excess_[arc.tail] -= flow;
    excess_[arc.head] += flow;
  }
}

/// Nodes that send more than they have send less, and so on downstream.
void SinkFlows::retract_deficits(std::uint32_t sink) {
  short_nodes_.clear();
  for (std::uint32_t v = 0; v < network_.num_nodes(); ++v) {
    if (excess_[v] < 0 && v != sink) short_nodes_.push_back(v);
  }
  while (!short_nodes_.empty()) {
    const std::uint32_t v = short_nodes_.back();
    short_nodes_.pop_back();
    for (const std::uint32_t id : network_.out(v)) {
      if (excess_[v] >= 0) break;
      const std::int64_t less = std::min(flow_[id], -excess_[v]);
      if (less == 0) continue;
      flow_[id] -= less;
      excess_[v] += less;
      const std::uint32_t to = network_.arc(id).head;
      const bool was_short = excess_[to] < 0;
      excess_[to] -= less;
      if (to != sink && excess_[to] < 0 && !was_short) short_nodes_.push_back(to);
    }
  }
}

/// Distances to the sink along arcs with room, as far as the last node with a surplus that can be
/// reached. False if there is none.
bool SinkFlows::label(std::uint32_t sink) {
  std::size_t wanted = surplus_nodes_.size();
  const std::size_t all = wanted;
  next_slot_[sink] = 0;
  const auto visit = [&](std::uint32_t node) {
    if (!search_.meet(node)) return;
    next_slot_[node] = 0;
    if (excess_[node] > 0) --wanted;
  };
  search_.run(sink, [&](std::uint32_t node) {
    for (const std::uint32_t id : network_.in(node)) {
      const FlowNetwork::Arc& arc = network_.arc(id);
      if (flow_[id] < arc.capacity) visit(arc.tail);
    }
    for (const std::uint32_t id : network_.out(node)) {
      if (flow_[id] > 0) visit(network_.arc(id).head);
    }
    return wanted > 0;
  });
  return wanted < all;
}

/// How much more can go over the slot of a node: along an arc, or back where it came from.
std::int64_t SinkFlows::room(std::uint32_t node, std::uint32_t slot) const {
  const auto [id, forward] = step(node, slot);
  const FlowNetwork::Arc& arc = network_.arc(id);
  const std::uint32_t to = forward ? arc.head : arc.tail;
  if (!search_.has_met(to) || search_.hops(to) + 1 != search_.hops(node)) return 0;
  return forward ? arc.capacity - flow_[id] : flow_[id];
}

/// Moves as much of a node's surplus to the sink as goes along labelled paths.
std::int64_t SinkFlows::push_from(std::uint32_t source, std::uint32_t sink) {
  std::int64_t moved = 0;
  path_.assign(1, source);
  while (excess_[source] > 0 && !path_.empty()) {
    const std::uint32_t node = path_.back();
    if (node == sink) {
      std::int64_t amount = excess_[source];
      for (std::size_t i = 0; i + 1 < path_.size(); ++i) {
        amount = std::min(amount, room(path_[i], next_slot_[path_[i]]));
      }
      for (std::size_t i = 0; i + 1 < path_.size(); ++i) {
        const auto [id, forward] = step(path_[i], next_slot_[path_[i]]);
        change(id, forward ? amount : -amount);
      }
      excess_[source] -= amount;
      moved += amount;
      path_.assign(1, source);
      continue;
    }
    const auto slots =
        static_cast<std::uint32_t>(network_.out(node).size() + network_.in(node).size());
    while (next_slot_[node] < slots && room(node, next_slot_[node]) == 0) ++next_slot_[node];
    if (next_slot_[node] < slots) {
      const auto [id, forward] = step(node, next_slot_[node]);
      path_.push_back(forward ? network_.arc(id).head : network_.arc(id).tail);
    } else {
      path_.pop_back();
      if (!path_.empty()) ++next_slot_[path_.back()];
    }
  }
  return moved;
}

void SinkFlows::store(std::uint32_t sink) {
  kept_[sink].clear();
  for (const std::uint32_t id : used_) {
    if (flow_[id] > 0) kept_[sink].push_back({id, flow_[id]});
    flow_[id] = 0;
    in_used_[id] = false;
  }
  used_.clear();
}

std::int64_t SinkFlows::shortfall(std::uint32_t sink, std::span<const std::int64_t> supply) {
  load(sink, supply);
  retract_deficits(sink);
  surplus_nodes_.clear();
  std::int64_t missing = 0;
  for (std::uint32_t v = 0; v < network_.num_nodes(); ++v) {
    if (v == sink || excess_[v] <= 0) continue;
    surplus_nodes_.push_back(v);
    missing += excess_[v];
  }
  while (missing > 0 && label(sink)) {
    for (const std::uint32_t v : surplus_nodes_) {
      if (search_.has_met(v)) missing -= push_from(v, sink);
    }
    std::erase_if(surplus_nodes_, [&](std::uint32_t v) { return excess_[v] == 0; });
  }
  store(sink);
  complete_[sink] = missing == 0;
  return missing;
}

std::int64_t SinkFlows::kept_flow(std::uint32_t sink, std::uint32_t arc) const {
  for (const auto& [id, flow] : kept_[sink]) {
    if (id == arc) return flow;
  }
  return 0;
}

}  // namespace multitree
