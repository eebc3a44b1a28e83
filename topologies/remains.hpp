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

/// Those of `members` that go on where dead links have split the network: the largest part of them
/// that is connected, of parts alike the one with the lowest rank. All of them where it is whole.
/// Ranks that are lost are believed to forward. Arguments as below.
/// \throws Error(Transport) if a silent pair has no link of its own: a network with switches does
/// not say which link is dead.
std::vector<std::uint32_t> part_that_goes_on(const Topology& whole,
                                             const std::vector<std::uint32_t>& members,
                                             const std::vector<SilentPair>& silent);

/// `whole` without what is lost. `members`: the ranks that are still there, ascending; `silent`:
/// pairs of them that cannot reach each other over the way they used. All in the numbers of
/// `whole`.
///
/// A host whose process died may forward no longer, so its node is taken out; where the others
/// could not reach each other any more it is believed to forward still.
/// \throws Error(Transport) as above, Error(InvalidArgument): no rank is left, the network is
/// split.
Topology remaining_network(const Topology& whole, const std::vector<std::uint32_t>& members,
                           const std::vector<SilentPair>& silent);

}  // namespace multitree
