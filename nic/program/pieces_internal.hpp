// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages through switches that add and copy, taken apart.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

/// A message between two ends of a group's routes: a rank, or a switch at work.
struct Piece {
  Rank near{}, far{};  ///< as seen from the common end
  std::uint32_t level = 0;
  std::vector<LinkId> route;  ///< links from near to far; of sums they are passed the other way
};

/// The pieces of what is one message at its common end.
struct PieceGroup {
  std::uint32_t step = 0, chunk = 0;
  Op op = Op::Copy;
  std::vector<Piece> pieces;  ///< nearer ones first
  bool is_whole = false;      ///< all that a chunk has of this op
};

/// Where all that a chunk has is a tree on which sums go to a rank and their result comes back,
/// both go to and come from the node in the tree's middle instead, rank or switch: so what is the
/// last to arrive has half as far to go. Each link carries what it carried. \param with the network
/// with interfaces at switches
void turn_to_middles(std::vector<PieceGroup>& groups, const Topology& topology,
                     const Topology& with);

}  // namespace multitree::nic
