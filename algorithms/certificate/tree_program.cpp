// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Column generation for the packing program.
#include "algorithms/certificate/tree_program_internal.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "algorithms/certificate/exact_linear_internal.hpp"
#include "algorithms/certificate/in_network_trees_internal.hpp"
#include "algorithms/combined_routes.hpp"

namespace multitree {
namespace {

/// Programs that are solved over and over keep so many columns from one time to the next.
constexpr std::size_t kColumnsPerRow = 3;

/// Prices are rounded to multiples of 2^-40 of the highest for generating trees.
std::vector<Price> whole_prices(const std::vector<double>& prices) {
  constexpr double kScale = 1099511627776;
  const double highest = *std::max_element(prices.begin(), prices.end());
  std::vector<Price> result;
  for (const double price : prices) {
    result.emplace_back(highest > 0 ? std::llround(price / highest * kScale) : 1);
  }
  return result;
}

double cost_of(const std::vector<RowUse>& uses, const std::vector<double>& price) {
  double cost = 0;
  for (const RowUse& use : uses) cost += price[use.row] * use.count;
  return cost;
}

double total_cost(const std::vector<std::int64_t>& capacities, const std::vector<double>& price) {
  double cost = 0;
  for (std::size_t row = 0; row < price.size(); ++row) {
    cost += static_cast<double>(capacities[row]) * price[row];
  }
  return cost;
}

/// Prices half way between two, each scaled so that all capacity costs the same.
std::vector<double> half_way(const std::vector<double>& a, double cost_a,
                             const std::vector<double>& b, double cost_b) {
  std::vector<double> result;
  for (std::size_t row = 0; row < a.size(); ++row) {
    result.push_back(a[row] / cost_a + b[row] / cost_b);
  }
  return result;
}

}  // namespace

TreeProgram::TreeProgram(const Topology& topology)
    : topology_(topology),
      transposed_(topology.transposed()),
      rows_(make_rows(topology)),
      lp_(rows_.bandwidth) {
  add_cheaper(cheapest_trees(std::vector<Price>(rows_.bandwidth.size(), 1)),
              std::vector<double>(rows_.bandwidth.size(), 0));
}

// Prices jump from one solution to the next. So trees are generated at prices half way between the
// current ones and those that gave the best bound so far, which are nearer to what prices will be
// (smoothing: Wentges 1997).
double TreeProgram::maximise(std::vector<std::int64_t> capacities, double enough) {
  lp_.drop_columns(kColumnsPerRow * rows_.bandwidth.size());
  lp_.set_capacities(std::move(capacities));
  std::vector<double> best;
  double best_cost = 0, bound = std::numeric_limits<double>::infinity();
  while (true) {
    lp_.solve();
    const double count = lp_.objective();
    if (count >= enough * (1 - 1e-7) || round_ >= most_rounds_) return count;
    const std::vector<double> price = lp_.prices();
    const double all = total_cost(lp_.capacities(), price);
    const bool smooth = !best.empty() && all > 0 && best_cost > 0;
    bool added = false;
    for (const bool between : {true, false}) {
      if (added || (between && !smooth)) continue;
      const std::vector<double> at = between ? half_way(price, all, best, best_cost) : price;
      std::vector<PackedTree> candidates = cheapest_trees(whole_prices(at));
      const double at_all = total_cost(lp_.capacities(), at);
      const double at_bound = at_all / cost_of(uses_of(candidates.front()), at);
      if (at_bound < bound) {
        bound = at_bound;
        best = at;
        best_cost = at_all;
      }
      added = add_cheaper(std::move(candidates), price);
    }
    if (!added || (std::isfinite(enough) && bound < enough * (1 - 2e-7))) return count;
  }
}

PackingLp::Solution TreeProgram::solve_exactly(const Exact& enough) {
  const double most = enough > 0 ? enough.convert_to<double>() : kAll;
  if (enough > 0) add_trees_apart(most);
  while (true) {
    maximise(rows_.bandwidth, most);
    auto solution = lp_.exact_solution();
    if (!solution) throw std::logic_error("all-reduce program: rounding misled the solver");
    const Exact count =
        std::accumulate(solution->weights.begin(), solution->weights.end(), Exact(0));
    if ((enough > 0 && count >= enough) || round_ >= most_rounds_) return *std::move(solution);
    const Price scale = common_denominator(solution->prices);
    std::vector<Price> prices;
    for (const Exact& price : solution->prices) prices.push_back(scaled(price, scale));
    bool added = false;
    for (PackedTree& tree : cheapest_trees(prices)) {
      std::vector<RowUse> uses = uses_of(tree);
      Price cost = 0;
      for (const RowUse& use : uses) cost += prices[use.row] * use.count;
      if (cost < scale) added = add(std::move(tree), std::move(uses)) || added;
    }
    if (!added) return *std::move(solution);
  }
}

// As the next tree is cheapest where those before it are not, trees take turns at what is alike:
// such are few, and of equal weights.
void TreeProgram::add_trees_apart(double enough) {
  constexpr std::uint32_t kMost = 128, kPatience = 16;
  std::vector<double> used(rows_.bandwidth.size(), 0);
  double best = 0;
  for (std::uint32_t i = 0, last = 0; i < kMost && i - last <= kPatience; ++i) {
    std::vector<double> price;
    for (std::size_t row = 0; row < used.size(); ++row) {
      price.push_back((1 + used[row]) / static_cast<double>(rows_.bandwidth[row]));
    }
    std::vector<PackedTree> trees = cheapest_trees(whole_prices(price));
    std::vector<RowUse> uses = uses_of(trees.front());
    for (const RowUse& use : uses) used[use.row] += use.count;
    add(std::move(trees.front()), std::move(uses));
    lp_.solve();
    if (lp_.objective() >= enough * (1 - 1e-9)) return;
    if (lp_.objective() > best * (1 + 1e-9)) last = i;
    best = std::max(best, lp_.objective());
  }
}

TreeProgram::Rows TreeProgram::make_rows(const Topology& topology) {
  Rows rows;
  std::uint64_t unit = 0;
  for (const Link& link : topology.links()) unit = std::gcd(unit, link.bandwidth.bytes_per_second);
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const auto mate = topology.is_symmetric() ? topology.mate(LinkId{l}) : std::nullopt;
    if (mate && index(*mate) < l) {
      rows.of_link.push_back(rows.of_link[index(*mate)]);
      continue;
    }
    rows.of_link.push_back(static_cast<std::uint32_t>(rows.bandwidth.size()));
    rows.bandwidth.push_back(
        static_cast<std::int64_t>(topology.links()[l].bandwidth.bytes_per_second / unit));
  }
  return rows;
}

// Every link costs a little more than its price, so that of equally cheap trees those with the
// fewest links are cheapest.
std::vector<PackedTree> TreeProgram::cheapest_trees(const std::vector<Price>& row_price) {
  const Price nodes = topology_.num_nodes();
  const Price finer = 2 * nodes * nodes + 1;
  std::vector<Price> price;
  for (const std::uint32_t row : rows_.of_link) price.push_back(row_price[row] * finer + 1);
  if (has_in_network_trees(topology_)) {
    return cheap_in_network_trees(topology_, price, round_++, routes_);
  }
  return cheapest_share_trees(topology_, transposed_, price, round_++, routes_);
}

bool TreeProgram::add_cheaper(std::vector<PackedTree> candidates,
                              const std::vector<double>& price) {
  bool added = false;
  for (PackedTree& tree : candidates) {
    std::vector<RowUse> uses = uses_of(tree);
    if (cost_of(uses, price) >= 1 - 2 * PackingLp::kTolerance) continue;
    added = add(std::move(tree), std::move(uses)) || added;
  }
  return added;
}

bool TreeProgram::add(PackedTree tree, std::vector<RowUse> uses) {
  const auto known = std::ranges::find_if(
      trees_, [&](const PackedTree& other) { return are_same(tree, other, routes_); });
  if (known != trees_.end()) {
    const auto column = static_cast<std::size_t>(known - trees_.begin());
    if (!lp_.is_dropped(column)) return false;
    lp_.add_again(column);
    return true;
  }
  lp_.add_column(uses);
  trees_.push_back(std::move(tree));
  uses_.push_back(std::move(uses));
  return true;
}

std::vector<RowUse> TreeProgram::uses_of(const PackedTree& tree) const {
  std::map<std::uint32_t, std::int32_t> count;
  if (has_in_network_trees(topology_)) {
    for (const auto& [link, messages] : messages_on_links(tree.gather, routes_, topology_)) {
      count[rows_.of_link[index(link)]] += messages;
    }
  } else {
    const auto add = [&](const std::vector<TreeArc>& arcs) {
      for (const TreeArc& arc : arcs) {
        for (const LinkId link : route_of(arc, routes_)) ++count[rows_.of_link[index(link)]];
      }
    };
    add(tree.gather);
    if (!topology_.is_symmetric()) add(tree.reduce);
  }
  std::vector<RowUse> uses;
  for (const auto& [row, times] : count) uses.push_back({row, times});
  return uses;
}

}  // namespace multitree
