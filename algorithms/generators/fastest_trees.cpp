// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/generators/fastest_trees_internal.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "algorithms/registry.hpp"

namespace multitree {
namespace {

/// Times the least time: beyond that more is tried.
constexpr double kWorthMore = 1.01;
/// Chunks that may wait in the middle of a route: with fewer links idle more, with more chunks come
/// later.
constexpr std::array kQueues = {1U, 2U, 8U};
/// Transfers of a schedule with them: more take long to time, all these ways.
constexpr std::uint64_t kMostWithQueues = 1U << 16;

/// Chunks that wait on their way come later: smaller ones make up for that.
Pipeline with_queues(Pipeline pipeline) {
  pipeline.fill /= 4;
  pipeline.most_transfers = std::min(pipeline.most_transfers, kMostWithQueues);
  return pipeline;
}

bool has_equal_links(const Topology& topology) {
  return std::ranges::all_of(topology.links(), [&](const Link& link) {
    return link.bandwidth == topology.links().front().bandwidth;
  });
}

SharedSchedule time_in_pieces(const FastestSchedule& fastest, const TreesToTime& trees,
                              const Pipeline& pipeline, TimingOptions timing) {
  timing.segments = trees.segments;
  if (trees.segments != 0) {
    return time_trees_in_pieces(trees.name, trees.packing, trees.topology, timing, kDefaultSize,
                                Time{}, trees.keep);
  }
  timing.segments =
      pipeline_segments(trees.packing, trees.topology, trees.hops, fastest.bytes(), pipeline);
  return time_trees_in_pieces(trees.name, trees.packing, trees.topology, timing, fastest.bytes(),
                              fastest.message(), trees.keep);
}

/// Where all links are alike it seldom pays: what is urgent has its steps early anyway. If an order
/// within steps is of no use, steps in order may be.
void consider_messages(FastestSchedule& fastest, const TreesToTime& trees) {
  if (fastest.message() == Time{} || has_equal_links(trees.topology)) return;
  TimingOptions timing = trees.timing;
  for (const bool within_steps : {true, false}) {
    const Time before = fastest.time();
    timing.costs = MessageCosts{fastest.bytes(), fastest.message(), within_steps};
    fastest.consider(time_in_pieces(fastest, trees, trees.pipeline, timing));
    if (fastest.time() < before || trees.are_rivals) return;
  }
}

void consider_queues(FastestSchedule& fastest, const TreesToTime& trees) {
  if (!has_long_routes(trees.packing) || trees.segments == 1) return;
  for (const std::uint32_t queues : kQueues) {
    TimingOptions timing = trees.timing;
    timing.queues = queues;
    fastest.consider(time_in_pieces(fastest, trees, with_queues(trees.pipeline), timing));
  }
}

/// Periods take long to find.
void consider_periods(FastestSchedule& fastest, const TreesToTime& trees) {
  if (!serves_periods(trees.packing, trees.topology)) return;
  auto periods = time_trees_in_periods(trees.name, trees.packing, trees.topology, fastest.bytes(),
                                       fastest.message(), trees.keep);
  if (periods) fastest.consider(std::move(periods));
}

}  // namespace

void FastestSchedule::consider(SharedSchedule schedule) {
  if (best_ && schedule->floor(bytes_, message_) >= time_) return;
  const Time time = schedule->time(bytes_, message_);
  if (best_ && time >= time_) return;
  best_ = std::move(schedule);
  time_ = time;
}

void consider_plain_trees(FastestSchedule& fastest, const TreesToTime& trees) {
  fastest.consider(time_in_pieces(fastest, trees, trees.pipeline, trees.timing));
}

void consider_trees(FastestSchedule& fastest, const TreesToTime& trees) {
  constexpr double kWorthPeriods = 1.05;
  // Turned around, a rank sends what it has received.
  const Time least = least_time(trees.packing, trees.topology, fastest.bytes(),
                                trees.are_turned ? Time{} : fastest.message());
  if (fastest.is_within(1, least)) return;
  consider_plain_trees(fastest, trees);
  if (trees.packing.ranks == 1) return;
  if (!fastest.is_within(kWorthMore, least)) consider_messages(fastest, trees);
  if (!fastest.is_within(kWorthMore, least)) consider_queues(fastest, trees);
  if (trees.are_rivals) return;
  if (!fastest.is_within(kWorthPeriods, least)) consider_periods(fastest, trees);
}

void consider_fewer_trees(FastestSchedule& fastest, Time least,
                          const std::function<void(std::uint32_t)>& consider) {
  constexpr double kWorthFewer = 1.03;
  if (fastest.message() == Time{} || fastest.is_within(kWorthFewer, least)) return;
  int worse = 0;
  for (const std::uint32_t trees : {2U, 3U, 4U, 6U, 8U, 12U, 16U, 24U, 32U, 48U}) {
    const Time before = fastest.time();
    consider(trees);
    worse = fastest.time() < before ? 0 : worse + 1;
    if (worse == 2 && trees > 4) return;
  }
}

}  // namespace multitree
