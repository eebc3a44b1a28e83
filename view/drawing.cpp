// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Places come from layout(); here is how links run between them.
#include "view/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace multitree::view {
namespace {

constexpr double kMargin = 0.75;
/// How far apart the two directions of a cable lie, and parallel links.
constexpr double kBeside = 0.05, kParallel = 0.12;
/// Lines as they are up to this width.
constexpr double kPlainWidth = 26;

using Cell = std::pair<std::int64_t, std::int64_t>;

Cell cell_of(const Point& point) {
  return {std::llround(point.x * 10), std::llround(point.y * 10)};
}

Point along(const Point& a, const Point& b, double share) {
  return {a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share};
}

class Bends {
 public:
  explicit Bends(const std::vector<Point>& nodes) : nodes_(nodes) {
    for (const Point& node : nodes) places_.insert(cell_of(node));
  }

  /// To the side of the straight line, in units.
  double of(const Link& link) {
    const double parallel = kParallel * before_[{index(link.src), index(link.dst)}]++;
    const Point &a = nodes_[index(link.src)], &b = nodes_[index(link.dst)];
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    const double around = std::min(0.12 + 0.1 * length, 0.45);
    return parallel + (passes_over(a, b, length) ? around : kBeside);
  }

 private:
  /// Places in grids are multiples of a fifth apart.
  [[nodiscard]] bool passes_over(const Point& a, const Point& b, double length) const {
    const auto parts = static_cast<int>(std::lround(length * 5));
    for (int i = 3; i < parts - 2; ++i) {
      if (places_.contains(cell_of(along(a, b, static_cast<double>(i) / parts)))) return true;
    }
    return false;
  }

  const std::vector<Point>& nodes_;
  std::set<Cell> places_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> before_;
};

Curve curve_of(const Point& a, const Point& b, double bend) {
  const double length = std::hypot(b.x - a.x, b.y - a.y);
  const Point side = length == 0 ? Point{} : Point{-(b.y - a.y) / length, (b.x - a.x) / length};
  const auto beside = [&](const Point& at, double far) {
    return Point{at.x + side.x * far, at.y + side.y * far};
  };
  const double shift = std::min(bend, 0.06);
  return {beside(a, shift), beside(along(a, b, 0.5), 2 * bend), beside(b, shift),
          beside(along(a, b, 0.36), bend)};
}

}  // namespace

Drawing drawing_of(const Topology& topology) { return drawing_of(topology, topology); }

Drawing drawing_of(const Topology& topology, const Topology& places_of) {
  Drawing drawing;
  drawing.nodes = layout(places_of);
  Bends bends(drawing.nodes);
  for (const Link& link : topology.links()) {
    drawing.links.push_back(
        curve_of(drawing.nodes[index(link.src)], drawing.nodes[index(link.dst)], bends.of(link)));
  }
  const auto [left, right] = std::ranges::minmax(drawing.nodes, {}, &Point::x);
  const auto [top, bottom] = std::ranges::minmax(drawing.nodes, {}, &Point::y);
  drawing.corner = {left.x - kMargin, top.y - kMargin};
  drawing.size = {right.x - left.x + 2 * kMargin, bottom.y - top.y + 2 * kMargin};
  drawing.line = std::max(1.0, drawing.size.x / kPlainWidth);
  return drawing;
}

}  // namespace multitree::view
