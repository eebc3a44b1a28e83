// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What line and bar charts share: axes, legend, sizes, colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/axis_internal.hpp"
#include "report/plot.hpp"

namespace multitree::report {

/// Everything but the data.
struct Figure {
  std::string title{};
  std::string x_label{};
  std::string y_label{};
  Axis x{};
  Axis y{};
  std::vector<std::string> legend{};  ///< top to bottom
  double plot_width = 500;            ///< pixels
  bool named_x = false;               ///< x ticks name what is there: no marks, no grid
};

/// The colour of a series, "#rrggbb"; they repeat after kColours.
std::string_view colour(std::size_t series);
constexpr std::size_t kColours = 7;

/// \throws Error(InvalidArgument) unless it is UTF-8 without control characters.
void check_text(std::string_view what, std::string_view text);
/// \throws Error(InvalidArgument) unless finite, at most 1e300 in magnitude and, if `log`, > 0.
void check_number(std::string_view what, double value, bool log);

/// The clause of gnuplot's `plot` for a dashed line from side to side.
std::string limit_curve(const std::pair<std::string, double>& limit);

/// The picture. `data` defines what `curves`, the clauses of gnuplot's `plot`, refer to.
std::string draw(const Figure& figure, const std::string& data,
                 const std::vector<std::string>& curves, Image image = Image::Svg);

}  // namespace multitree::report
