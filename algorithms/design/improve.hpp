// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The one cable that would help a network most.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/collective.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// A network with a cable more, and its bound.
struct Improvement {
  Rank first{}, second{};
  Exact bound = 0;  ///< in shard times of the network as it is
};

struct Improvements {
  Bandwidth bandwidth{};  ///< of the cable, each way: as the slowest link
  Exact before = 0;
  std::vector<Improvement> cables;  ///< that lower the bound, the best first
  std::size_t tried = 0, possible = 0;
};

/// Ends of more pairs are tried evenly spread only.
inline constexpr std::size_t kMostCables = 400;

/// Tries cables between two ranks that cross a cut of the network's certificate: no other can lower
/// the bound. Where the certificate is not of cuts that are solved at once (all-reduce with
/// switches), bounds are those of simple families of cuts (certify() without a linear program).
/// \throws Error as certify()
Improvements improve_by_cable(const Topology& topology, Collective collective, Rank root = Rank{0});

/// The network with a cable between two ranks.
Topology with_cable(const Topology& topology, Rank first, Rank second, Bandwidth bandwidth,
                    Time latency);

}  // namespace multitree
