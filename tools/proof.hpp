// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Certificates in words.
#pragma once

#include <string>

#include "algorithms/certificate/certificate.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

/// How many cuts have how many ranks on their far side: "16 x 1", "1 x 4, 2 x 8".
std::string far_sizes(const Certificate& certificate, const Topology& topology);

/// The cuts in words: what surrounds the bottleneck, or how a partition divides the ranks.
std::string proof_text(const Certificate& certificate, const Topology& topology);

/// The links that limit, in words: "the links into n0, n1", of several cuts the first: "the links
/// around n0 (16 such groups)". Empty if nothing limits.
std::string limiting_links(const Certificate& certificate, const Topology& topology);

}  // namespace multitree::tools
