// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// RING: every chunk travels once around a cycle of all ranks. P. Patarasuk, X. Yuan: "Bandwidth
/// optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput. 69(2),
/// 2009 (DOI 10.1016/j.jpdc.2008.09.002).
#include <algorithm>

#include "algorithms/generators/embedding_internal.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/ring_internal.hpp"
#include "algorithms/pack.hpp"

namespace multitree {

void add_ring_rotation(std::span<const Rank> order, const RingChunks& chunks, Op op,
                       std::vector<Message>& messages) {
  const std::size_t ranks = order.size();
  // Round s: position i passes on what came s ranks ago.
  for (std::size_t round = 0; round + 1 < ranks; ++round) {
    for (std::size_t i = 0; i < ranks; ++i) {
      const std::size_t from = (i + ranks - round) % ranks;
      for (const std::uint32_t chunk : chunks(from)) {
        messages.push_back({op, chunk, order[i], order[(i + 1) % ranks]});
      }
    }
  }
}

void add_chain(std::span<const Rank> cycle, Rank root, std::uint32_t chunk,
               std::vector<Message>& messages) {
  const auto start = static_cast<std::size_t>(std::ranges::find(cycle, root) - cycle.begin());
  for (std::size_t i = 0; i + 1 < cycle.size(); ++i) {
    messages.push_back({Op::Copy, chunk, cycle[(start + i) % cycle.size()],
                        cycle[(start + i + 1) % cycle.size()]});
  }
}

namespace {

Schedule ring_all_gather(const Topology& topology, const Spec& options) {
  static_cast<void>(segments_option(options));
  const std::vector<Rank> order = ring_order(topology);
  std::vector<Message> messages;
  add_ring_rotation(
      order, [&](std::size_t i) { return std::vector{index(order[i])}; }, Op::Copy, messages);
  return pack(all_gather_header(topology), messages, topology);
}

Schedule ring_broadcast(const Topology& topology, Rank root, const Spec& options) {
  std::vector<Message> messages;
  add_chain(ring_order(topology), root, 0, messages);
  const Schedule chain = pack(broadcast_header(topology, root, 1), messages, topology);
  return pipelined_broadcast(chain, segments_option(options), topology);
}

}  // namespace

Algorithm ring_algorithm() {
  return {.name = "ring",
          .summary = "a cycle through all ranks, a chunk per rank going round",
          .source = "Patarasuk, Yuan, JPDC 2009",
          .parameters = kSegmentsDoc,
          .unsupported = supports_all,
          .all_gather = ring_all_gather,
          .broadcast = ring_broadcast,
          .all_reduce = nullptr};
}

}  // namespace multitree
