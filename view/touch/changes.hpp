// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a reader does to the cables of a network.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/error.hpp"
#include "topologies/topology.hpp"

namespace multitree::view {

/// One thing done to a cable: all links between two nodes, both ways. Nodes by their names.
struct Change {
  std::string kind;  ///< "cut", "rate" (theirs from now on), or "cable" (one more, both ways)
  std::string from, to;
  std::string rate, latency;  ///< with units; `latency` of "cable" only
};

/// Cables were cut until ranks could not reach each other.
class Split : public Error {
 public:
  Split(const std::string& message, std::vector<std::vector<NodeId>> parts)
      : Error(ErrorCode::InvalidInput, message), parts_(std::move(parts)) {}
  /// By their first nodes, ascending; at least two.
  [[nodiscard]] const std::vector<std::vector<NodeId>>& parts() const { return parts_; }

 private:
  std::vector<std::vector<NodeId>> parts_;
};

/// The network after the changes, one after the other. Nodes stay, with their numbers, and so do
/// those links that stay, in their order; the shape stays until a cable is added. Without changes
/// it is the same network, else its name says that it was changed.
/// \throws Split; Error(InvalidArgument) "change 2: ...": no such node, no link between two, a rate
/// or latency that is none
Topology changed(const Topology& topology, std::span<const Change> changes);

}  // namespace multitree::view
