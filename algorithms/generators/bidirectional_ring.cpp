// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ring algorithm (ring.cpp) in both directions of one cycle at once, half of every shard each.
#include <algorithm>

#include "algorithms/generators/embedding_internal.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/ring_internal.hpp"

namespace multitree {
namespace {

/// The cycle forwards (0) or backwards (1).
std::vector<Rank> directed(std::vector<Rank> order, std::uint32_t direction) {
  if (direction == 1) std::ranges::reverse(order);
  return order;
}

Schedule two_rings_all_gather(const Topology& topology, const Spec& options) {
  static_cast<void>(segments_option(options));
  const std::vector<Rank> order = ring_order(topology);
  std::vector<Message> half[2];
  for (std::uint32_t direction : {0U, 1U}) {
    const std::vector<Rank> ring = directed(order, direction);
    add_ring_rotation(
        ring, [&](std::size_t i) { return std::vector{2 * index(ring[i]) + direction}; }, Op::Copy,
        half[direction]);
  }
  // Round by round, so that neither direction takes shared links (of switches, of closing routes)
  // from the other for long.
  std::vector<Message> messages;
  for (std::size_t round = 0; round + 1 < order.size(); ++round) {
    for (const auto& list : half) {
      const auto first = list.begin() + static_cast<std::ptrdiff_t>(round * order.size());
      messages.insert(messages.end(), first, first + static_cast<std::ptrdiff_t>(order.size()));
    }
  }
  return pack(all_gather_header(topology, 2), messages, topology);
}

Schedule two_rings_broadcast(const Topology& topology, Rank root, const Spec& options) {
  const std::vector<Rank> order = ring_order(topology);
  std::vector<Message> messages;
  for (std::uint32_t direction : {0U, 1U}) {
    add_chain(directed(order, direction), root, direction, messages);
  }
  const Schedule chains = pack(broadcast_header(topology, root, 2), messages, topology);
  return pipelined_broadcast(chains, segments_option(options), topology);
}

}  // namespace

Algorithm bidirectional_ring_algorithm() {
  return {.name = "bidirectional-ring",
          .summary = "the ring in both directions, half of the data each",
          .source = "Patarasuk, Yuan, JPDC 2009, in both directions",
          .parameters = kSegmentsDoc,
          .unsupported = supports_all,
          .all_gather = two_rings_all_gather,
          .broadcast = two_rings_broadcast,
          .all_reduce = nullptr};
}

}  // namespace multitree
