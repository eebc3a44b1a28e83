// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reads an SVG back, as a viewer would.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <utility>
#include <vector>

namespace multitree::report {

/// One way of drawing a series: what a reader can tell it by.
struct Look {
  std::string colour, marker, dashes;
  auto operator<=>(const Look&) const = default;
};

using Point = std::pair<double, double>;  ///< pixels from the left and from the top

class Drawing {
 public:
  /// Fails the test if it is no well-formed SVG on white.
  explicit Drawing(const std::string& svg);

  [[nodiscard]] double width() const;
  [[nodiscard]] double height() const;
  /// Every text shown, in the order of the file.
  [[nodiscard]] std::vector<std::string> texts() const;
  /// The vertices of the line of a series.
  [[nodiscard]] std::vector<Point> line(const std::string& label) const;
  /// Where the text of a legend entry begins.
  [[nodiscard]] Point legend(const std::string& label) const;
  [[nodiscard]] Look look(const std::string& label) const;
  /// The bars of a series: (left, top), (right, bottom).
  [[nodiscard]] std::vector<std::pair<Point, Point>> bars(const std::string& label) const;

 private:
  [[nodiscard]] pugi::xml_node curve(const std::string& label) const;

  pugi::xml_document document_;
};

}  // namespace multitree::report
