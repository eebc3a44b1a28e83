// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tries some times of doubling, each with the rest that is best.
#include "algorithms/certificate/find_growth_internal.hpp"

#include <algorithm>
#include <cmath>

namespace multitree {
namespace {

/// Sixteenths of the longest time of doubling that are tried: a shorter one is better where pieces
/// are much longer under way than the nearest two ranks are apart.
constexpr int kSixteenths[] = {16, 14, 12, 10, 8, 6, 4};

/// The longest that is_doubling(), or a little less.
double longest_doubling(std::int64_t nearest, Time overhead) {
  std::int64_t low = overhead.picoseconds, high = 2 * (overhead.picoseconds + nearest);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (is_doubling(Time{middle}, nearest, overhead) ? low : high) = middle;
  }
  return static_cast<double>(low);
}

}  // namespace

GrowthFinder::GrowthFinder(const Topology& topology, Collective collective, Rank root,
                           std::int64_t nearest, Time overhead)
    : need_(growth_need(collective, topology.num_ranks())),
      has_root_(facts(collective).start == Holder::Root),
      root_(root),
      overhead_(static_cast<double>(overhead.picoseconds)) {
  if (overhead.picoseconds <= 0 || topology.num_ranks() < 2 || topology.has_abilities()) return;
  if (facts(collective).end == Holder::Root) return;
  targets_ = growth_targets(topology);
  const double longest = longest_doubling(nearest, overhead);
  for (const int part : kSixteenths) doublings_.push_back(std::floor(longest * part / 16));
}

GrowthFinder::Found GrowthFinder::at(std::uint64_t bytes) const {
  Found best;
  if (bytes == 0) return best;
  for (const double doubling : doublings_) {
    if (doubling < 1) continue;
    const Found found = with_doubling(doubling, bytes);
    if (found.time > best.time) best = found;
  }
  return best;
}

GrowthFinder::Found GrowthFinder::with_doubling(double doubling, std::uint64_t bytes) const {
  const double share = static_cast<double>(bytes) / static_cast<double>(need_.pairs);
  const double each = std::log(2.0) / doubling;
  std::vector<Priced> priced;
  std::size_t cheapest = 0;
  for (const GrowthTarget& target : targets_) {
    const double fastest = static_cast<double>(target.fastest) * 1e-12;
    const double piece = std::min(share, fastest / each);
    const double price =
        std::exp((static_cast<double>(target.nearest) + piece / fastest) * each) / piece;
    if (priced.empty() || price < priced[cheapest].price) cheapest = priced.size();
    priced.push_back({need_.shares * share, static_cast<double>(target.all) * 1e-12, price});
  }
  Found found;
  found.doubling = Time{static_cast<std::int64_t>(doubling)};
  // The source is no target: that is least lost where it would have been cheapest.
  found.source = has_root_ ? root_ : targets_[cheapest].ranks.front();
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < priced.size(); ++k) order.push_back(k);
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t k) { return priced[k].need / priced[k].rate; });
  const double factor = std::expm1(each * overhead_) / need_.sources;
  double all = 1, lost = 0;  // the sum is all - lost * rest, while it is of these targets
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Priced& one = priced[order[i]];
    const auto& ranks = targets_[order[i]].ranks;
    auto count = static_cast<double>(ranks.size());
    if (need_.sources == 1) count -= static_cast<double>(std::ranges::count(ranks, found.source));
    all += factor * count * one.need * one.price;
    lost += factor * count * one.rate * one.price;
    if (lost <= 0) continue;
    const auto until = [&](std::size_t k) { return priced[order[k]].need / priced[order[k]].rate; };
    const double least = i + 1 < order.size() ? until(i + 1) : 0;
    const double rest = std::floor(std::clamp(all / lost - 1 / each, least, until(i)));
    const double time = rest + std::log(all - lost * rest) / each;
    if (time <= found.time) continue;
    found.time = time;
    found.rest = Time{static_cast<std::int64_t>(rest)};
  }
  return found;
}

}  // namespace multitree
