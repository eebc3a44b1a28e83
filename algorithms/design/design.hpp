// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cabling of so many ranks with so many ports that takes the least time, as far as one knows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/collective.hpp"
#include "algorithms/design/degree_bound.hpp"
#include "algorithms/design/regular_graph.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// What to design.
struct DesignTask {
  std::uint32_t ranks = 0, ports = 0;
  Bandwidth bandwidth{};  ///< of a cable, each way
  Time latency{};
  Collective collective = Collective::AllReduce;  ///< or AllToAll
  std::uint64_t bytes = 0;                        ///< of the whole buffer
};

/// A cabling, with what is proven of it. Its time is that of its bandwidth bound and of a message
/// to the farthest rank, one after the other: pipelined schedules come near to that, and the same
/// of any network with so many ports is no less.
struct Design {
  std::string kind;  ///< "family", "circulant", "cayley" or "search"
  Topology topology;
  Spread spread;
  Exact shards = 0;  ///< least shard times: of an all-reduce by its certificate, of an all-to-all
                     ///< as it is routed
  double seconds = 0;
};

struct Designs {
  DegreeBound degree;
  double degree_seconds = 0;    ///< what no network with so many ports beats
  std::vector<Design> designs;  ///< the best of each kind, by time
};

/// The best known family, circulant and Cayley graph of a grid, and a search that exchanges ends of
/// cables. The same in every run. \throws Error(InvalidArgument) as degree_bound(), and for another
/// collective or more than 1024 ranks.
Designs design_networks(const DesignTask& task);

/// Specs of Cayley graphs with these numbers, by kind; the best of a sample where there are many.
struct NamedSpec {
  std::string kind, spec;
};
std::vector<NamedSpec> cayley_candidates(std::uint32_t ranks, std::uint32_t ports);

}  // namespace multitree
