// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rows of policies.
#include "tools/train/run/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/train/setting.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double part_lost(const runtime::LossCount& losses) {
  return static_cast<double>(losses.lost) /
         static_cast<double>(std::max<std::uint64_t>(losses.contributions, 1));
}

}  // namespace

ordered_json json_of(const ResultRow& row) {
  const double took = median(row.outcome->seconds);
  ordered_json json = {{"policy", row.plan->policy},
                       {"model", row.plan->model.name},
                       {"algorithm", row.plan->algorithm},
                       {"expected_seconds", row.plan->seconds},
                       {"bound_seconds", row.bound},
                       {"median_seconds", took},
                       {"over_expected", took / row.plan->seconds},
                       {"seconds", row.outcome->seconds}};
  if (row.bound_holds) json["over_bound"] = took / row.bound;
  if (row.outcome->losses.contributions > 0) {
    json["lost"] = part_lost(row.outcome->losses);
    json["least_count"] = row.outcome->losses.least_count;
    json["first_rank_seconds"] = row.outcome->own_seconds;
  }
  if (row.outcome->grades.empty()) return json;
  for (const Pupil::Grade& grade : row.outcome->grades) {
    json["loss"].push_back(grade.loss);
    json["accuracy"].push_back(grade.accuracy);
  }
  json["parameters"] = fmt::format("{:016x}", row.outcome->digest);
  return json;
}

void print_rows(const std::vector<ResultRow>& rows, const RunWords& run, const Topology& topology) {
  const training::Model& model = rows.front().plan->model;
  print(fmt::format(
      "# {} on {}, {}: {} ranks, {} iterations after {}, {}\n# {} layers, {} of "
      "gradients, computing {}; at least {}\n",
      model.name, topology.name(), run.host ? "memory of one host" : "messages",
      topology.num_ranks(), run.iterations, run.warmup,
      run.learns ? fmt::format("{} samples a rank", run.batch) : "computing is sleeping",
      model.layers.size(), format_bytes(model.bytes()),
      milliseconds(model.forward() + model.backward()), milliseconds(rows.front().bound)));
  std::vector<std::vector<std::string>> table = {
      {"policy", "expected", "median", "least", "most", "over expected", "over bound"}};
  if (run.learns) table[0].insert(table[0].end(), {"loss", "to", "right", "parameters"});
  if (run.loses) table[0].insert(table[0].end(), {"lost", "least count"});
  for (const ResultRow& row : rows) {
    const double took = median(row.outcome->seconds);
    const auto [least, most] = std::ranges::minmax(row.outcome->seconds);
    table.push_back({row.plan->policy, milliseconds(row.plan->seconds), milliseconds(took),
                     milliseconds(least), milliseconds(most),
                     fmt::format("{:.3f}", took / row.plan->seconds),
                     row.bound_holds ? fmt::format("{:.3f}", took / row.bound) : "-"});
    std::vector<std::string>& words = table.back();
    if (run.learns) {
      const Pupil::Grade& last = row.outcome->grades.back();
      words.insert(words.end(),
                   {fmt::format("{:.4f}", row.outcome->grades.front().loss),
                    fmt::format("{:.4f}", last.loss), fmt::format("{:.1f}%", 100 * last.accuracy),
                    fmt::format("{:016x}", row.outcome->digest)});
    }
    if (run.loses) {
      words.insert(words.end(), {fmt::format("{:.2f}%", 100 * part_lost(row.outcome->losses)),
                                 std::to_string(row.outcome->losses.least_count)});
    }
  }
  print(format_table(table));
}

}  // namespace multitree::tools
