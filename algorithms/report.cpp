// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Counts steps, depth and time of a schedule and divides them by their bounds.
#include "algorithms/report.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "algorithms/certificate/all_reduce_lp.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/combined_routes.hpp"

namespace multitree {
namespace {

/// Whether every route passes through switches only, so that a step is one rank-to-rank hop.
bool single_hops(const Schedule& schedule, const Topology& topology) {
  return std::ranges::all_of(schedule.transfers, [&](const Transfer& t) {
    const auto route = schedule.route(t);
    return route.empty() || std::all_of(route.begin(), route.end() - 1, [&](LinkId id) {
             return topology.node(topology.link(id).dst).is_switch();
           });
  });
}

/// Most hops that the finished chunks of a schedule have to travel, from their owners.
std::uint32_t gathering_hops(const Schedule& schedule, const Topology& topology,
                             const Bounds& bounds) {
  std::set<Rank> owners;
  for (const Chunk& chunk : schedule.chunks) owners.insert(chunk.root());
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

/// Contributions to a value, and the messages that they were on.
struct Travel {
  std::uint64_t contributions = 0, messages = 0;
};

/// As ScheduleReport::mean_hops.
double mean_hops(const Schedule& schedule) {
  if (!reduces(schedule.collective)) return 0;
  const std::size_t chunks = schedule.chunks.size();
  std::vector<Travel> of(chunks * schedule.ranks, {1, 0});
  const auto at = [&](std::uint32_t chunk, Rank rank) -> Travel& {
    return of[chunk * std::size_t{schedule.ranks} + index(rank)];
  };
  const auto& all = schedule.transfers;
  std::vector<Travel> sent;
  for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
    sent.clear();
    for (end = first; end < all.size() && all[end].step == all[first].step; ++end) {
      sent.push_back(at(all[end].chunk, all[end].src));
    }
    for (std::size_t i = first; i < end; ++i) {
      Travel& to = at(all[i].chunk, all[i].dst);
      if (all[i].op == Op::Copy) {
        to = sent[i - first];
      } else {
        to.contributions += sent[i - first].contributions;
        to.messages += sent[i - first].messages + sent[i - first].contributions;
      }
    }
  }
  double sum = 0, weights = 0;
  for (std::uint32_t c = 0; c < chunks; ++c) {
    const Travel& whole = at(c, schedule.chunks[c].target);
    const auto weight = static_cast<double>(schedule.chunks[c].weight);
    sum += weight * static_cast<double>(whole.messages) / static_cast<double>(whole.contributions);
    weights += weight;
  }
  return weights > 0 ? sum / weights : 0;
}

/// Whether no link carries more than its slots in any step.
bool is_contention_free(const Schedule& schedule, const Topology& topology) {
  std::vector<std::uint32_t> uses(topology.num_links(), 0);
  std::vector<std::uint64_t> met(topology.num_links(), 0);
  bool is_free = true;
  for_each_message_on_links(schedule, topology, [&](LinkId id, const Transfer& t) {
    const std::uint32_t l = index(id);
    if (met[l] != std::uint64_t{t.step} + 1) uses[l] = 0;
    met[l] = std::uint64_t{t.step} + 1;
    if (++uses[l] > topology.slots(id)) is_free = false;
  });
  return is_free;
}

}  // namespace

ScheduleReport make_report(const Schedule& schedule, const Topology& topology, const Bounds& bounds,
                           const Certificate& certificate, std::uint64_t bytes,
                           const CostModel& cost) {
  ScheduleReport report;
  report.ranks = schedule.ranks;
  report.chunks = static_cast<std::uint32_t>(schedule.chunks.size());
  report.transfers = schedule.transfers.size();
  report.total_steps = schedule.num_steps();
  report.depth = depth_of(schedule);
  report.mean_hops = mean_hops(schedule);
  report.contention_free = is_contention_free(schedule, topology);
  if (schedule.ranks > 0) {
    report.step_fraction = Exact(largest_chunk(schedule) / schedule.ranks).convert_to<double>();
  }
  const bool counts_hops = single_hops(schedule, topology);
  report.bound_total_steps =
      std::max(least_steps(certificate.bound, schedule), counts_hops ? certificate.hops : 0);
  report.steps = report.total_steps;
  report.bound_steps = report.bound_total_steps;
  const std::uint32_t gathering = span_of(schedule, Op::Copy);
  if (schedule.collective == Collective::AllReduce && (gathering > 0 || schedule.ranks == 1)) {
    report.steps = gathering;
    report.bound_steps = std::max(least_steps(to_exact(bounds.all_gather), schedule),
                                  counts_hops ? gathering_hops(schedule, topology, bounds) : 0);
  }
  if (report.bound_total_steps > 0) {
    report.bound_ratio =
        static_cast<double>(report.total_steps) / static_cast<double>(report.bound_total_steps);
  }
  report.bytes = bytes;
  report.predicted_seconds = predict_time(schedule, topology, bytes, cost).seconds();
  report.bound = certificate.bound;
  report.load = load_of(schedule, topology);
  const auto seconds = [&](const Exact& shard_times) {
    return seconds_of(shard_times, topology, bytes);
  };
  report.bound_seconds = seconds(certificate.bound);
  report.two_phase_bound_seconds = seconds(
      schedule.collective == Collective::AllReduce ? to_exact(bounds.all_reduce()) : report.bound);
  return report;
}

double seconds_of(const Exact& shard_times, const Topology& topology, std::uint64_t bytes) {
  if (topology.num_links() == 0) return 0;
  return shard_times.convert_to<double>() * static_cast<double>(bytes) /
         static_cast<double>(topology.num_ranks()) /
         static_cast<double>(topology.unit_bandwidth().bytes_per_second);
}

}  // namespace multitree
