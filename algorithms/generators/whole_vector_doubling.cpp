// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Recursive doubling for small messages: R. Thakur, R. Rabenseifner, W. Gropp: "Optimization of
/// collective communication operations in MPICH", IJHPCA 19(1), 2005
/// (DOI 10.1177/1094342005051521). In round k of an all-reduce, ranks whose labels differ in bit k
/// exchange the sums of the whole vector: the fewest rounds, at the price of sending everything in
/// each. Ranks beyond the largest power of two are folded, which takes one round more at each end.
#include <bit>

#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/recursive_doubling_internal.hpp"

namespace multitree {
namespace {

Schedule doubling_all_gather(const Topology& topology, const Spec& options) {
  return halving_doubling_algorithm().all_gather(topology, options);
}

/// A binomial tree: in round k, the 2^k ranks that have the vector serve as many others.
Schedule doubling_broadcast(const Topology& topology, Rank root, const Spec&) {
  const std::uint32_t ranks = topology.num_ranks();
  const auto rank_of = [&](std::uint32_t label) { return Rank{(index(root) + label) % ranks}; };
  std::vector<Message> messages;
  for (std::uint32_t bit = std::bit_ceil(ranks) / 2; bit > 0; bit /= 2) {
    for (std::uint32_t label = 0; label + bit < ranks; label += 2 * bit) {
      messages.push_back({Op::Copy, 0, rank_of(label), rank_of(label + bit)});
    }
  }
  return pack(broadcast_header(topology, root, 1), messages, topology);
}

Schedule doubling_all_reduce(const Topology& topology, const Spec&) {
  const FoldedLabels labels(topology.num_ranks(), Rank{0});
  std::vector<Message> messages;
  for (std::size_t i = 0; i < labels.folded.size(); ++i) {
    messages.push_back({Op::Reduce, 0, labels.folded[i], labels.core[i]});
  }
  for (std::uint32_t bit = 1; bit < labels.core.size(); bit *= 2) {
    for (std::uint32_t label = 0; label < labels.core.size(); ++label) {
      if ((label & bit) != 0) continue;
      messages.push_back({Op::Reduce, 0, labels.core[label], labels.core[label | bit], true});
    }
  }
  for (std::size_t i = 0; i < labels.folded.size(); ++i) {
    messages.push_back({Op::Copy, 0, labels.core[i], labels.folded[i]});
  }
  return pack(all_reduce_header(topology, 1), messages, topology);
}

}  // namespace

Algorithm recursive_doubling_algorithm() {
  return {.name = "recursive-doubling",
          .summary = "exchange of whole vectors in log2(ranks) rounds, for small messages",
          .source = "Thakur et al., IJHPCA 2005",
          .unsupported = supports_all,
          .all_gather = doubling_all_gather,
          .broadcast = doubling_broadcast,
          .all_reduce = doubling_all_reduce};
}

}  // namespace multitree
