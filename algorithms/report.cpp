// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Counts steps, depth and time of a schedule and divides them by their bounds.
#include "algorithms/report.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "algorithms/cost.hpp"

namespace multitree {
namespace {

/// Weights of chunks and bounds of odd bandwidths have large denominators: their products are not
/// formed in 64 bits.
using Wide = unsigned __int128;

/// The largest chunk has `weight` of the `total` that its part of the buffer weighs, a part of
/// `shards` shards.
struct LargestChunk {
  std::uint64_t weight = 0, total = 1;
  std::uint32_t shards = 1;

  [[nodiscard]] double in_shards() const {
    return static_cast<double>(weight) * shards / static_cast<double>(total);
  }
};

LargestChunk largest_chunk(const Schedule& schedule) {
  const bool sharded = schedule.collective == Collective::ReduceScatter ||
                       schedule.collective == Collective::AllGather;
  std::vector<std::uint64_t> total(sharded ? schedule.ranks : 1, 0);
  for (const Chunk& chunk : schedule.chunks) {
    total[sharded ? index(chunk.owner) : 0] += chunk.weight;
  }
  LargestChunk largest{.shards = sharded ? 1 : schedule.ranks};
  for (const Chunk& chunk : schedule.chunks) {
    const std::uint64_t whole = total[sharded ? index(chunk.owner) : 0];
    if (Wide{chunk.weight} * largest.total > Wide{largest.weight} * whole) {
      largest.weight = chunk.weight;
      largest.total = whole;
    }
  }
  return largest;
}

/// Steps of a bandwidth bound (in shard times) when a step moves the largest chunk.
std::uint32_t steps_of(const Rational& shard_times, const LargestChunk& chunk) {
  if (chunk.weight == 0 || chunk.shards == 0) return 0;
  const Wide time = Wide(shard_times.numerator()) * chunk.total;
  const Wide step = Wide(shard_times.denominator()) * chunk.shards * chunk.weight;
  return static_cast<std::uint32_t>((time + step - 1) / step);
}

/// Whether every route passes through switches only, so that a step is one rank-to-rank hop.
bool single_hops(const Schedule& schedule, const Topology& topology) {
  return std::ranges::all_of(schedule.transfers, [&](const Transfer& t) {
    const auto route = schedule.route(t);
    return route.empty() || std::all_of(route.begin(), route.end() - 1, [&](LinkId id) {
             return topology.node(topology.link(id).dst).is_switch();
           });
  });
}

/// Most hops that the data of a schedule has to travel from where it is, or is reduced, in one
/// direction: from the root, or from the owners of chunks.
std::uint32_t least_hops(const Schedule& schedule, const Topology& topology, const Bounds& bounds) {
  if (has_root(schedule.collective)) return farthest_hops(topology, schedule.root);
  std::set<Rank> owners;
  for (const Chunk& chunk : schedule.chunks) owners.insert(chunk.owner);
  if (owners.size() == schedule.ranks) return bounds.diameter;
  std::uint32_t most = 0;
  for (const Rank owner : owners) most = std::max(most, farthest_hops(topology, owner));
  return most;
}

/// Steps from the first to the last transfer of a kind.
std::uint32_t span_of(const Schedule& schedule, Op op) {
  std::uint32_t first = 0, last = 0;
  bool any = false;
  for (const Transfer& t : schedule.transfers) {
    if (t.op != op) continue;
    if (!any) first = t.step;
    any = true;
    last = t.step;
  }
  return any ? last - first + 1 : 0;
}

/// Whether an all-reduce is a reduce-scatter and then an all-gather: no copy before the last
/// reduction.
bool is_two_phase(const Schedule& schedule) {
  std::uint32_t last_reduce = 0, first_copy = std::numeric_limits<std::uint32_t>::max();
  for (const Transfer& t : schedule.transfers) {
    if (t.op == Op::Reduce) last_reduce = std::max(last_reduce, t.step);
    if (t.op == Op::Copy) first_copy = std::min(first_copy, t.step);
  }
  return last_reduce < first_copy;
}

std::uint32_t depth_of(const Schedule& schedule) {
  std::vector<std::uint32_t> depth(std::size_t{schedule.ranks} * schedule.chunks.size(), 0);
  const auto at = [&](std::uint32_t chunk, Rank rank) -> std::uint32_t& {
    return depth[std::size_t{chunk} * schedule.ranks + index(rank)];
  };
  std::uint32_t deepest = 0;
  std::vector<std::uint32_t> sent;
  const auto& all = schedule.transfers;
  for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
    // A step reads the values from before it.
    sent.clear();
    for (end = first; end < all.size() && all[end].step == all[first].step; ++end) {
      sent.push_back(at(all[end].chunk, all[end].src) + 1);
    }
    for (std::size_t i = first; i < end; ++i) {
      std::uint32_t& to = at(all[i].chunk, all[i].dst);
      to = std::max(to, sent[i - first]);
      deepest = std::max(deepest, to);
    }
  }
  return deepest;
}

/// Whether no link carries more than its slots in any step.
bool is_contention_free(const Schedule& schedule, const Topology& topology) {
  std::vector<std::uint32_t> uses(topology.num_links(), 0);
  std::vector<std::uint64_t> met(topology.num_links(), 0);
  for (const Transfer& t : schedule.transfers) {
    for (const LinkId id : schedule.route(t)) {
      const std::uint32_t l = index(id);
      if (met[l] != std::uint64_t{t.step} + 1) uses[l] = 0;
      met[l] = std::uint64_t{t.step} + 1;
      if (++uses[l] > topology.slots(id)) return false;
    }
  }
  return true;
}

}  // namespace

ScheduleReport make_report(const Schedule& schedule, const Topology& topology, const Bounds& bounds,
                           std::uint64_t bytes) {
  ScheduleReport report;
  report.ranks = schedule.ranks;
  report.chunks = static_cast<std::uint32_t>(schedule.chunks.size());
  report.transfers = schedule.transfers.size();
  report.total_steps = schedule.num_steps();
  report.depth = depth_of(schedule);
  report.contention_free = is_contention_free(schedule, topology);

  const LargestChunk largest = largest_chunk(schedule);
  if (schedule.ranks > 0) report.step_fraction = largest.in_shards() / schedule.ranks;
  const bool counts_hops = single_hops(schedule, topology);
  const auto at_least = [&](const Rational& shard_times, bool reducing) {
    const std::uint32_t steps = steps_of(shard_times, largest);
    if (!counts_hops) return steps;
    return std::max(steps,
                    least_hops(schedule, reducing ? topology.transposed() : topology, bounds));
  };
  const Rational bound = collective_bound(bounds, topology, schedule.collective, schedule.root);
  if (schedule.collective == Collective::AllReduce) {
    const bool gathers = span_of(schedule, Op::Copy) > 0 || schedule.ranks == 1;
    const std::uint32_t gathering = at_least(bounds.all_gather, false);
    // Half a step saved by rounding each phase up on its own counts only where there are two
    // phases.
    report.bound_total_steps = gathers && is_two_phase(schedule)
                                   ? at_least(bounds.reduce_scatter, true) + gathering
                                   : at_least(bound, false);
    report.steps = gathers ? span_of(schedule, Op::Copy) : report.total_steps;
    report.bound_steps = gathers ? gathering : report.bound_total_steps;
  } else {
    report.steps = report.total_steps;
    report.bound_steps = report.bound_total_steps =
        at_least(bound, schedule.collective == Collective::Reduce ||
                            schedule.collective == Collective::ReduceScatter);
  }
  if (report.bound_total_steps > 0) {
    report.bound_ratio =
        static_cast<double>(report.total_steps) / static_cast<double>(report.bound_total_steps);
  }
  report.bytes = bytes;
  report.predicted_seconds = predict_time(schedule, topology, bytes).seconds();
  if (topology.num_links() > 0) {
    report.bound_seconds = boost::rational_cast<double>(bound) * static_cast<double>(bytes) /
                           static_cast<double>(schedule.ranks) /
                           static_cast<double>(topology.unit_bandwidth().bytes_per_second);
  }
  return report;
}

}  // namespace multitree
