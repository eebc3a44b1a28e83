// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Line charts.
#include "report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <set>
#include <string_view>

#include "report/figure_internal.hpp"
#include "report/gnuplot_internal.hpp"
#include "report/styles.hpp"
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

/// As gnuplot has them, by Dashes.
constexpr std::array<std::string_view, 3> kDashes{"1", "(8,4)", "(2,3)"};
constexpr std::string_view kBesides = "(4,3)";  ///< of what is no algorithm

/// Colour and dashes of a line.
struct Look {
  std::string_view colour, dashes;
  auto operator<=>(const Look&) const = default;
};

/// Algorithms have theirs; what else is drawn gets what is left.
std::vector<Look> looks_of(const std::vector<Series>& series) {
  std::vector<Look> looks(series.size());
  std::set<Look> taken;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Style* const style = style_of(series[i].label);
    if (style == nullptr) continue;
    looks[i] = {style->colour, kDashes.at(static_cast<std::size_t>(style->dashes))};
    taken.insert(looks[i]);
  }
  std::size_t next = 0;
  for (Look& look : looks) {
    while (look.colour.empty()) {
      const Look free{colour(next), next / kColours % 2 == 0 ? kDashes[0] : kBesides};
      ++next;
      if (taken.contains(free) && next <= 2 * kColours) continue;
      look = free;
    }
  }
  return looks;
}

std::string curve(std::size_t index, const Series& series, const Look& look) {
  const std::string source =
      series.points.empty() ? "NaN" : fmt::format("$data{} using 1:2", index);
  if (!series.joined) {
    return fmt::format("{} with points pt {} ps 0.5 lc rgb '{}' title {}", source, marker(index),
                       look.colour, gnuplot_quote(series.label));
  }
  const std::size_t every = 1 + series.points.size() / kMarked;
  return fmt::format("{} with linespoints lw 2 dt {} pt {} ps 0.75 pi {} lc rgb '{}' title {}",
                     source, look.dashes, marker(index), every, look.colour,
                     gnuplot_quote(series.label));
}

}  // namespace

Image image_of(std::string_view path) {
  return path.ends_with(".png") || path.ends_with(".PNG") ? Image::Png : Image::Svg;
}

void check_image_name(std::string_view flag, std::string_view path) {
  const bool vectors = path == "-" || path.ends_with(".svg") || path.ends_with(".SVG");
  if (vectors || image_of(path) == Image::Png) return;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: expected a name that ends with .svg or .png, got '{}'", flag, path));
}

std::string to_svg(const Plot& plot) { return to_image(plot, Image::Svg); }

std::string to_image(const Plot& plot, Image image) {
  check(plot);
  const Figure figure = figure_of(plot);
  std::string data;
  std::vector<std::string> curves;
  if (plot.limit) curves.push_back(limit_curve(*plot.limit));
  const std::vector<Look> looks = looks_of(plot.series);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    if (!plot.series[i].points.empty()) data += data_block(i, plot.series[i]);
    curves.push_back(curve(i, plot.series[i], looks[i]));
  }
  return draw(figure, data, curves, image);
}

}  // namespace multitree::report
