// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The best of what one rank stands for, for every size: of any number of ranks that are all alike.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/tuning/alike_candidate.hpp"
#include "algorithms/tuning/tune.hpp"

namespace multitree {

struct AlikeTuneOptions {
  std::uint64_t first = 8, last = std::uint64_t{1} << 30;  ///< sizes of interest, in bytes
  Time message_overhead{};
  /// Specs to choose among; empty: alike_specs().
  std::vector<std::string> algorithms;
  /// Every candidate is priced at every size; else only what could win, and the same is chosen.
  bool all_times = false;
};

struct AlikeTuneResult {
  std::vector<std::uint64_t> sizes;  ///< where candidates were compared
  std::vector<std::unique_ptr<AlikeCandidate>> candidates;
  std::vector<TunedRange> ranges;  ///< without gaps
};

/// `symmetric` of each chunks= and within= that the network and the collective have, and `ring`;
/// `within` the fewest ranks first.
std::vector<std::string> alike_specs(const AlikeRanks& ranks, Collective collective);

/// As tune(): the same sizes, crossovers and gains. Keeps a reference to `ranks`.
/// \throws Error(InvalidArgument) for sizes, Error as AlikeCandidate.
AlikeTuneResult tune_alike(const AlikeRanks& ranks, Collective collective,
                           const AlikeTuneOptions& options);

}  // namespace multitree
