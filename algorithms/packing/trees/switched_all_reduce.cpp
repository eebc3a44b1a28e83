// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Optimal all-reduce trees with small whole weights.
#include "algorithms/packing/trees/switched_all_reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/certificate/exact_linear_internal.hpp"
#include "algorithms/certificate/tree_program_internal.hpp"
#include "algorithms/schedule.hpp"

namespace multitree {
namespace {

/// How often each tree of a program is used.
using Counts = std::vector<std::uint64_t>;

/// Trees of the same weight that are searched for, and that are counted.
constexpr std::int64_t kMostTrees = std::int64_t{1} << 31, kMostShares = kMaxWeights;

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

/// Numbers of trees that are tried, as multiples of the least that may do, and for how many rounds:
/// most often the least do not do, which takes long to find out. All of it takes some 20 s for 40
/// ranks.
struct Try {
  std::int64_t factor = 1;
  std::uint32_t rounds = 0;
};
constexpr std::array kAttempts = {Try{1, 200}, Try{8, 1000}, Try{1, 2000}};

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

/// Some of `trees` trees of the same weight, and room for the `left` others.
struct PartialPacking {
  std::int64_t trees = 0, left = 0;
  std::vector<std::int64_t> capacities;
  Counts counts;
};

/// Each tree becomes `times` trees.
void multiply(PartialPacking& packing, std::int64_t times) {
  packing.trees *= times;
  packing.left *= times;
  for (std::int64_t& capacity : packing.capacities) capacity *= times;
  for (std::uint64_t& count : packing.counts) count *= static_cast<std::uint64_t>(times);
}

/// The same with the trees that are left as the program divides them, times so many that all are
/// whole. Empty if that makes too many.
std::optional<PartialPacking> finish(TreeProgram& program, PartialPacking packing) {
  program.maximise(packing.capacities, static_cast<double>(packing.left));
  auto rest = program.exact_counts();
  if (!rest) return std::nullopt;
  const Exact all = std::accumulate(rest->weights.begin(), rest->weights.end(), Exact(0));
  if (all < packing.left) return std::nullopt;
  for (Exact& weight : rest->weights) weight = weight * packing.left / all;
  const Price times = common_denominator(rest->weights);
  if (times > kMostShares / packing.trees) return std::nullopt;
  multiply(packing, static_cast<std::int64_t>(times));
  packing.counts.resize(rest->weights.size(), 0);
  for (std::size_t t = 0; t < packing.counts.size(); ++t) {
    packing.counts[t] += static_cast<std::uint64_t>(scaled(rest->weights[t], times));
  }
  packing.left = 0;
  return packing;
}

/// `trees` trees of the same weight that take no longer than the best of any weights. Where there
/// are no switches and links have mates they exist (Nash-Williams, Tutte); elsewhere this is a
/// search: fix some trees, see whether as many as needed still fit, go on with the others. Where
/// none fits the few that are left are fractions of small denominators, or else trees of half the
/// weight are tried. Empty if they become too many, or take too long to find.
std::optional<Counts> find_equal_trees(TreeProgram& program, std::int64_t trees, const Exact& most,
                                       std::uint32_t rounds) {
  constexpr std::int64_t kSmallDenominator = 16;
  PartialPacking packing{trees, trees, capacities_for(program, trees, most), {}};
  std::optional<PartialPacking> best;
  const std::uint32_t most_rounds = program.rounds() + rounds;
  while (packing.left > 0 && program.rounds() < most_rounds) {
    const auto needed = static_cast<double>(packing.left);
    if (program.maximise(packing.capacities, needed) < needed * (1 - 1e-6)) break;
    std::int64_t taken =
        take_whole_parts(program, packing.left, packing.capacities, packing.counts);
    if (taken == 0) {
      taken = take_most_used(program, packing.left, packing.capacities, packing.counts);
    }
    packing.left -= taken;
    if (taken > 0) continue;
    auto finished = finish(program, packing);
    if (finished && (!best || finished->trees < best->trees)) best = std::move(finished);
    if (packing.trees > kMostTrees / 2) break;
    if (best && best->trees / kSmallDenominator <= packing.trees) break;
    multiply(packing, 2);
  }
  if (packing.left == 0) return std::move(packing.counts);
  if (best) return std::move(best->counts);
  return std::nullopt;
}

/// The weights of the basic solution as whole numbers. Where they have no common unit that can be
/// counted, which is rare, they are rounded to 2^-60 of the whole.
Counts scale_weights(const std::vector<Exact>& weights) {
  const Exact all = std::accumulate(weights.begin(), weights.end(), Exact(0));
  const Price scale = common_denominator(weights);
  Price common = 0;
  for (const Exact& weight : weights) common = gcd(common, scaled(weight, scale));
  const bool is_exact = scaled(all, scale) / common <= kMaxWeights;
  const Exact unit = is_exact ? Exact(common, scale) : Exact(all / Exact(Price(kMaxWeights / 4)));
  Counts counts;
  for (const Exact& weight : weights) {
    const Exact count = weight / unit;
    counts.push_back(static_cast<std::uint64_t>(Price(numerator(count) / denominator(count))));
  }
  return counts;
}

Counts whole_counts(TreeProgram& program, EqualTrees wanted) {
  const PackingLp::Solution best = program.solve_exactly();
  const Exact most = std::accumulate(best.weights.begin(), best.weights.end(), Exact(0));
  const Price unit = least_trees(program, best.prices, most);
  for (const Try& attempt : std::span(kAttempts).first(wanted == EqualTrees::IfQuickly ? 1 : 3)) {
    if (unit > kMostTrees / attempt.factor) continue;
    const std::int64_t trees = static_cast<std::int64_t>(unit) * attempt.factor;
    auto counts = find_equal_trees(program, trees, most, attempt.rounds);
    if (counts) return *std::move(counts);
  }
  return scale_weights(best.weights);
}

/// The arcs with their routes in the packing's pool.
std::vector<TreeArc> moved(std::vector<TreeArc> arcs, const RoutePool& routes,
                           TreePacking& packing) {
  for (TreeArc& arc : arcs) arc = packing.make_arc(arc.src, arc.dst, route_of(arc, routes));
  return arcs;
}

}  // namespace

TreePacking pack_switched_all_reduce(const Topology& topology, EqualTrees wanted) {
  TreePacking packing;
  packing.collective = Collective::AllReduce;
  packing.ranks = topology.num_ranks();
  if (topology.num_ranks() < 2) {
    packing.trees.emplace_back();
    return packing;
  }
  TreeProgram program(topology);
  const Counts counts = whole_counts(program, wanted);
  RoutePool routes = program.routes();
  for (std::size_t t = 0; t < counts.size(); ++t) {
    if (counts[t] == 0) continue;
    PackedTree tree = program.trees()[t];
    if (topology.is_symmetric()) tree = centred(tree, topology, routes);
    tree.weight = counts[t];
    tree.gather = moved(std::move(tree.gather), routes, packing);
    tree.reduce = moved(std::move(tree.reduce), routes, packing);
    packing.trees.push_back(std::move(tree));
  }
  return packing;
}

}  // namespace multitree
