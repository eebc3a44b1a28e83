// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Charts as SVG text or PNG, fit for a README or a paper: white background, colours of Okabe and
/// Ito that colour-blind readers can tell apart, the same for an algorithm in every figure
/// (styles.hpp), a marker of its own for every line, the legend beside the data. The same input
/// gives the same bytes.
///
/// gnuplot draws them. All functions throw Error(Unsupported) if it is not installed, Error(Io) if
/// it fails and Error(Timeout) if it hangs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace multitree::report {

enum class Image { Svg, Png };
/// By the ending of a file's name: Png for ".png", otherwise Svg.
[[nodiscard]] Image image_of(std::string_view path);
/// \throws Error(InvalidArgument) that names the flag, for a name that says another format.
void check_image_name(std::string_view flag, std::string_view path);

/// One line of a plot. No points: it stands in the legend only.
struct Series {
  std::string label{};
  std::vector<std::pair<double, double>> points{};  ///< (x, y), joined in this order
  bool joined = true;                               ///< false: markers alone, one at each point
};

/// A line chart. Texts are UTF-8 and shown as they are: no markup. An empty title or axis label
/// takes no space.
struct Plot {
  std::string title{};
  std::string x_label{};
  std::string y_label{};
  bool log_x = false;    ///< all x must be > 0
  bool log_y = false;    ///< all y must be > 0; otherwise the y axis includes 0
  bool bytes_x = false;  ///< x is in bytes, >= 0: marked at powers of two, as 32KiB, 1MiB
  std::vector<Series> series{};
  /// A dashed horizontal line with its label in the legend, for example a bound.
  std::optional<std::pair<std::string, double>> limit{};
};

/// The bars of one colour: one value for each group.
struct BarSeries {
  std::string label{};
  std::vector<double> values{};
};

/// A grouped bar chart: beside each other within a group, the bars of all series.
struct Bars {
  std::string title{};
  std::string y_label{};
  std::vector<std::string> groups{};
  std::vector<BarSeries> series{};
  std::optional<std::pair<std::string, double>> limit{};  ///< as in Plot
};

/// \throws Error(InvalidArgument) for a text that is not UTF-8 or has control characters, and for a
/// number that is not finite, is beyond 1e300, or cannot be on its axis.
std::string to_svg(const Plot& plot);
/// The same; of Png the bytes of the file, twice as many pixels each way.
std::string to_image(const Plot& plot, Image image);
/// \throws Error(InvalidArgument) as above, and for a series without a value for every group.
std::string to_svg(const Bars& bars);

}  // namespace multitree::report
