// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bounds and reports of networks whose ranks are all alike, in the words of `bounds` and
/// `schedule`.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/certificate/certificate.hpp"
#include "tools/large.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kModel = "store and forward, no in-network reduction or multicast";

/// How many translates of the cut prove the bound, and around how many ranks each.
std::pair<std::uint32_t, std::uint32_t> cuts_of(const AlikeRanks& ranks, const AlikeBound& bound) {
  if (ranks.graph.size() < 2) return {0, 0};
  const bool is_one = bound.collective != Collective::AllReduce;
  return {is_one ? 1 : ranks.graph.size() / bound.inside, bound.inside};
}

std::string by_text(const AlikeRanks& ranks, const AlikeBound& bound) {
  const auto [cuts, inside] = cuts_of(ranks, bound);
  return cuts == 0 ? "nothing to move" : fmt::format("cuts x ranks: {} x {}", cuts, inside);
}

std::string microseconds(double seconds) { return fmt::format("{:.1f}us", seconds * 1e6); }

double depth_mean(const SymmetricSchedule& schedule) {
  const TranslationTree& tree = schedule.tree();
  const CayleyGraph& graph = schedule.graph();
  std::vector<std::uint32_t> depth(tree.step.size(), 0);
  double sum = 0;
  for (std::uint32_t step = 0; step < tree.steps; ++step) {
    for (const SymmetricSchedule::Arc& arc : schedule.arcs_of_step(step)) {
      const std::uint32_t root = arc.tree * graph.size();
      depth[root + arc.element] = depth[root + arc.parent] + 1;
      sum += depth[root + arc.element];
    }
  }
  return sum / static_cast<double>(depth.size());
}

}  // namespace

int print_bounds(const LoadedNetwork& network, const std::vector<Collective>& collectives,
                 std::uint64_t bytes, Time overhead, bool json) {
  const AlikeRanks& ranks = *network.alike;
  std::vector<std::vector<std::string>> rows = {
      {"collective", "shard times", "time", "at least", "optimum", "proof"}};
  ordered_json bounds = ordered_json::array();
  for (const Collective collective : collectives) {
    const AlikeBound bound = bound_of(ranks, collective);
    const double seconds = seconds_of(bound.shards, ranks, bytes);
    const double least = least_time(ranks, bound, bytes, overhead).seconds();
    const auto [cuts, inside] = cuts_of(ranks, bound);
    rows.push_back({std::string(to_string(collective)), to_text(bound.shards),
                    microseconds(seconds), microseconds(least), "yes", by_text(ranks, bound)});
    bounds.push_back({{"collective", to_string(collective)},
                      {"bound_shards", to_text(bound.shards)},
                      {"is_optimum", true},
                      {"seconds", seconds},
                      {"least_seconds", least},
                      {"cuts", cuts},
                      {"ranks_of_a_cut", inside}});
  }
  if (json) {
    print_json({{"topology", network.name},
                {"ranks", ranks.graph.size()},
                {"unit_bandwidth", to_string(ranks.links.unit_bandwidth())},
                {"model", kModel},
                {"bytes", bytes},
                {"alike", true},
                {"bounds", bounds}});
    return kOk;
  }
  print(fmt::format("# {}: {} ranks, all alike; times for {}\n# {}\n", network.name,
                    ranks.graph.size(), format_bytes(bytes), kModel) +
        format_table(rows));
  return kOk;
}

namespace {

/// What a report has of either kind of schedule.
struct Facts {
  std::uint64_t chunks = 0, steps = 0, least_steps = 0, total = 0, least_total = 0, depth = 0;
  std::optional<double> mean_hops;
};

Facts facts_of(AlikeCandidate& candidate, Collective collective, const AlikeBound& bound) {
  const std::uint32_t phases = collective == Collective::AllReduce ? 2 : 1;
  Facts facts;
  if (const SymmetricSchedule* const trees = candidate.trees()) {
    const TranslationTree& tree = trees->tree();
    facts = {.chunks = std::uint64_t{trees->graph().size()} * trees->chunks(),
             .steps = tree.steps,
             .least_steps = tree.least_steps,
             .total = trees->num_steps(),
             .least_total = trees->bound_steps(),
             .depth = std::uint64_t{tree.depth} * phases,
             .mean_hops = collective == Collective::AllGather ? 0 : depth_mean(*trees)};
  } else if (const BoxedSchedule* const boxed = candidate.boxed()) {
    facts.chunks = boxed->chunks();
    facts.steps = facts.total = boxed->num_steps();
    // A step moves a chunk over the slowest link.
    const Rational least =
        bound.shards * std::int64_t{boxed->chunks()} / boxed->ranks().graph.size();
    facts.least_steps = facts.least_total = static_cast<std::uint64_t>(
        (least.numerator() + least.denominator() - 1) / least.denominator());
    facts.depth = boxed->depth();
  } else {
    facts.chunks = candidate.transfers() / std::max<std::uint64_t>(candidate.steps(), 1);
    facts.steps = facts.total = facts.depth = candidate.steps();
    facts.least_steps = facts.least_total = candidate.steps();
  }
  return facts;
}

}  // namespace

int print_report(const LoadedNetwork& network, Collective collective, AlikeCandidate& candidate,
                 std::uint64_t bytes, Time overhead, bool json, double generation_seconds) {
  const AlikeRanks& ranks = *network.alike;
  const AlikeBound bound = bound_of(ranks, collective);
  const Facts facts = facts_of(candidate, collective, bound);
  const double ratio = facts.least_steps == 0 ? 1
                                              : static_cast<double>(facts.steps) /
                                                    static_cast<double>(facts.least_steps);
  const double predicted = candidate.time(bytes).seconds();
  const double least = least_time(ranks, bound, bytes, overhead).seconds();
  if (json) {
    ordered_json report = {{"topology", network.name},
                           {"algorithm", candidate.spec()},
                           {"collective", to_string(collective)},
                           {"ranks", ranks.graph.size()},
                           {"alike", true},
                           {"chunks", facts.chunks},
                           {"transfers", candidate.transfers()},
                           {"steps", facts.steps},
                           {"bound_steps", facts.least_steps},
                           {"total_steps", facts.total},
                           {"bound_total_steps", facts.least_total},
                           {"bound_ratio", ratio},
                           {"bound_model", kModel},
                           {"bound_shards", to_text(bound.shards)},
                           {"bound_is_optimum", true},
                           {"load_shards", to_text(candidate.load())},
                           {"load_is_optimal", candidate.load() == bound.shards},
                           {"depth", facts.depth}};
    if (facts.mean_hops) report["mean_hops"] = *facts.mean_hops;
    report.update({{"contention_free", true},
                   {"verified", true},
                   {"bytes", bytes},
                   {"predicted_seconds", predicted},
                   {"bound_seconds", seconds_of(bound.shards, ranks, bytes)},
                   {"least_seconds", least},
                   {"generation_seconds", generation_seconds}});
    print_json(report);
    return kOk;
  }
  print(fmt::format("# {} on {}, {} ranks, {}; one rank stands for all; verified, contention-free "
                    "in every step\n",
                    to_string(collective), network.name, ranks.graph.size(), format_bytes(bytes)) +
        format_table({{"algorithm", "steps", "bound", "total", "ratio", "chunks", "depth",
                       "predicted", "least", "over least", "generated"},
                      {candidate.spec(), fmt::format("{}", facts.steps),
                       fmt::format("{}", facts.least_steps), fmt::format("{}", facts.total),
                       fmt::format("{:.3f}", ratio), fmt::format("{}", facts.chunks),
                       fmt::format("{}", facts.depth), microseconds(predicted), microseconds(least),
                       least > 0 ? fmt::format("{:.3f}", predicted / least) : "-",
                       fmt::format("{:.3f}s", generation_seconds)}}));
  return kOk;
}

Bounds bounds_of_alike(const LoadedNetwork& network) {
  const AlikeRanks& ranks = *network.alike;
  const AlikeBound bound = bound_of(ranks, Collective::AllGather);
  Bounds bounds;
  bounds.ranks = ranks.graph.size();
  bounds.unit_bandwidth = ranks.links.unit_bandwidth();
  bounds.all_gather = bounds.reduce_scatter = bound.shards;
  bounds.diameter = network.topology ? farthest_hops(*network.topology, Rank{0})
                                     : std::ranges::max(cayley_distances(ranks.graph));
  for (std::uint32_t r = bound.inside; r < bounds.ranks; ++r) bounds.bottleneck.push_back(Rank{r});
  return bounds;
}

}  // namespace multitree::tools
