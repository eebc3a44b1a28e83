// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Optimal all-reduce trees with small whole weights.
#include "algorithms/packing/switched_all_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/certificate/exact_linear_internal.hpp"
#include "algorithms/certificate/tree_program_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// How often each tree of a program is used.
using Counts = std::vector<std::uint64_t>;

constexpr std::int64_t kMostTrees = std::int64_t{1} << 31;

/// Capacities for `trees` trees: the share of each row's bandwidth, rounded down, in the time of
/// `most` trees.
std::vector<std::int64_t> capacities_for(const TreeProgram& program, const Price& trees,
                                         const Exact& most) {
  std::vector<std::int64_t> capacities;
  for (const std::int64_t bandwidth : program.bandwidths()) {
    const Exact exact = Exact(trees * bandwidth) / most;
    capacities.push_back(static_cast<std::int64_t>(Price(numerator(exact) / denominator(exact))));
  }
  return capacities;
}

/// How many trees of the same weight there must be a multiple of: rows whose price is not 0 are
/// busy all the time, hence carry a whole number of them.
Price least_trees(const TreeProgram& program, const std::vector<Exact>& prices, const Exact& most) {
  std::vector<Exact> carried;
  for (std::size_t row = 0; row < prices.size(); ++row) {
    if (prices[row] != 0) carried.push_back(Exact(program.bandwidths()[row]) / most);
  }
  return common_denominator(carried);
}

/// Takes out of `capacities` what fits of `count` copies of a tree. \returns the copies.
std::int64_t take(const std::vector<RowUse>& uses, std::int64_t count,
                  std::vector<std::int64_t>& capacities) {
  for (const RowUse& use : uses) count = std::min(count, capacities[use.row] / use.count);
  for (const RowUse& use : uses) capacities[use.row] -= count * use.count;
  return count;
}

/// The whole parts of the last solution of `program`.
std::int64_t take_whole_parts(const TreeProgram& program, std::int64_t left,
                              std::vector<std::int64_t>& capacities, Counts& counts) {
  const std::vector<double> fractions = program.counts();
  counts.resize(fractions.size(), 0);
  std::int64_t taken = 0;
  for (std::size_t t = 0; t < fractions.size(); ++t) {
    const auto whole = static_cast<std::int64_t>(std::floor(fractions[t] + 1e-6));
    const std::int64_t fitting = take(program.uses(t), std::min(whole, left - taken), capacities);
    counts[t] += static_cast<std::uint64_t>(fitting);
    taken += fitting;
  }
  return taken;
}

/// One copy of each of the trees used most by the last solution, as many as leave room for
/// the rest of `left`. \returns how many; 0 if no single one does.
std::int64_t take_most_used(TreeProgram& program, std::int64_t left,
                            std::vector<std::int64_t>& capacities, Counts& counts) {
  constexpr std::size_t kTries = 8;
  const std::vector<double> fractions = program.counts();
  std::vector<std::size_t> order;
  for (std::size_t t = 0; t < fractions.size(); ++t) {
    if (fractions[t] > 1e-6) order.push_back(t);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return fractions[a] > fractions[b]; });
  const auto try_taking = [&](std::span<const std::size_t> trees) -> std::int64_t {
    std::vector<std::int64_t> rest = capacities;
    Counts more = counts;
    more.resize(fractions.size(), 0);
    std::int64_t taken = 0;
    for (const std::size_t t : trees) {
      if (taken == left) break;
      const std::int64_t fitting = take(program.uses(t), 1, rest);
      more[t] += static_cast<std::uint64_t>(fitting);
      taken += fitting;
    }
    const auto others = static_cast<double>(left - taken);
    if (taken == 0 || (others > 0 && program.maximise(rest, others) < others * (1 - 1e-6))) {
      return 0;
    }
    capacities = std::move(rest);
    counts = std::move(more);
    return taken;
  };
  const std::span<const std::size_t> all(order);
  for (std::size_t size = (all.size() + 1) / 2; size > 1; size /= 2) {
    if (const std::int64_t taken = try_taking(all.first(size))) return taken;
  }
  for (std::size_t i = 0; i < std::min(kTries, all.size()); ++i) {
    if (const std::int64_t taken = try_taking(all.subspan(i, 1))) return taken;
  }
  return 0;
}

/// `trees` trees of the same weight that take no longer than the best of any weights. Where there
/// are no switches and links have mates they exist (Nash-Williams, Tutte); elsewhere this is a
/// search: fix some trees, see whether as many as needed still fit, go on with the others, and
/// where none fits use trees of half the weight. Empty if they become too many.
std::optional<Counts> find_equal_trees(TreeProgram& program, std::int64_t trees,
                                       const Exact& most) {
  std::vector<std::int64_t> capacities = capacities_for(program, trees, most);
  Counts counts;
  for (std::int64_t left = trees; left > 0;) {
    const auto needed = static_cast<double>(left);
    if (program.maximise(capacities, needed) < needed * (1 - 1e-6)) return std::nullopt;
    if (const std::int64_t taken = take_whole_parts(program, left, capacities, counts)) {
      left -= taken;
      continue;
    }
    const std::int64_t taken = take_most_used(program, left, capacities, counts);
    left -= taken;
    if (taken > 0) continue;
    if (trees > kMostTrees / 2) return std::nullopt;
    trees *= 2;
    left *= 2;
    for (std::int64_t& capacity : capacities) capacity *= 2;
    for (std::uint64_t& count : counts) count *= 2;
  }
  return counts;
}

/// The weights of the basic solution as whole numbers.
/// \throws Error(Unsupported) if they need more than 64 bits.
Counts scale_weights(const std::vector<Exact>& weights, const Topology& topology) {
  const Price scale = common_denominator(weights);
  Price common = 0;
  for (const Exact& weight : weights) common = gcd(common, scaled(weight, scale));
  Counts counts;
  for (const Exact& weight : weights) {
    const Price whole = scaled(weight, scale) / common;
    if (whole > std::numeric_limits<std::int64_t>::max()) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{}: the shares of the optimal trees have no common unit that "
                              "64 bits can count",
                              topology.name()));
    }
    counts.push_back(static_cast<std::uint64_t>(whole));
  }
  return counts;
}

Counts whole_counts(TreeProgram& program, const Topology& topology) {
  const PackingLp::Solution best = program.solve_exactly();
  const Exact most = std::accumulate(best.weights.begin(), best.weights.end(), Exact(0));
  const Price unit = least_trees(program, best.prices, most);
  if (unit <= kMostTrees) {
    auto counts = find_equal_trees(program, static_cast<std::int64_t>(unit), most);
    if (counts) return *std::move(counts);
  }
  return scale_weights(best.weights, topology);
}

void append(const std::vector<Hop>& hops, TreePacking& packing, std::vector<TreeArc>& arcs) {
  for (const Hop& hop : hops) arcs.push_back(packing.make_arc(hop.src, hop.dst, hop.route));
}

}  // namespace

TreePacking pack_switched_all_reduce(const Topology& topology) {
  TreePacking packing;
  packing.collective = Collective::AllReduce;
  packing.ranks = topology.num_ranks();
  if (topology.num_ranks() < 2) {
    packing.trees.emplace_back();
    return packing;
  }
  TreeProgram program(topology);
  const Counts counts = whole_counts(program, topology);
  for (std::size_t t = 0; t < counts.size(); ++t) {
    if (counts[t] == 0) continue;
    const ShareTree& tree = program.trees()[t];
    const ShareTree share = topology.is_symmetric() ? centred(tree, topology) : tree;
    packing.trees.push_back({.root = share.root, .weight = counts[t], .gather = {}, .reduce = {}});
    append(share.gather, packing, packing.trees.back().gather);
    append(share.reduce, packing, packing.trees.back().reduce);
  }
  return packing;
}

}  // namespace multitree
