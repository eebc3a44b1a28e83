// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From prices of links to the all-reduce bound that they prove.
#pragma once

#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// The cuts and switch prices that cheapest trees at these prices prove: bound = cost of the
/// cheapest in-tree and out-tree of one root / what all bandwidth costs. Cuts are scaled so that
/// those around no root sum to the bound. Without hops. \pre Prices are not negative, not all 0,
/// and those of mates are equal where every link has a mate.
Certificate certify_prices(const Topology& topology, const std::vector<Exact>& link_prices);

}  // namespace multitree
