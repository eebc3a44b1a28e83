// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Line charts.
#include "report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/figure_internal.hpp"
#include "report/gnuplot_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::report {
namespace {

constexpr std::size_t kMarked = 25;  // markers on one line, at most about

/// gnuplot's numbers: filled disc, square, triangle, diamond, triangle, pentagon; then hollow ones.
int marker(std::size_t series) {
  static constexpr std::array kMarkers = {7, 5, 9, 13, 11, 15, 6, 4, 8, 12, 10};
  return kMarkers[series % kMarkers.size()];
}

void check(const Plot& plot) {
  check_text("title", plot.title);
  check_text("x label", plot.x_label);
  check_text("y label", plot.y_label);
  for (const Series& series : plot.series) {
    check_text("label of a series", series.label);
    for (const auto& [x, y] : series.points) {
      check_number(fmt::format("{}: x", series.label), x, plot.log_x);
      check_number(fmt::format("{}: y", series.label), y, plot.log_y);
      if (plot.bytes_x && (x < 0 || x >= 0x1p62)) {
        throw Error(ErrorCode::InvalidArgument,
                    fmt::format("figure: {}: x: expected bytes, got {}", series.label, x));
      }
    }
  }
  if (!plot.limit) return;
  check_text("label of the limit", plot.limit->first);
  check_number(plot.limit->first, plot.limit->second, plot.log_y);
}

Figure figure_of(const Plot& plot) {
  Figure figure{.title = plot.title, .x_label = plot.x_label, .y_label = plot.y_label};
  std::vector<double> xs, ys;
  if (plot.limit) {
    ys.push_back(plot.limit->second);
    figure.legend.push_back(plot.limit->first);
  }
  for (const Series& series : plot.series) {
    figure.legend.push_back(series.label);
    for (const auto& [x, y] : series.points) {
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  figure.x = argument_axis(xs, plot.log_x, plot.bytes_x);
  figure.y = value_axis(ys, plot.log_y);
  return figure;
}

std::string data_block(std::size_t index, const Series& series) {
  std::string text = fmt::format("$data{} << END\n", index);
  for (const auto& [x, y] : series.points) text += fmt::format("{:.17g} {:.17g}\n", x, y);
  return text + "END\n";
}

std::string curve(std::size_t index, const Series& series) {
  const std::string source =
      series.points.empty() ? "NaN" : fmt::format("$data{} using 1:2", index);
  const std::size_t every = 1 + series.points.size() / kMarked;
  return fmt::format("{} with linespoints lw 2 dt {} pt {} ps 0.75 pi {} lc rgb '{}' title {}",
                     source, index / kColours % 2 == 0 ? "1" : "(4,3)", marker(index), every,
                     colour(index), gnuplot_quote(series.label));
}

}  // namespace

std::string to_svg(const Plot& plot) {
  check(plot);
  const Figure figure = figure_of(plot);
  std::string data;
  std::vector<std::string> curves;
  if (plot.limit) curves.push_back(limit_curve(*plot.limit));
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    if (!plot.series[i].points.empty()) data += data_block(i, plot.series[i]);
    curves.push_back(curve(i, plot.series[i]));
  }
  return draw(figure, data, curves);
}

}  // namespace multitree::report
