// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The steps of Swing, and collectives made of them.
#include "algorithms/generators/swing_internal.hpp"

#include <fmt/format.h>

#include <bit>

#include "algorithms/compose.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/pack.hpp"

namespace multitree {
namespace {

/// Chunk c spreads from its holders to their partners, the most distant first; if the size of a
/// dimension is not a power of two, a partner may have it already and is left out (section 3.2).
struct Spreading {
  std::uint32_t chunk;
  std::vector<bool> has;

  Spreading(std::uint32_t chunk_, std::uint32_t ranks, Rank owner) : chunk(chunk_), has(ranks) {
    has[index(owner)] = true;
  }

  void add_step(const SwingStep& step, std::vector<Message>& messages) {
    const std::vector<bool> before = has;
    for (std::uint32_t rank = 0; rank < before.size(); ++rank) {
      const Rank to = step.peer(Rank{rank});
      if (!before[rank] || has[index(to)]) continue;
      has[index(to)] = true;
      messages.push_back({Op::Copy, chunk, Rank{rank}, to});
    }
  }
};

}  // namespace

Rank SwingStep::peer(Rank rank) const {
  const std::int64_t at = index(rank) / stride % size;
  const std::int64_t to = (at + (at % 2 == 0 ? distance : -distance)) % size;
  const std::int64_t wrapped = to < 0 ? to + size : to;
  return Rank{static_cast<std::uint32_t>(index(rank) + (wrapped - at) * stride)};
}

std::vector<SwingStep> swing_steps(const std::vector<std::uint32_t>& dims, std::uint32_t part) {
  const auto count = static_cast<std::uint32_t>(dims.size());
  std::vector<std::uint32_t> strides(count, 1), left(count);
  std::uint32_t total = 0;
  for (std::uint32_t d = 0; d < count; ++d) {
    if (d > 0) strides[d] = strides[d - 1] * dims[d - 1];
    left[d] = static_cast<std::uint32_t>(std::bit_width(dims[d] - 1));  // ceil(log2)
    total += left[d];
  }
  std::vector<std::int64_t> power(count, -2);  // (-2)^(s+1), s the next step in a dimension
  std::vector<SwingStep> steps;
  for (std::uint32_t turn = 0; steps.size() < total; ++turn) {
    const std::uint32_t d = (part + turn) % count;
    if (left[d] == 0) continue;
    --left[d];
    const std::int64_t rho = (1 - power[d]) / 3;
    power[d] *= -2;
    steps.push_back({dims[d], strides[d], part < count ? rho : -rho});
  }
  return steps;
}

Schedule swing_spread(Schedule header, const SwingParts& parts, const Topology& topology) {
  std::vector<Spreading> spreadings;
  for (std::uint32_t c = 0; c < header.chunks.size(); ++c) {
    spreadings.emplace_back(c, header.ranks, header.chunks[c].root());
  }
  std::vector<Message> messages;
  for (std::size_t left = parts[0].size(); left > 0; --left) {
    for (Spreading& spreading : spreadings) {
      spreading.add_step(parts[spreading.chunk % parts.size()][left - 1], messages);
    }
  }
  return pack(std::move(header), messages, topology);
}

Schedule swing_exchange(const SwingParts& parts, const Topology& topology) {
  const auto count = static_cast<std::uint32_t>(parts.size());
  Schedule header = broadcast_header(topology, Rank{0}, count);
  header.collective = Collective::AllReduce;
  std::vector<Message> messages;
  for (std::size_t s = 0; s < parts[0].size(); ++s) {
    for (std::uint32_t part = 0; part < count; ++part) {
      for (std::uint32_t rank = 0; rank < topology.num_ranks(); ++rank) {
        const Rank peer = parts[part][s].peer(Rank{rank});
        if (Rank{rank} < peer) messages.push_back({Op::Reduce, part, Rank{rank}, peer, true});
      }
    }
  }
  return pack(std::move(header), messages, topology);
}

Schedule scattered_all_reduce(const Topology& topology, const Spec& options,
                              Schedule (*all_gather)(const Topology&, const Spec&)) {
  const Schedule gathering = all_gather(topology, options);
  const Schedule reduction =
      topology.is_symmetric() ? reversed_by_mates(gathering, topology)
                              : reversed_on_transposed(all_gather(topology.transposed(), options));
  return all_reduce_of(reduction, gathering);
}

bool latency_option(const Spec& options) {
  const std::string variant = options.get("variant", "bandwidth");
  if (variant != "bandwidth" && variant != "latency") {
    options.fail(fmt::format("variant: expected bandwidth or latency, got '{}'", variant));
  }
  return variant == "latency";
}

}  // namespace multitree
