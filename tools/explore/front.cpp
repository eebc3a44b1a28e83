// SPDX-License-Identifier: BSD-3-Clause
#include "tools/explore/front.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace multitree::tools {

std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t p) -> const std::vector<double>& { return points[p]; });
  // Whoever beats a point, or is equal and before it, comes before it in this order.
  std::vector<std::size_t> front;
  for (const std::size_t p : order) {
    const bool is_beaten = std::ranges::any_of(front, [&](std::size_t f) {
      return std::ranges::equal(points[f], points[p], std::less_equal{});
    });
    if (!is_beaten) front.push_back(p);
  }
  return front;
}

}  // namespace multitree::tools
