// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Halves the number of pieces as long as that pays.
#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/cost.hpp"
#include "algorithms/generators/pieces_internal.hpp"

namespace multitree {
namespace {

/// So many pieces that messages keep senders busy at most twice as long as data keeps links: more
/// cannot be the best, and many times more would take long to time.
std::uint32_t most_segments(const TreePacking& packing, const Topology& topology,
                            std::uint64_t bytes, Time message) {
  double messages = 0;  // that a rank sends for one segment, on average
  for (const PackedTree& tree : packing.trees) {
    messages += static_cast<double>(tree.gather.size() + tree.reduce.size());
  }
  messages /= packing.ranks;
  const double links = load(packing, topology).convert_to<double>() * static_cast<double>(bytes) /
                       packing.ranks /
                       static_cast<double>(topology.unit_bandwidth().bytes_per_second);
  const double most = std::ceil(2 * links / (std::max(messages, 1.0) * message.seconds()));
  return static_cast<std::uint32_t>(std::clamp(most, 1.0, 1e9));
}

}  // namespace

Schedule time_trees_in_pieces(const TreePacking& packing, const Topology& topology,
                              const TimingOptions& most, std::uint64_t bytes, Time message) {
  if (message == Time{} || most.segments == 1) return time_trees(packing, topology, most);
  TimingOptions timing = most;
  const auto make = [&](std::uint32_t segments) {
    timing.segments = segments;
    timing.same_order = most.same_order && segments > 1;
    return time_trees(packing, topology, timing);
  };
  const CostModel cost{message};
  Schedule best = make(std::min(most.segments, most_segments(packing, topology, bytes, message)));
  for (Time time = predict_time(best, topology, bytes, cost); timing.segments > 1;) {
    Schedule coarser = make((timing.segments + 1) / 2);
    const Time other = predict_time(coarser, topology, bytes, cost);
    if (other > time) break;
    best = std::move(coarser);
    time = other;
  }
  return best;
}

}  // namespace multitree
