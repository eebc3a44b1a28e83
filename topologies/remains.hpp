// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The network that a job has left.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// Two ranks between which nothing gets through.
using SilentPair = std::pair<std::uint32_t, std::uint32_t>;

/// `whole` without what is lost. `members`: the ranks that are still there, ascending; `silent`:
/// pairs of them that cannot reach each other over the way they used. All in the numbers of
/// `whole`.
///
/// A host whose process died may forward no longer, so its node is taken out; where the others
/// could not reach each other any more it is believed to forward still.
/// \throws Error(InvalidArgument): no rank is left, or a link is not there or cannot be done
/// without.
Topology remaining_network(const Topology& whole, const std::vector<std::uint32_t>& members,
                           const std::vector<SilentPair>& silent);

}  // namespace multitree
