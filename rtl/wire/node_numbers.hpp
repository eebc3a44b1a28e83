// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How frames name nodes, and which process each node is in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree::rtl {

/// Ranks have their own numbers; switches come behind them, in the order of the network's nodes.
class NodeNumbers {
 public:
  explicit NodeNumbers(const Topology& topology);

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] std::uint16_t of(NodeId node) const { return numbers_[index(node)]; }
  [[nodiscard]] NodeId node(std::uint32_t number) const { return nodes_[number]; }
  /// "rank 3", "switch leaf0".
  [[nodiscard]] std::string name(std::uint32_t number) const;

 private:
  const Topology& topology_;
  std::vector<NodeId> nodes_;           // [number]
  std::vector<std::uint16_t> numbers_;  // [node]
};

/// Which process each node is in: with as many processes as nodes each in its own; with one for
/// each rank, a switch in that of a rank that it has a link to, if there is one, and of these the
/// first with the fewest switches.
/// \returns [number] \throws Error(InvalidArgument) if there are neither so many nor so many
std::vector<std::uint32_t> processes_of(const Topology& topology, std::uint32_t processes);

}  // namespace multitree::rtl
