// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Halves the number of pieces as long as that pays.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/generators/pieces_internal.hpp"

namespace multitree {
namespace {

/// What a packing's data keeps the busiest link.
double link_seconds(const TreePacking& packing, const Topology& topology, std::uint64_t bytes) {
  return load(packing, topology).convert_to<double>() * static_cast<double>(bytes) / packing.ranks /
         static_cast<double>(topology.unit_bandwidth().bytes_per_second);
}

/// So many pieces that messages keep senders busy at most twice as long as data keeps links: more
/// cannot be the best, and many times more would take long to time.
std::uint32_t most_segments(const TreePacking& packing, const Topology& topology,
                            std::uint64_t bytes, Time message) {
  double messages = 0;  // that a rank sends for one segment, on average
  for (const PackedTree& tree : packing.trees) {
    messages += static_cast<double>(tree.gather.size() + tree.reduce.size());
  }
  messages /= packing.ranks;
  const double links = link_seconds(packing, topology, bytes);
  const double most = std::ceil(2 * links / (std::max(messages, 1.0) * message.seconds()));
  return static_cast<std::uint32_t>(std::clamp(most, 1.0, 1e9));
}

}  // namespace

Time least_time(const TreePacking& packing, const Topology& topology, std::uint64_t bytes,
                Time message) {
  constexpr double kRounding = 0.999;  // links' times are rounded, transfer by transfer
  std::vector<std::int64_t> sent(packing.ranks, 0);
  std::int64_t most = 0;
  for (const PackedTree& tree : packing.trees) {
    for (const auto* arcs : {&tree.reduce, &tree.gather}) {
      for (const TreeArc& arc : *arcs) most = std::max(most, ++sent[index(arc.src)]);
    }
  }
  const double seconds = kRounding * link_seconds(packing, topology, bytes);
  return std::max(Time{most * message.picoseconds},
                  Time{static_cast<decltype(Time::picoseconds)>(seconds * 1e12)});
}

SharedSchedule time_trees_in_pieces(const std::string& name, const TreePacking& packing,
                                    const Topology& topology, const TimingOptions& most,
                                    std::uint64_t bytes, Time message) {
  TimingOptions timing = most;
  const auto make = [&](std::uint32_t segments) {
    timing.segments = segments;
    timing.same_order = most.same_order && segments > 1;
    const std::string pieces = fmt::format("{} in {}, lag {}/{}, same order {}", name, segments,
                                           timing.lag, timing.lag_parts, timing.same_order);
    return ScheduleStore::get(topology, pieces,
                              [&] { return time_trees(packing, topology, timing); });
  };
  if (message == Time{} || most.segments == 1) return make(most.segments);
  SharedSchedule best =
      make(std::min(most.segments, most_segments(packing, topology, bytes, message)));
  while (timing.segments > 1) {
    SharedSchedule coarser = make((timing.segments + 1) / 2);
    if (coarser->time(bytes, message) > best->time(bytes, message)) break;
    best = std::move(coarser);
  }
  return best;
}

}  // namespace multitree
