// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The turns of trees, and from their order the steps.
#include "algorithms/packing/steps/stream_trees.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "algorithms/packing/steps/tree_plan_internal.hpp"

namespace multitree {
namespace {

/// Fewer segments than these are not delayed by whole turns: that would take too long to fill.
constexpr std::uint32_t kFewSegments = 8;

/// Seconds that a chunk keeps a link busy.
double seconds_on(const Chunk& chunk, double whole, std::uint64_t bytes, const Link& link) {
  return static_cast<double>(chunk.weight) / whole * static_cast<double>(bytes) /
         static_cast<double>(link.bandwidth.bytes_per_second);
}

/// Weight of the whole buffer, where chunks of sharded collectives are parts of equal shards.
double weight_of_all(const PackingPlan& plan) {
  double all = 0;
  for (const Chunk& chunk : plan.chunking.chunks) all += static_cast<double>(chunk.weight);
  return all;
}

/// By arc: seconds from the start of the first reduction, or copy, in an empty network in which
/// each waits for the next multiple of `turn`; 0: for nothing.
std::vector<double> starts_of(const TreePlan& tree, Rank root, std::uint32_t ranks,
                              const std::vector<double>& takes, double turn) {
  const auto in_turn = [turn](double time) {
    return turn > 0 ? std::ceil(time / turn - 1e-9) * turn : time;
  };
  std::vector<double> starts(tree.arcs.size(), 0), summed(ranks, 0), known(ranks, 0);
  for (std::uint32_t a = 0; a < tree.reductions; ++a) {
    for (const TreeArc& arc : tree.arcs[a].arcs) {
      starts[a] = std::max(starts[a], in_turn(summed[index(arc.src)]));
    }
    double& there = summed[index(tree.arcs[a].arcs.front().dst)];
    there = std::max(there, starts[a] + takes[a]);
  }
  known[index(root)] = summed[index(root)];
  for (std::uint32_t a = tree.reductions; a < tree.arcs.size(); ++a) {
    starts[a] = in_turn(known[index(tree.arcs[a].arcs.front().src)]);
    for (const TreeArc& arc : tree.arcs[a].arcs) known[index(arc.dst)] = starts[a] + takes[a];
  }
  return starts;
}

/// Seconds that the busiest link is busy.
double busiest_seconds(const PackingPlan& plan, double all, std::uint64_t bytes) {
  std::vector<double> busy(plan.topology.num_links(), 0);
  for (const Chunk& chunk : plan.chunking.chunks) {
    for (const ArcGroup& arc : plan.trees[chunk.tree].arcs) {
      for (const LinkId link : arc.links) {
        busy[index(link)] += seconds_on(chunk, all, bytes, plan.topology.link(link));
      }
    }
  }
  return busy.empty() ? 0 : *std::ranges::max_element(busy);
}

/// When an arc of a chunk has its turn, as a share of the whole time.
struct Turned {
  double share = 0;
  Turn turn;
};

}  // namespace

Schedule stream_trees(const TreePacking& packing, const Topology& topology, std::uint32_t segments,
                      std::uint64_t bytes) {
  const PackingPlan plan = plan_packing(packing, topology, {.segments = segments});
  const double all = weight_of_all(plan), busiest = busiest_seconds(plan, all, bytes);
  const auto trees = static_cast<double>(plan.trees.size());
  std::vector<Turned> turned;
  for (std::uint32_t t = 0; t < plan.trees.size(); ++t) {
    const TreePlan& tree = plan.trees[t];
    const std::uint32_t first = plan.chunking.first[t], count = plan.chunking.first[t + 1] - first;
    std::vector<double> takes;
    for (const ArcGroup& arc : tree.arcs) {
      double slowest = 0, latency = 0;
      for (const LinkId id : arc.links) {
        const Link& link = topology.link(id);
        slowest = std::max(slowest, seconds_on(plan.chunking.chunks[first], all, bytes, link));
      }
      for (const TreeArc& one : arc.arcs) {
        double way = 0;
        for (const LinkId id : packing.route(one)) way += topology.link(id).latency.seconds();
        latency = std::max(latency, way);
      }
      takes.push_back(slowest + latency);
    }
    const double turn = busiest / count;
    const std::vector<double> starts = starts_of(tree, packing.trees[t].root, packing.ranks, takes,
                                                 count >= kFewSegments ? turn : 0);
    for (std::uint32_t a = 0; a < tree.arcs.size(); ++a) {
      double late = turn > 0 ? starts[a] / turn : 0;
      if (count >= kFewSegments) late = std::round(late);
      for (std::uint32_t s = 0; s < count; ++s) {
        const double share = (s + late + (t + 0.5) / trees) / count;
        turned.push_back({share, {first + s, a}});
      }
    }
  }
  // Arcs of a chunk are listed behind what they wait for.
  std::ranges::sort(turned, {}, [](const Turned& one) {
    return std::tuple(one.share, one.turn.chunk, one.turn.arc);
  });
  std::vector<Turn> turns;
  turns.reserve(turned.size());
  for (const Turned& one : turned) turns.push_back(one.turn);
  return number_steps(plan, turns);
}

}  // namespace multitree
