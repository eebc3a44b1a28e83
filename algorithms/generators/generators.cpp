// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What several algorithms share: headers and broadcasts.
#include <fmt/format.h>

#include <algorithm>

#include "algorithms/coalesced.hpp"
#include "algorithms/compose.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/pack.hpp"
#include "topologies/error.hpp"
#include "topologies/units.hpp"

namespace multitree {
namespace {

// Beyond this many transfers a longer pipeline costs more to store than it gains.
constexpr std::uint64_t kMaxDefaultTransfers = 1U << 18;

/// Steps between two segments in the steady state: how often the busiest link is used.
std::uint32_t period(const Schedule& base, const Topology& topology) {
  std::vector<std::uint32_t> uses(topology.num_links(), 0);
  std::uint32_t most = 1;
  for (const LinkId link : base.routes) {
    const std::uint32_t slots = topology.slots(link);
    most = std::max(most, (++uses[index(link)] + slots - 1) / slots);
  }
  return most;
}

std::uint32_t default_segments(const Schedule& base, const Topology& topology) {
  const std::uint32_t steps = base.num_steps(), each = period(base, topology);
  if (steps <= each) return 1;
  const std::uint64_t wanted = (8 * std::uint64_t{steps - each} + each - 1) / each;
  const std::uint64_t most = kMaxDefaultTransfers / base.transfers.size() + 1;
  return static_cast<std::uint32_t>(std::min({wanted, most, std::uint64_t{kMaxSegments}}));
}

/// Beyond this many ranks a scattered broadcast, with its square of transfers, is not tried.
constexpr std::uint32_t kMaxScattered = 512;

/// The root scatters the shards, and every rank's tree spreads its shard as soon as it has come. A
/// tree's edge into the root is left out, as the root has everything; its children there are served
/// by it.
Schedule scattered_broadcast(const Schedule& gather, Rank root, const Topology& topology) {
  const auto chunks = static_cast<std::uint32_t>(gather.chunks.size());
  Schedule header = broadcast_header(topology, root, chunks);
  std::vector<Message> messages;
  for (std::uint32_t c = 0; c < chunks; ++c) {
    const Rank owner = gather.chunks[c].root();
    if (owner != root) messages.push_back({Op::Copy, c, root, owner});
  }
  for (const Transfer& t : gather.transfers) {
    if (t.dst != root) messages.push_back({Op::Copy, t.chunk, t.src, t.dst});
  }
  return pack(std::move(header), messages, topology);
}

/// Steps for a buffer of the size that a step of one chunk moves: comparable between schedules.
double duration(const Schedule& schedule) {
  return static_cast<double>(schedule.num_steps()) / static_cast<double>(schedule.chunks.size());
}

}  // namespace

std::optional<std::string> supports_all(const Topology&) { return std::nullopt; }

Schedule all_gather_header(const Topology& topology, std::uint32_t chunks_per_owner) {
  Schedule schedule;
  schedule.collective = Collective::AllGather;
  schedule.ranks = topology.num_ranks();
  for (std::uint32_t c = 0; c < schedule.ranks * chunks_per_owner; ++c) {
    schedule.chunks.push_back(Chunk::rooted(Rank{c / chunks_per_owner}, c, 1));
  }
  return schedule;
}

Schedule broadcast_header(const Topology& topology, Rank root, std::uint32_t chunks) {
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.root = root;
  schedule.ranks = topology.num_ranks();
  for (std::uint32_t c = 0; c < chunks; ++c) {
    schedule.chunks.push_back(Chunk::rooted(root, c, 1));
  }
  return schedule;
}

Schedule all_reduce_header(const Topology& topology, std::uint32_t chunks) {
  Schedule schedule;
  schedule.collective = Collective::AllReduce;
  schedule.ranks = topology.num_ranks();
  schedule.chunks = one_chunk_per_rank(chunks);
  return schedule;
}

std::uint32_t segments_option(const Spec& options) {
  return options.get_number("segments", 0, 1, kMaxSegments);
}

std::uint64_t piece_option(const Spec& options) {
  if (!options.has("piece")) return 0;
  for (const std::string_view other : {"segments", "fill"}) {
    if (options.has(other)) {
      options.fail(
          fmt::format("piece: expected none beside {}, which says how large pieces are as "
                      "well",
                      other));
    }
  }
  const std::string text = options.get("piece", "");
  try {
    if (const std::uint64_t bytes = parse_bytes(text); bytes != 0) return bytes;
  } catch (const Error&) {  // told below
  }
  options.fail(fmt::format("piece: expected a size of at least a byte, as 64KiB, got '{}'", text));
}

std::uint64_t rounds_option(const Spec& options, const Topology& topology) {
  return options.get_number("rounds", 0, 0, 1) == 1 ? most_together(topology) : 0;
}

std::uint64_t size_option(const Spec& options) {
  try {
    return parse_bytes(options.get("size", format_bytes(kDefaultSize)));
  } catch (const Error& error) {
    options.fail(fmt::format("size: {}", error.what()));
  }
}

Time message_option(const Spec& options) {
  try {
    return parse_time(options.get("message", "0ns"));
  } catch (const Error& error) {
    options.fail(fmt::format("message: {}", error.what()));
  }
}

Schedule pipelined_broadcast(const Schedule& base, std::uint32_t segments,
                             const Topology& topology) {
  return pipelined(base, segments == 0 ? default_segments(base, topology) : segments, topology);
}

Schedule faster_broadcast(const Schedule& tree, std::uint32_t segments, const Topology& topology,
                          const std::function<Schedule()>& all_gather) {
  Schedule in_pieces = pipelined_broadcast(tree, segments, topology);
  if (segments != 0 || topology.num_ranks() > kMaxScattered) return in_pieces;
  Schedule scattered = scattered_broadcast(all_gather(), tree.root, topology);
  return duration(scattered) < duration(in_pieces) ? scattered : in_pieces;
}

}  // namespace multitree
