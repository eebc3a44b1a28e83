// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Recursive halving and doubling for any number of ranks. R. Rabenseifner: "Optimization of
/// collective reduction operations", ICCS 2004 (DOI 10.1007/978-3-540-24685-5_1); Thakur,
/// Rabenseifner, Gropp, IJHPCA 2005. Of n ranks, the first 2^k <= n are the core; each rank beyond
/// is folded onto one of them, which does its work.
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/recursive_doubling_internal.hpp"

namespace multitree {
namespace {

Schedule halving_all_gather(const Topology& topology, const Spec&) {
  const FoldedLabels labels(topology.num_ranks(), Rank{0});
  const auto chunks_of = [&](std::uint32_t label) {
    std::vector<std::uint32_t> chunks = {index(labels.core[label])};
    if (label < labels.folded.size()) chunks.push_back(index(labels.folded[label]));
    return chunks;
  };
  std::vector<Message> messages;
  for (std::size_t i = 0; i < labels.folded.size(); ++i) {
    const Rank rank = labels.folded[i];
    messages.push_back({Op::Copy, index(rank), rank, labels.core[i]});
  }
  add_doubling(labels.core, chunks_of, messages);
  for (std::size_t i = 0; i < labels.folded.size(); ++i) {
    for (std::uint32_t chunk = 0; chunk < topology.num_ranks(); ++chunk) {
      if (chunk == index(labels.folded[i])) continue;
      messages.push_back({Op::Copy, chunk, labels.core[i], labels.folded[i]});
    }
  }
  return pack(all_gather_header(topology), messages, topology);
}

void add_unfolding(const FoldedLabels& labels, std::vector<Message>& messages) {
  for (std::size_t i = 0; i < labels.folded.size(); ++i) {
    for (std::uint32_t chunk = 0; chunk < labels.core.size(); ++chunk) {
      messages.push_back({Op::Copy, chunk, labels.core[i], labels.folded[i]});
    }
  }
}

Schedule halving_broadcast(const Topology& topology, Rank root, const Spec&) {
  const FoldedLabels labels(topology.num_ranks(), root);
  std::vector<Message> messages;
  add_scatter_doubling(labels.core, messages);
  add_unfolding(labels, messages);
  return pack(broadcast_header(topology, root, static_cast<std::uint32_t>(labels.core.size())),
              messages, topology);
}

/// With as many chunks as the core has ranks, which is fewer than reduce-scatter and all-gather
/// need.
Schedule halving_all_reduce(const Topology& topology, const Spec&) {
  const FoldedLabels labels(topology.num_ranks(), Rank{0});
  const auto chunks = static_cast<std::uint32_t>(labels.core.size());
  std::vector<Message> messages;
  for (std::size_t i = 0; i < labels.folded.size(); ++i) {
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      messages.push_back({Op::Reduce, chunk, labels.folded[i], labels.core[i]});
    }
  }
  add_halving(labels.core, messages);
  add_doubling(
      labels.core, [](std::uint32_t label) { return std::vector{label}; }, messages);
  add_unfolding(labels, messages);
  return pack(all_reduce_header(topology, chunks), messages, topology);
}

}  // namespace

Algorithm halving_doubling_algorithm() {
  return {.name = "halving-doubling",
          .summary = "recursive halving, then recursive doubling; ranks beyond 2^k are folded",
          .source = "Rabenseifner, ICCS 2004; Thakur et al., IJHPCA 2005",
          .unsupported = supports_all,
          .all_gather = halving_all_gather,
          .broadcast = halving_broadcast,
          .all_reduce = halving_all_reduce};
}

}  // namespace multitree
