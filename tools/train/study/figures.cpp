// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Curves drawn: policies and compressors apart, as more than seven colours cannot be told apart.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/plot.hpp"
#include "tools/train/study/summary.hpp"

namespace multitree::tools {
namespace {

using Points = std::vector<std::pair<double, double>>;

/// Means over seeds, against iterations. Ends where they are no numbers any more.
Points mean_of(const Curves& curves, double step) {
  Points points;
  for (std::size_t p = 0; p < curves[0].losses.size(); ++p) {
    double sum = 0;
    for (const training::Curve& curve : curves) sum += curve.losses[p];
    const double mean = sum / static_cast<double>(curves.size());
    if (!(mean < 1e6)) break;
    points.emplace_back(step * static_cast<double>(p), mean);
  }
  return points;
}

/// Draws some of the techniques of a place; the first one always.
std::string draw(const StudyPlan& plan, const Place& place, bool compressors,
                 const std::vector<double>& seconds, const std::string& where) {
  report::Plot plot;
  plot.title =
      fmt::format("{}, {} ranks, {}{}", place.learner, place.ranks, to_string(place.shards), where);
  plot.x_label = seconds.empty() ? "iterations" : "seconds";
  plot.y_label = "loss";
  const double step = plan.trial.iterations / static_cast<double>(plan.trial.points);
  double longest = 0;  // as the first technique takes
  for (std::size_t t = 0; t < plan.techniques.size(); ++t) {
    const Technique& technique = plan.techniques[t];
    if (t != 0 && (technique.compression != "none") != compressors) continue;
    // Other synchronous policies lie on the first one's curve unless there is time.
    if (t != 0 && seconds.empty() && technique.is_synchronous()) continue;
    Points points = mean_of(place.techniques[t], step);
    if (!seconds.empty()) {
      for (auto& point : points) point.first *= seconds[t];
      if (t == 0) longest = points.back().first;
      std::erase_if(points, [&](const auto& point) { return point.first > longest; });
    }
    plot.series.push_back({technique.name(), std::move(points)});
  }
  return report::to_svg(plot);
}

std::string file_name(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char one) { return std::isalnum(one) == 0 && one != '-'; }, '-');
  return text + ".svg";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> figures_of(
    const StudyPlan& plan, const std::vector<Place>& places,
    const std::vector<StudyNetwork>& networks) {
  std::vector<std::pair<std::string, std::string>> figures;
  for (const Place& place : places) {
    const std::string name =
        fmt::format("{}-{}-{}", place.learner.substr(0, place.learner.find('?')), place.ranks,
                    to_string(place.shards));
    for (const bool compressors : {false, true}) {
      const auto has = [&](const Technique& one) {
        return (one.compression != "none") == compressors;
      };
      if (std::ranges::count_if(plan.techniques, has) < (compressors ? 1 : 2)) continue;
      const std::string what = name + (compressors ? "-compressors" : "-policies");
      figures.emplace_back(file_name(what), draw(plan, place, compressors, {}, ""));
      for (const StudyNetwork& network : networks) {
        if (network.topology.num_ranks() != place.ranks) continue;
        figures.emplace_back(file_name(what + "-" + network.topology.name()),
                             draw(plan, place, compressors, iteration_seconds(plan, place, network),
                                  ", " + network.topology.name()));
      }
    }
  }
  return figures;
}

}  // namespace multitree::tools
