// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Grids, levels and circles.
#include "view/layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>

#include "topologies/structure.hpp"

namespace multitree::view {
namespace {

constexpr std::uint32_t kUnreached = std::numeric_limits<std::uint32_t>::max();

/// Evenly around the middle, the first at the top.
std::vector<Point> circle(std::size_t count) {
  const double step = 2 * std::numbers::pi / static_cast<double>(std::max<std::size_t>(count, 1));
  // Neighbours are a unit apart.
  const double radius = count > 1 ? 0.5 / std::sin(step / 2) : 0;
  std::vector<Point> points(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double angle = step * static_cast<double>(i);
    points[i] = {radius * std::sin(angle), -radius * std::cos(angle)};
  }
  return points;
}

/// Even dimensions go across, odd ones down; from block to block there is a gap.
Point grid_point(std::uint32_t rank, const std::vector<std::uint32_t>& sizes) {
  double place[2] = {0, 0}, stride[2] = {1, 1};
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    const std::size_t axis = dim % 2;
    place[axis] += stride[axis] * static_cast<double>(rank % sizes[dim]);
    stride[axis] = stride[axis] * static_cast<double>(sizes[dim]) + 0.8;
    rank /= sizes[dim];
  }
  return {place[0], place[1]};
}

/// A line that is closed is drawn as a circle.
bool is_ring(const Grid& grid) {
  const auto longer = std::ranges::count_if(grid.sizes, [](std::uint32_t n) { return n > 1; });
  return longer == 1 && grid.line != Line::Path;
}

std::vector<Point> grid_layout(const Topology& topology, const Grid& grid) {
  if (is_ring(grid)) {
    const std::vector<Point> by_rank = circle(topology.num_ranks());
    std::vector<Point> points(topology.num_nodes());
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      points[index(topology.node_of(Rank{r}))] = by_rank[r];
    }
    return points;
  }
  std::vector<Point> points(topology.num_nodes());
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    points[index(topology.node_of(Rank{r}))] = grid_point(r, grid.sizes);
  }
  return points;
}

/// Ranks 0, switches one more than the lowest node that they are linked to.
std::vector<std::uint32_t> levels_of(const Topology& topology) {
  std::vector<std::uint32_t> level(topology.num_nodes(), kUnreached);
  std::vector<NodeId> queue;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    queue.push_back(topology.node_of(Rank{r}));
    level[index(queue.back())] = 0;
  }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const NodeId node = queue[next];
    for (const LinkId link : topology.out_links(node)) {
      const NodeId other = topology.link(link).dst;
      if (level[index(other)] != kUnreached) continue;
      level[index(other)] = level[index(node)] + 1;
      queue.push_back(other);
    }
  }
  return level;
}

/// The mean place of a node's neighbours on the level below; `otherwise` if it has none.
double middle(const Topology& topology, NodeId node, const std::vector<std::uint32_t>& level,
              const std::vector<Point>& points, double otherwise) {
  double sum = 0;
  std::size_t count = 0;
  for (const LinkId link : topology.in_links(node)) {
    const NodeId other = topology.link(link).src;
    if (level[index(other)] + 1 != level[index(node)]) continue;
    sum += points[index(other)].x;
    ++count;
  }
  return count == 0 ? otherwise : sum / static_cast<double>(count);
}

/// Spreads nodes evenly over the width, in the order of the places that they want.
void place_level(std::vector<std::pair<double, NodeId>> wanted, double width, double y,
                 std::vector<Point>& points) {
  std::ranges::stable_sort(wanted, {}, [](const auto& node) { return node.first; });
  const double room = width / static_cast<double>(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    points[index(wanted[i].second)] = {room * (static_cast<double>(i) + 0.5) - 0.5, y};
  }
}

std::vector<Point> levels(const Topology& topology) {
  const std::vector<std::uint32_t> level = levels_of(topology);
  std::vector<std::uint32_t> sizes;
  for (const std::uint32_t l : level) {
    if (l == kUnreached) continue;
    sizes.resize(std::max<std::size_t>(sizes.size(), l + 1), 0);
    ++sizes[l];
  }
  const double width = *std::ranges::max_element(sizes);
  const double height = std::max(1.5, width / 8);
  std::vector<Point> points(topology.num_nodes());
  for (std::uint32_t l = 0; l < sizes.size(); ++l) {
    std::vector<std::pair<double, NodeId>> wanted;
    for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
      if (level[n] != l) continue;
      const double place = static_cast<double>(wanted.size());
      const NodeId node{n};
      wanted.emplace_back(l == 0 ? place : middle(topology, node, level, points, place), node);
    }
    place_level(std::move(wanted), width, -height * l, points);
  }
  // Unreached switches carry nothing; they stand in a row below.
  double x = 0;
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    if (level[n] == kUnreached) points[n] = {x++, height};
  }
  return points;
}

std::vector<Point> around(const Topology& topology) {
  const std::vector<Point> places = circle(topology.num_ranks());
  std::vector<Point> points(topology.num_nodes());
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    points[index(topology.node_of(Rank{r}))] = places[r];
  }
  return points;
}

}  // namespace

std::vector<Point> layout(const Topology& topology) {
  const std::uint32_t switches = topology.num_nodes() - topology.num_ranks();
  const Structure structure = structure_of(topology);
  if (switches == 0 && structure.grid) return grid_layout(topology, *structure.grid);
  const bool one_in_the_middle = switches == 1 && topology.num_ranks() > 1;
  return switches == 0 || one_in_the_middle ? around(topology) : levels(topology);
}

}  // namespace multitree::view
