// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Grouped bar charts.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/figure_internal.hpp"
#include "report/gnuplot_internal.hpp"
#include "report/plot.hpp"
#include "topologies/error.hpp"

namespace multitree::report {
namespace {

constexpr double kFilled = 0.78;  // of a group's width: its bars
constexpr double kLeanest = 14;   // pixels, a bar with the space beside it
constexpr double kNarrowest = 500, kWidest = 1200;

/// The colours of lines, then the same mixed with white, which a dash cannot tell apart here.
std::string_view fill(std::size_t series) {
  static constexpr std::array<std::string_view, kColours> kLight = {
      "#8cc0dc", "#ecb78c", "#8cd3c0", "#e8c3d7", "#f4d48c", "#b3ddf5", "#8c8c8c"};
  return series / kColours % 2 == 0 ? colour(series) : kLight[series % kColours];
}

void check(const Bars& bars) {
  check_text("title", bars.title);
  check_text("y label", bars.y_label);
  for (const std::string& group : bars.groups) check_text("name of a group", group);
  for (const BarSeries& series : bars.series) {
    check_text("label of a series", series.label);
    if (series.values.size() != bars.groups.size()) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("figure: {}: expected a value for each of {} groups, got {}",
                              series.label, bars.groups.size(), series.values.size()));
    }
    for (const double value : series.values) check_number(series.label, value, false);
  }
  if (!bars.limit) return;
  check_text("label of the limit", bars.limit->first);
  check_number(bars.limit->first, bars.limit->second, false);
}

Figure figure_of(const Bars& bars) {
  Figure figure{.title = bars.title, .y_label = bars.y_label, .named_x = true};
  std::vector<double> values;
  for (const BarSeries& series : bars.series) {
    figure.legend.push_back(series.label);
    values.insert(values.end(), series.values.begin(), series.values.end());
  }
  if (bars.limit) {
    values.push_back(bars.limit->second);
    figure.legend.push_back(bars.limit->first);
  }
  const auto groups = static_cast<double>(bars.groups.size());
  figure.x.range = fmt::format("[0:{}]", std::max(1.0, groups));
  for (const std::string& group : bars.groups) {
    figure.x.ticks.push_back({static_cast<double>(figure.x.ticks.size()) + 0.5, group});
  }
  figure.y = value_axis(values, false);
  const double lean = kLeanest / kFilled * groups * static_cast<double>(bars.series.size());
  figure.plot_width = std::clamp(std::ceil(lean), kNarrowest, kWidest);
  return figure;
}

/// Lines "left right top" of the bars of one series.
std::string data_block(const Bars& bars, std::size_t index) {
  const double width = kFilled / static_cast<double>(bars.series.size());
  std::string text = fmt::format("$data{} << END\n", index);
  for (std::size_t group = 0; group < bars.groups.size(); ++group) {
    const double left =
        static_cast<double>(group) + (1 - kFilled) / 2 + width * static_cast<double>(index);
    text += fmt::format("{:.6f} {:.6f} {:.17g}\n", left + 0.04 * width, left + 0.96 * width,
                        bars.series[index].values[group]);
  }
  return text + "END\n";
}

}  // namespace

std::string to_svg(const Bars& bars) {
  check(bars);
  const Figure figure = figure_of(bars);
  std::string data;
  std::vector<std::string> curves;
  for (std::size_t i = 0; i < bars.series.size(); ++i) {
    const bool empty = bars.groups.empty();
    if (!empty) data += data_block(bars, i);
    // x, y and the edges of a box.
    const std::string source =
        empty ? "NaN" : fmt::format("$data{} using (($1+$2)/2):(0):1:2:(0):3", i);
    curves.push_back(fmt::format("{} with boxxyerror fs solid 1 lc rgb '{}' title {}", source,
                                 fill(i), gnuplot_quote(bars.series[i].label)));
  }
  if (bars.limit) curves.push_back(limit_curve(*bars.limit));  // in front
  return draw(figure, data, curves);
}

}  // namespace multitree::report
