// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bounds and reports of networks whose ranks are all alike, in the words of `bounds` and
/// `schedule`.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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

int print_report(const LoadedNetwork& network, const SymmetricSchedule& schedule,
                 const std::string& algorithm, std::uint64_t bytes, Time overhead, bool json,
                 double generation_seconds) {
  const AlikeRanks& ranks = schedule.ranks();
  const AlikeBound bound = bound_of(ranks, schedule.collective());
  const std::uint64_t chunks = std::uint64_t{ranks.graph.size()} * schedule.chunks();
  const std::uint32_t phases = schedule.collective() == Collective::AllReduce ? 2 : 1;
  const std::uint32_t steps = schedule.tree().steps, least_steps = schedule.tree().least_steps;
  const double ratio = least_steps == 0 ? 1 : static_cast<double>(steps) / least_steps;
  const double predicted = predict_time(schedule, bytes, overhead).seconds();
  const double least = least_time(ranks, bound, bytes, overhead).seconds();
  if (json) {
    print_json(
        {{"topology", network.name},
         {"algorithm", algorithm},
         {"collective", to_string(schedule.collective())},
         {"ranks", ranks.graph.size()},
         {"alike", true},
         {"chunks", chunks},
         {"transfers", chunks * (ranks.graph.size() - 1) * phases},
         {"steps", steps},
         {"bound_steps", least_steps},
         {"total_steps", schedule.num_steps()},
         {"bound_total_steps", schedule.bound_steps()},
         {"bound_ratio", ratio},
         {"bound_model", kModel},
         {"bound_shards", to_text(bound.shards)},
         {"bound_is_optimum", true},
         {"load_shards", to_text(schedule.load())},
         {"load_is_optimal", schedule.load() == bound.shards},
         {"depth", schedule.tree().depth * phases},
         {"mean_hops", schedule.collective() == Collective::AllGather ? 0 : depth_mean(schedule)},
         {"contention_free", true},
         {"verified", true},
         {"bytes", bytes},
         {"predicted_seconds", predicted},
         {"bound_seconds", seconds_of(bound.shards, ranks, bytes)},
         {"least_seconds", least},
         {"generation_seconds", generation_seconds}});
    return kOk;
  }
  print(fmt::format("# {} on {}, {} ranks, {}; one rank stands for all; verified, contention-free "
                    "in every step\n",
                    to_string(schedule.collective()), network.name, ranks.graph.size(),
                    format_bytes(bytes)) +
        format_table({{"algorithm", "steps", "bound", "total", "ratio", "chunks", "depth",
                       "predicted", "least", "over least", "generated"},
                      {algorithm, fmt::format("{}", steps), fmt::format("{}", least_steps),
                       fmt::format("{}", schedule.num_steps()), fmt::format("{:.3f}", ratio),
                       fmt::format("{}", chunks), fmt::format("{}", schedule.tree().depth * phases),
                       microseconds(predicted), microseconds(least),
                       least > 0 ? fmt::format("{:.3f}", predicted / least) : "-",
                       fmt::format("{:.3f}s", generation_seconds)}}));
  return kOk;
}

}  // namespace multitree::tools
