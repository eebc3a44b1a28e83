// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The all-reduce optimum as weighted trees, by generating columns of the packing program.
#pragma once

#include <vector>

#include "algorithms/certificate/metric_trees_internal.hpp"

namespace multitree {

/// One share of the data: collected at the root and spread from it.
struct ShareTree {
  Rank root{};
  std::vector<Hop> gather;  ///< parents first
  std::vector<Hop> reduce;  ///< children first
  Exact weight = 0;         ///< of the buffer
  bool operator==(const ShareTree&) const = default;
};

struct AllReduceTrees {
  std::vector<ShareTree> trees;    ///< weights > 0 that sum to 1
  std::vector<Exact> link_prices;  ///< of the dual; cuts_of_*() turn them into the proof
};

/// Optimal trees. \pre At least two ranks.
AllReduceTrees solve_all_reduce_trees(const Topology& topology);

}  // namespace multitree
