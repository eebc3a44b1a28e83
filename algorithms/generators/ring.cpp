// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// RING: every chunk travels once around a cycle of all ranks. P. Patarasuk, X. Yuan: "Bandwidth
/// optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput. 69(2),
/// 2009 (DOI 10.1016/j.jpdc.2008.09.002). In one direction, or in both at once with half of every
/// shard each.
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

/// The cycle forwards (0) or backwards (1).
std::vector<Rank> directed(std::vector<Rank> order, std::uint32_t direction) {
  if (direction == 1) std::ranges::reverse(order);
  return order;
}

template <std::uint32_t directions>
Schedule ring_all_gather(const Topology& topology, const Spec& options) {
  static_cast<void>(segments_option(options));
  const std::vector<Rank> order = ring_order(topology);
  std::vector<Message> of[directions];
  for (std::uint32_t direction = 0; direction < directions; ++direction) {
    const std::vector<Rank> ring = directed(order, direction);
    const auto chunks = [&](std::size_t i) {
      return std::vector{directions * index(ring[i]) + direction};
    };
    add_ring_rotation(ring, chunks, Op::Copy, of[direction]);
  }
  // Round by round, so that neither direction takes shared links (of switches, of closing routes)
  // from the other for long.
  std::vector<Message> messages;
  for (std::size_t round = 0; round + 1 < order.size(); ++round) {
    for (const auto& list : of) {
      const auto first = list.begin() + static_cast<std::ptrdiff_t>(round * order.size());
      messages.insert(messages.end(), first, first + static_cast<std::ptrdiff_t>(order.size()));
    }
  }
  return pack(all_gather_header(topology, directions), messages, topology);
}

template <std::uint32_t directions>
Schedule ring_broadcast(const Topology& topology, Rank root, const Spec& options) {
  const std::vector<Rank> order = ring_order(topology);
  std::vector<Message> messages;
  for (std::uint32_t direction = 0; direction < directions; ++direction) {
    add_chain(directed(order, direction), root, direction, messages);
  }
  const Schedule chains = pack(broadcast_header(topology, root, directions), messages, topology);
  return pipelined_broadcast(chains, segments_option(options), topology);
}

template <std::uint32_t directions>
Algorithm rings(std::string_view name, std::string_view summary, std::string_view source) {
  return {.name = name,
          .summary = summary,
          .source = source,
          .parameters = kSegmentsDoc,
          .unsupported = supports_all,
          .all_gather = ring_all_gather<directions>,
          .broadcast = ring_broadcast<directions>};
}

}  // namespace

Algorithm ring_algorithm() {
  return rings<1>("ring", "a cycle through all ranks, a chunk per rank going round",
                  "Patarasuk, Yuan, JPDC 2009");
}

Algorithm bidirectional_ring_algorithm() {
  return rings<2>("bidirectional-ring", "the ring in both directions, half of the data each",
                  "Patarasuk, Yuan, JPDC 2009, in both directions");
}

}  // namespace multitree
