// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The style of all figures, as a script for gnuplot.
#include "report/figure_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/gnuplot_internal.hpp"
#include "report/svg_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/utf8_internal.hpp"

namespace multitree::report {
namespace {

// Pixels. The reader's font is unknown, so the widths of texts are estimates on the wide side.
constexpr double kFont = 14;
constexpr double kTitleFont = 16;
constexpr double kLetter = 0.58;  // width by size
constexpr double kPlotHeight = 320;
constexpr double kMarks = 66;  // left of the plot: about what the ticks and their label take
constexpr double kRow = 22;    // of the legend
constexpr double kGnuplotRow = 21.08;  // the same with spacing 1, at kFont
constexpr double kSample = 50;         // its lines
constexpr double kGap = 20;
constexpr double kWidestLegend = 320;  // beside the plot; below it otherwise
constexpr double kSlant = 30;          // degrees

double text_width(std::string_view text, double font = kFont) {
  const auto letters = std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return static_cast<double>(letters) * kLetter * font;
}

double widest(const std::vector<Tick>& ticks) {
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, text_width(tick.label));
  return width;
}

double radians(double degrees) { return degrees * std::acos(-1.0) / 180; }

/// Where things are, in pixels from the left and the top.
struct Layout {
  double width, height;
  double left, right, top, bottom;  // of the plot area; left if slanted, otherwise about
  double legend_x, legend_y;
  std::size_t rows;  // of the legend, at least 1
  bool slanted;      // x ticks
};

Layout lay_out(const Figure& figure) {
  Layout layout{};
  layout.rows = std::max<std::size_t>(1, figure.legend.size());
  const double rows = kRow * static_cast<double>(figure.legend.size());
  double legend = 0;
  for (const std::string& label : figure.legend) legend = std::max(legend, text_width(label));
  legend += kSample + kGap;
  const bool beside = legend <= kWidestLegend;
  const double ticks = widest(figure.x.ticks);
  layout.slanted = figure.named_x &&
                   (ticks + 6) * static_cast<double>(figure.x.ticks.size()) > figure.plot_width;

  layout.left = layout.slanted ? std::max(kMarks, ticks * std::cos(radians(kSlant))) : kMarks;
  layout.top = figure.title.empty() ? kGap : 46;
  layout.right = layout.left + figure.plot_width;
  if (!beside) layout.right = std::max(layout.right, layout.left + legend);
  layout.bottom = layout.top + (beside ? std::max(kPlotHeight, rows) : kPlotHeight);
  const double names = layout.slanted ? 8 + ticks * std::sin(radians(kSlant)) + kFont : 30;
  const double below = layout.bottom + names + (figure.x_label.empty() ? 0 : 26);

  layout.legend_x = beside ? layout.right + kGap : layout.left;
  layout.legend_y = beside ? layout.top : below + 4;
  layout.width = std::max(layout.legend_x + legend, layout.right + std::max(kGap, ticks / 2));
  layout.width =
      std::ceil(std::max(layout.width, layout.left + text_width(figure.title, kTitleFont) + kGap));
  layout.height = std::ceil(beside ? below + 6 : layout.legend_y + rows + 10);
  return layout;
}

/// gnuplot reads tick labels as formats.
std::string tick_list(const Axis& axis) {
  std::vector<std::string> items;
  for (const Tick& tick : axis.ticks) {
    std::string text;
    for (const char c : tick.label) text += c == '%' ? std::string("%%") : std::string(1, c);
    items.push_back(
        fmt::format("{} {:.17g} {}", gnuplot_quote(text), tick.at, tick.label.empty() ? 1 : 0));
  }
  return fmt::format("({})", fmt::join(items, ", "));
}

std::string terminal(const Layout& layout, Image image) {
  if (image == Image::Svg) {
    return fmt::format(
        "set terminal svg size {},{} fixed font 'Helvetica,Arial,sans-serif,{}' noenhanced "
        "background '#ffffff' rounded\n",
        layout.width, layout.height, kFont);
  }
  // Twice everything, for screens and paper that show it.
  return fmt::format(
      "set terminal pngcairo size {},{} font 'Helvetica,{}' fontscale 2 linewidth 2 pointscale 2 "
      "noenhanced background '#ffffff' rounded\n",
      2 * layout.width, 2 * layout.height, kFont * 0.75);
}

std::string area_script(const Layout& layout, Image image) {
  const double w = layout.width, h = layout.height;
  std::string script =
      "set encoding utf8\n" + terminal(layout, image) +
      fmt::format(
          "set rmargin at screen {:.6f}\n"
          "set tmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n"
          "set key at screen {:.6f},{:.6f} left top reverse Left samplen 2.4 spacing {:.3f} "
          "maxrows {}\n",
          layout.right / w, 1 - layout.top / h, 1 - layout.bottom / h, layout.legend_x / w,
          1 - layout.legend_y / h, kRow / kGnuplotRow, layout.rows);
  if (layout.slanted) script += fmt::format("set lmargin at screen {:.6f}\n", layout.left / w);
  return script;
}

std::string axes_script(const Figure& figure, const Layout& layout) {
  std::string script =
      "set border 3 lw 1 lc rgb '#555555'\n"
      "set tics nomirror out scale 0.5,0.3 textcolor rgb '#222222'\n"
      "set style fill solid 1 noborder\n"
      "set format '%.10g'\n"
      "set samples 2\n";
  for (const auto& [name, axis] : {std::pair{'x', &figure.x}, std::pair{'y', &figure.y}}) {
    script += fmt::format("set {}range {}\n", name, axis->range);
    if (axis->base != 0) script += fmt::format("set logscale {} {}\n", name, axis->base);
    if (!axis->ticks.empty()) script += fmt::format("set {}tics {}\n", name, tick_list(*axis));
  }
  script += fmt::format("set grid {} ytics lt 1 lw 1 lc rgb '#e4e4e4'\n",
                        figure.named_x ? "noxtics" : "xtics");
  script += fmt::format("set xtics {} offset 0,{} {}\nset ytics offset 0.5,0\n",
                        figure.named_x ? "scale 0" : "", layout.slanted ? -0.15 : 0.3,
                        layout.slanted ? fmt::format("rotate by {} right", kSlant) : "norotate");
  if (!figure.title.empty()) {
    script += fmt::format("set label 1 {} at graph 0, screen {:.6f} left font ',{}'\n",
                          gnuplot_quote(figure.title), 1 - 20 / layout.height, kTitleFont);
  }
  return script + fmt::format("set xlabel {}\nset ylabel {}\n", gnuplot_quote(figure.x_label),
                              gnuplot_quote(figure.y_label));
}

}  // namespace

std::string_view colour(std::size_t series) {
  // Okabe and Ito, "Color Universal Design", 2008; without its yellow, too faint on white.
  static constexpr std::array<std::string_view, kColours> kPalette = {
      "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};
  return kPalette[series % kColours];
}

void check_text(std::string_view what, std::string_view text) {
  if (is_plain_name(text)) return;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("figure: {}: expected UTF-8 without control characters", what));
}

void check_number(std::string_view what, double value, bool log) {
  if (!std::isfinite(value) || std::abs(value) > 1e300) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("figure: {}: expected a finite number up to 1e300, got {}", what, value));
  }
  if (log && value < 1e-300) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("figure: {}: a logarithmic axis needs numbers > 0, got {}", what, value));
  }
}

std::string limit_curve(const std::pair<std::string, double>& limit) {
  return fmt::format("{:.17g} with lines lw 1.6 dt (9,5) lc rgb '#444444' title {}", limit.second,
                     gnuplot_quote(limit.first));
}

std::string draw(const Figure& figure, const std::string& data,
                 const std::vector<std::string>& curves, Image image) {
  const Layout layout = lay_out(figure);
  const std::string plot =
      curves.empty() ? "NaN notitle" : fmt::format("{}", fmt::join(curves, ", \\\n  "));
  std::string drawn = run_gnuplot(area_script(layout, image) + axes_script(figure, layout) + data +
                                  "plot " + plot + "\n");
  return image == Image::Svg ? tidy_svg(drawn, figure.title) : drawn;
}

}  // namespace multitree::report
