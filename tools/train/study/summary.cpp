// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What curves come to beside that of the first technique.
#include "tools/train/study/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tools/train/run/worker.hpp"
#include "tools/train/setting.hpp"
#include "training/network_costs.hpp"
#include "training/policies.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;
using training::Curve;

/// The last tenth of a curve.
double last_loss(const Curve& curve) {
  const std::size_t count = std::max<std::size_t>(1, curve.losses.size() / 10);
  double sum = 0;
  for (std::size_t i = curve.losses.size() - count; i < curve.losses.size(); ++i) {
    sum += curve.losses[i];
  }
  return sum / static_cast<double>(count);
}

double bytes_of(const Curve& curve, std::uint32_t ranks) {
  return static_cast<double>(curve.sent.reduced) + static_cast<double>(curve.sent.gathered) * ranks;
}

/// Passes take parts of `seconds` as layers have parameters, backward ones twice the forward ones.
training::Model model_at_pace(const training::Learner& learner, double seconds) {
  training::Model model = untimed_model(learner);
  const auto all = static_cast<double>(model.bytes());
  for (training::Layer& layer : model.layers) {
    layer.forward = seconds * static_cast<double>(layer.bytes()) / all / 3;
    layer.backward = 2 * layer.forward;
  }
  return model;
}

std::unique_ptr<training::Learner> learner_of(const StudyPlan& plan, const std::string& name) {
  return training::make_learner(name, study_data(plan, name, 1, training::Shards::Mixed)->shape(),
                                1);
}

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.2f}", value) : "never";
}

bool is_at(const Place& place, const StudyNetwork& network) {
  return place.ranks == network.topology.num_ranks();
}

TitledTable loss_table(const StudyPlan& plan, const std::vector<Place>& places) {
  TitledTable table{
      fmt::format("loss after {} iterations over that of {}, mean and standard deviation of {} "
                  "seeds; bytes: of the first learner; other synchronous policies have the same",
                  plan.trial.iterations, plan.techniques[0].name(), plan.seeds),
      {{"technique", "bytes"}}};
  std::vector<std::vector<Comparison>> all;
  for (const Place& place : places) {
    all.push_back(comparisons(plan, place));
    table.rows[0].push_back(fmt::format("{} {} {}",
                                        place.learner.substr(0, place.learner.find('?')),
                                        place.ranks, to_string(place.shards)));
  }
  for (std::size_t t = 0; t < plan.techniques.size(); ++t) {
    if (t != 0 && plan.techniques[t].is_synchronous()) continue;  // the first one's curves
    table.rows.push_back({plan.techniques[t].name(), fmt::format("{:.4f}", all.front()[t].bytes)});
    for (const auto& place : all) {
      table.rows.back().push_back(
          std::isfinite(place[t].loss)
              ? fmt::format("{:.3f} ± {:.3f}", place[t].loss, place[t].deviation)
              : "diverges");
    }
  }
  return table;
}

TitledTable time_table(const StudyPlan& plan, const std::vector<Place>& places,
                       const StudyNetwork& network) {
  TitledTable table{
      fmt::format("{}: milliseconds of an iteration, and how many times sooner than {} the loss is "
                  "reached at which that has gained {:.4g} %",
                  network.topology.name(), plan.techniques[0].name(), 100 * plan.gained),
      {{"technique"}}};
  for (const Technique& technique : plan.techniques) table.rows.push_back({technique.name()});
  std::string learner;
  for (const Place& place : places) {
    if (!is_at(place, network)) continue;
    const std::vector<double> seconds = iteration_seconds(plan, place, network);
    const std::vector<Comparison> compared = comparisons(plan, place);
    const bool is_new = learner != place.learner;
    learner = place.learner;
    const std::string name = learner.substr(0, learner.find('?'));
    if (is_new) table.rows[0].push_back(name + ", ms");
    table.rows[0].push_back(fmt::format("{} {}", name, to_string(place.shards)));
    for (std::size_t t = 0; t < seconds.size(); ++t) {
      if (is_new) table.rows[t + 1].push_back(fmt::format("{:.2f}", seconds[t] * 1e3));
      const double sooner = seconds[0] / seconds[t] / compared[t].iterations;
      table.rows[t + 1].push_back(sooner > 0 ? number(sooner) : "never");
    }
  }
  return table;
}

}  // namespace

std::vector<Comparison> comparisons(const StudyPlan& plan, const Place& place) {
  std::vector<Comparison> all;
  const double step = plan.trial.iterations / static_cast<double>(plan.trial.points);
  const Curves& first = place.techniques[0];
  for (const Curves& curves : place.techniques) {
    Comparison& one = all.emplace_back();
    const auto seeds = static_cast<double>(curves.size());
    double squares = 0;
    for (std::size_t s = 0; s < curves.size(); ++s) {
      const double end = last_loss(first[s]), ratio = last_loss(curves[s]) / end;
      one.loss += ratio / seeds;
      squares += ratio * ratio / seeds;
      const double goal = first[s].losses[0] + plan.gained * (end - first[s].losses[0]);
      one.iterations +=
          iterations_to(curves[s], goal, step) / iterations_to(first[s], goal, step) / seeds;
    }
    one.bytes = bytes_of(curves[0], place.ranks) / bytes_of(first[0], place.ranks);
    if (curves.size() > 1) {
      one.deviation = std::sqrt(std::max(0.0, squares - one.loss * one.loss) * seeds / (seeds - 1));
    }
  }
  return all;
}

std::vector<double> iteration_seconds(const StudyPlan& plan, const Place& place,
                                      const StudyNetwork& network) {
  const auto learner = learner_of(plan, place.learner);
  const training::Model model = model_at_pace(*learner, plan.pace);
  std::vector<double> seconds;
  for (std::size_t t = 0; t < plan.techniques.size(); ++t) {
    const Technique& technique = plan.techniques[t];
    if (technique.compression == "none") {
      seconds.push_back(training::simulate(technique.policy, model, network.costs).seconds);
      continue;
    }
    const training::Sent& sent = place.techniques[t][0].sent;
    const auto take = [&](Collective collective, std::uint64_t bytes) {
      return training::collective_seconds(
          network.topology, plan.algorithm, collective, nic::Model::Message,
          (bytes + plan.trial.iterations - 1) / plan.trial.iterations);
    };
    seconds.push_back(plan.pace + take(Collective::AllReduce, sent.reduced) +
                      take(Collective::AllGather, sent.gathered * place.ranks));
  }
  return seconds;
}

std::vector<TitledTable> tables_of(const StudyPlan& plan, const std::vector<Place>& places,
                                   const std::vector<StudyNetwork>& networks) {
  std::vector<TitledTable> tables{loss_table(plan, places)};
  for (const StudyNetwork& network : networks) {
    tables.push_back(time_table(plan, places, network));
  }
  return tables;
}

ordered_json json_of(const StudyPlan& plan, const std::vector<Place>& places,
                     const std::vector<StudyNetwork>& networks) {
  ordered_json json = {{"iterations", plan.trial.iterations},
                       {"seeds", plan.seeds},
                       {"gained", plan.gained},
                       {"compared_with", plan.techniques[0].name()},
                       {"results", ordered_json::array()}};
  for (const Place& place : places) {
    const std::vector<Comparison> compared = comparisons(plan, place);
    for (std::size_t t = 0; t < compared.size(); ++t) {
      ordered_json row = {{"learner", place.learner},
                          {"ranks", place.ranks},
                          {"shards", to_string(place.shards)},
                          {"policy", plan.techniques[t].policy},
                          {"compression", plan.techniques[t].compression},
                          {"bytes_over", compared[t].bytes},
                          {"loss_over", compared[t].loss},
                          {"loss_deviation", compared[t].deviation},
                          {"iterations_over", compared[t].iterations}};
      for (const StudyNetwork& network : networks) {
        if (!is_at(place, network)) continue;
        const std::vector<double> seconds = iteration_seconds(plan, place, network);
        row["networks"].push_back({{"network", network.topology.name()},
                                   {"seconds", seconds[t]},
                                   {"sooner", seconds[0] / seconds[t] / compared[t].iterations}});
      }
      for (const Curve& curve : place.techniques[t]) row["curves"].push_back(curve.losses);
      json["results"].push_back(std::move(row));
    }
  }
  return json;
}

std::string curves_csv(const StudyPlan& plan, const std::vector<Place>& places) {
  std::string csv = "learner,ranks,shards,technique,seed,iteration,loss\n";
  const std::uint32_t step = plan.trial.iterations / plan.trial.points;
  for (const Place& place : places) {
    for (std::size_t t = 0; t < plan.techniques.size(); ++t) {
      for (std::size_t s = 0; s < place.techniques[t].size(); ++s) {
        const std::vector<double>& losses = place.techniques[t][s].losses;
        for (std::size_t p = 0; p < losses.size(); ++p) {
          csv += fmt::format("{},{},{},{},{},{},{:.6f}\n", place.learner, place.ranks,
                             to_string(place.shards), plan.techniques[t].name(), s + 1, p * step,
                             losses[p]);
        }
      }
    }
  }
  return csv;
}

}  // namespace multitree::tools
