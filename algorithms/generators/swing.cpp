// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Swing: D. De Sensi, T. Bonato, D. Saam, T. Hoefler: "Swing: Short-cutting Rings for Higher
/// Bandwidth Allreduce", NSDI 2024 (arXiv 2401.09356). In step s of a ring, even ranks r exchange
/// with r + rho(s) and odd ones with r - rho(s), where rho(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3,
/// -5, 11, ...: halving and doubling whose partners lie nearer than 2^s. On a torus of D dimensions
/// the steps go round the dimensions that have steps left. 2D collectives, each with its part of
/// the data, use all links: they start in each of the dimensions, and D of them are mirrored.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "algorithms/compose.hpp"
#include "algorithms/generators/embedding_internal.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/pack.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// One exchange of a rank in a ring of `size` ranks that are `stride` apart.
struct SwingStep {
  std::uint32_t size, stride;
  std::int64_t distance;  ///< of even ranks; odd ones go the other way

  [[nodiscard]] Rank peer(Rank rank) const {
    const std::int64_t at = index(rank) / stride % size;
    const std::int64_t to = (at + (at % 2 == 0 ? distance : -distance)) % size;
    const std::int64_t wrapped = to < 0 ? to + size : to;
    return Rank{static_cast<std::uint32_t>(index(rank) + (wrapped - at) * stride)};
  }
};

/// The steps of part `part` < 2D, in the order of a reduce-scatter: nearest partners first.
std::vector<SwingStep> steps_of(const std::vector<std::uint32_t>& dims, std::uint32_t part) {
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

std::uint32_t num_parts(const std::vector<std::uint32_t>& dims) {
  return std::max(1U, 2 * static_cast<std::uint32_t>(dims.size()));
}

std::optional<std::string> unsupported(const Topology& topology) {
  const auto dims = grid_dims(topology);
  const std::string& family = topology.shape().family;
  if (!dims || family == "mesh") {
    return fmt::format("swing needs a ring, torus or hypercube, {} is not one", topology.name());
  }
  const auto odd = std::ranges::find_if(*dims, [](std::uint32_t size) { return size % 2 == 1; });
  if (odd != dims->end()) {
    return fmt::format("swing needs dimensions of even size, {} has one of {}", topology.name(),
                       *odd);
  }
  return std::nullopt;
}

/// Whether the all-reduce is to exchange whole vectors.
bool latency_option(const Spec& options) {
  const std::string variant = options.get("variant", "bandwidth");
  if (variant != "bandwidth" && variant != "latency") {
    options.fail(fmt::format("variant: expected bandwidth or latency, got '{}'", variant));
  }
  return variant == "latency";
}

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

/// All chunks of `header` from their owners to everybody; chunk c is of part c mod parts.
Schedule spread(Schedule header, const Topology& topology) {
  const std::vector<std::uint32_t> dims = *grid_dims(topology);
  const std::uint32_t parts = num_parts(dims);
  std::vector<Spreading> spreadings;
  for (std::uint32_t c = 0; c < header.chunks.size(); ++c) {
    spreadings.emplace_back(c, header.ranks, header.chunks[c].owner);
  }
  std::vector<std::vector<SwingStep>> steps(parts);
  if (!dims.empty()) {
    for (std::uint32_t part = 0; part < parts; ++part) steps[part] = steps_of(dims, part);
  }
  std::vector<Message> messages;
  for (std::size_t left = steps[0].size(); left > 0; --left) {
    for (Spreading& spreading : spreadings) {
      spreading.add_step(steps[spreading.chunk % parts][left - 1], messages);
    }
  }
  return pack(std::move(header), messages, topology);
}

Schedule all_gather(const Topology& topology, const Spec& options) {
  static_cast<void>(latency_option(options));
  return spread(all_gather_header(topology, num_parts(*grid_dims(topology))), topology);
}

/// The trees that the all-gather has for the root's parts.
Schedule broadcast(const Topology& topology, Rank root, const Spec& options) {
  static_cast<void>(latency_option(options));
  return spread(broadcast_header(topology, root, num_parts(*grid_dims(topology))), topology);
}

/// Whole parts are exchanged in log2(ranks) steps, which counts every contribution once only if all
/// sizes are powers of two.
Schedule latency_all_reduce(const Topology& topology) {
  const std::vector<std::uint32_t> dims = *grid_dims(topology);
  if (!std::ranges::all_of(dims, [](std::uint32_t size) { return std::has_single_bit(size); })) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("swing?variant=latency needs dimensions that are powers of two, {} has "
                            "{}",
                            topology.name(), fmt::join(dims, "x")));
  }
  Schedule header = broadcast_header(topology, Rank{0}, num_parts(dims));
  header.collective = Collective::AllReduce;
  std::vector<Message> messages;
  if (dims.empty()) return pack(std::move(header), messages, topology);
  std::vector<std::vector<SwingStep>> steps;
  for (std::uint32_t part = 0; part < num_parts(dims); ++part) {
    steps.push_back(steps_of(dims, part));
  }
  for (std::size_t s = 0; s < steps[0].size(); ++s) {
    for (std::uint32_t part = 0; part < steps.size(); ++part) {
      for (std::uint32_t rank = 0; rank < topology.num_ranks(); ++rank) {
        const Rank peer = steps[part][s].peer(Rank{rank});
        if (Rank{rank} < peer) messages.push_back({Op::Reduce, part, Rank{rank}, peer, true});
      }
    }
  }
  return pack(std::move(header), messages, topology);
}

Schedule all_reduce(const Topology& topology, const Spec& options) {
  if (latency_option(options)) return latency_all_reduce(topology);
  const Schedule gathering = all_gather(topology, options);
  const Schedule reduction =
      topology.is_symmetric() ? reversed_by_mates(gathering, topology)
                              : reversed_on_transposed(all_gather(topology.transposed(), options));
  return all_reduce_of(reduction, gathering);
}

}  // namespace

Algorithm swing_algorithm() {
  return {.name = "swing",
          .summary = "halving and doubling with near partners on a torus of even sizes",
          .source = "De Sensi et al., NSDI 2024",
          .parameters =
              "variant=bandwidth|latency: all-reduce by reduce-scatter and all-gather (default), "
              "or by exchange of whole vectors (sizes that are powers of two)",
          .unsupported = unsupported,
          .all_gather = all_gather,
          .broadcast = broadcast,
          .all_reduce = all_reduce};
}

}  // namespace multitree
