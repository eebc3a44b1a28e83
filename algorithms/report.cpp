// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Counts steps, depth and time of a schedule and divides them by their bounds.
#include "algorithms/report.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "algorithms/cost.hpp"

namespace multitree {
namespace {

/// Share of the buffer in the largest chunk.
Rational largest_chunk(const Schedule& schedule) {
  const bool sharded = schedule.collective == Collective::ReduceScatter ||
                       schedule.collective == Collective::AllGather;
  std::vector<std::int64_t> total(sharded ? schedule.ranks : 1, 0);
  for (const Chunk& chunk : schedule.chunks)
    total[sharded ? index(chunk.owner) : 0] += chunk.weight;
  Rational largest = 0;
  for (const Chunk& chunk : schedule.chunks) {
    const Rational share(chunk.weight, total[sharded ? index(chunk.owner) : 0]);
    largest = std::max(largest, share);
  }
  return sharded && schedule.ranks > 0 ? largest / Rational(schedule.ranks) : largest;
}

std::uint32_t ceiling(Rational value) {
  return static_cast<std::uint32_t>((value.numerator() + value.denominator() - 1) /
                                    value.denominator());
}

/// Steps of a bandwidth bound (in shard times) when a step moves `step_fraction` of the buffer.
std::uint32_t steps_of(Rational shard_times, const Rational& step_fraction, std::uint32_t ranks) {
  if (step_fraction.numerator() == 0 || ranks == 0) return 0;
  return ceiling(shard_times / Rational(ranks) / step_fraction);
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

std::uint32_t depth_of(const Schedule& schedule) {
  std::vector<std::uint32_t> depth(std::size_t{schedule.ranks} * schedule.chunks.size(), 0);
  std::uint32_t deepest = 0;
  for (const Transfer& t : schedule.transfers) {
    const std::uint32_t at = depth[std::size_t{t.chunk} * schedule.ranks + index(t.src)] + 1;
    std::uint32_t& to = depth[std::size_t{t.chunk} * schedule.ranks + index(t.dst)];
    to = std::max(to, at);
    deepest = std::max(deepest, to);
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

  const Rational fraction = largest_chunk(schedule);
  report.step_fraction = boost::rational_cast<double>(fraction);
  const bool counts_hops = single_hops(schedule, topology);
  const auto at_least = [&](Rational shard_times, bool reducing) {
    const std::uint32_t steps = steps_of(shard_times, fraction, schedule.ranks);
    if (!counts_hops) return steps;
    return std::max(steps,
                    least_hops(schedule, reducing ? topology.transposed() : topology, bounds));
  };
  const Rational bound = collective_bound(bounds, topology, schedule.collective, schedule.root);
  if (schedule.collective == Collective::AllReduce) {
    report.steps = span_of(schedule, Op::Copy);
    report.bound_steps = at_least(bounds.all_gather, false);
    report.bound_total_steps = at_least(bounds.reduce_scatter, true) + report.bound_steps;
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
