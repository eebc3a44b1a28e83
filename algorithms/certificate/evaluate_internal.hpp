// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The two sides of a certificate's inequality, for bounds that take it further than evaluate().
#pragma once

#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// What must cross the cuts, as a multiple of the buffer: z of certificate.hpp.
[[nodiscard]] Exact crossing_of(const Certificate& certificate, const Topology& topology);

/// max(0, g, h) of each link.
[[nodiscard]] std::vector<Exact> link_prices(const Certificate& certificate,
                                             const Topology& topology);

}  // namespace multitree
