// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An Error of the topology's validation that says which node or link is to blame, so that a file
/// reader can add the line.
#pragma once

#include <cstddef>
#include <string>

#include "topologies/error.hpp"

namespace multitree {

/// What a validation error is about.
enum class TopologyPart { Whole, Node, Link };

class TopologyError : public Error {
 public:
  TopologyError(TopologyPart part, std::size_t index, const std::string& message)
      : Error(ErrorCode::InvalidInput, message), part_(part), index_(index) {}

  [[nodiscard]] TopologyPart part() const { return part_; }
  /// NodeId or LinkId; 0 for the whole.
  [[nodiscard]] std::size_t index() const { return index_; }

 private:
  TopologyPart part_;
  std::size_t index_;
};

}  // namespace multitree
