// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Column generation: trees that are cheap at the current prices join the linear program until
/// none is cheaper than those in use.
#include "algorithms/certificate/all_reduce_trees_internal.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "algorithms/certificate/exact_linear_internal.hpp"
#include "algorithms/certificate/packing_lp_internal.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kTreesPerRound = 3;

/// The rows of the program: what limits the trees.
struct Rows {
  std::vector<std::uint32_t> of_link;
  std::vector<std::int64_t> capacity;
};

/// Where every link has a mate, a tree that is reduced along the mates of the links that it
/// broadcasts along is without loss of generality (average a solution with its mirror image). It
/// uses both the same, so they are one row.
Rows make_rows(const Topology& topology) {
  Rows rows;
  std::uint64_t unit = 0;
  for (const Link& link : topology.links()) unit = std::gcd(unit, link.bandwidth.bytes_per_second);
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const auto mate = topology.is_symmetric() ? topology.mate(LinkId{l}) : std::nullopt;
    if (mate && index(*mate) < l) {
      rows.of_link.push_back(rows.of_link[index(*mate)]);
      continue;
    }
    rows.of_link.push_back(static_cast<std::uint32_t>(rows.capacity.size()));
    rows.capacity.push_back(
        static_cast<std::int64_t>(topology.links()[l].bandwidth.bytes_per_second / unit));
  }
  return rows;
}

std::vector<RowUse> uses_of(const ShareTree& tree, const Rows& rows) {
  std::map<std::uint32_t, std::int32_t> count;
  for (const auto* hops : {&tree.gather, &tree.reduce}) {
    for (const Hop& hop : *hops) {
      for (const LinkId link : hop.route) ++count[rows.of_link[index(link)]];
    }
  }
  std::vector<RowUse> uses;
  for (const auto& [row, times] : count) uses.push_back({row, times});
  return uses;
}

/// Link prices from row prices, made finer so that of equally cheap paths that of fewer links is
/// cheaper. \returns the refinement: costs are cost * it + links used.
Price spread_prices(const Topology& topology, const Rows& rows, const std::vector<Price>& row_price,
                    std::vector<Price>& price) {
  const Price nodes = topology.num_nodes();
  const Price finer = 2 * nodes * nodes + 1;
  price.clear();
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    price.push_back(row_price[rows.of_link[l]] * finer + 1);
  }
  return finer;
}

Price cost_of(const std::vector<RowUse>& uses, const std::vector<Price>& row_price) {
  Price cost = 0;
  for (const RowUse& use : uses) cost += row_price[use.row] * use.count;
  return cost;
}

/// Where every link has a mate: a few trees, cheapest for any root.
std::vector<ShareTree> price_mirrored_trees(const Topology& topology,
                                            const std::vector<Price>& price, std::uint32_t round) {
  std::vector<ShareTree> trees;
  const std::uint32_t n = topology.num_ranks(), tries = std::min(n, kTreesPerRound);
  for (std::uint32_t i = 0; i < tries; ++i) {
    const Rank start{(round + i * n / tries) % n};
    trees.push_back({start, cheapest_undirected_tree(topology, price, start), {}, 0});
  }
  return trees;
}

/// The hops of an out-tree of the transposed network, as data goes up.
std::vector<Hop> turned_around(std::vector<Hop> hops) {
  std::reverse(hops.begin(), hops.end());
  for (Hop& hop : hops) {
    std::swap(hop.src, hop.dst);
    std::reverse(hop.route.begin(), hop.route.end());
  }
  return hops;
}

/// The hops of a tree along the mates of its links.
std::vector<Hop> mirrored(const std::vector<Hop>& hops, const Topology& topology) {
  std::vector<Hop> result = turned_around(hops);
  for (Hop& hop : result) {
    for (LinkId& link : hop.route) link = *topology.mate(link);
  }
  return result;
}

/// Any network: the cheapest pairs of an in-tree and an out-tree, for the roots where they are
/// cheapest.
std::vector<ShareTree> price_tree_pairs(const Topology& topology, const Topology& transposed,
                                        const std::vector<Price>& price) {
  const Contraction gather = contract(topology, price), reduce = contract(transposed, price);
  const std::uint32_t n = topology.num_ranks(), tries = std::min(n, kTreesPerRound);
  std::vector<std::pair<Price, Rank>> roots;
  for (std::uint32_t r = 0; r < n; ++r) {
    roots.emplace_back(gather.tree_cost[r] + reduce.tree_cost[r], Rank{r});
  }
  std::partial_sort(roots.begin(), roots.begin() + tries, roots.end());
  std::vector<ShareTree> trees;
  for (std::uint32_t i = 0; i < tries; ++i) {
    const Rank root = roots[i].second;
    trees.push_back({root, cheapest_out_tree(topology, gather, root),
                     turned_around(cheapest_out_tree(transposed, reduce, root)), 0});
  }
  return trees;
}

class Generator {
 public:
  explicit Generator(const Topology& topology)
      : topology_(topology),
        transposed_(topology.transposed()),
        rows_(make_rows(topology)),
        lp_(rows_.capacity) {}

  AllReduceTrees run() {
    add_cheaper(std::vector<Price>(rows_.capacity.size(), 1), -1);
    while (true) {
      lp_.solve();
      std::vector<Price> prices;
      for (const std::int64_t price : lp_.scaled_prices()) prices.emplace_back(price);
      if (add_cheaper(prices, Price(lp_.scaled_cost_limit()))) continue;
      const auto solution = lp_.exact_solution();
      if (!solution) throw std::logic_error("all-reduce program: rounding misled the solver");
      const Price scale = common_denominator(solution->prices);
      prices.clear();
      for (const Exact& price : solution->prices) prices.push_back(scaled(price, scale));
      if (!add_cheaper(prices, scale)) return result(*solution);
    }
  }

 private:
  /// Adds trees that cost less than `limit` (any if negative). \returns whether there are any.
  bool add_cheaper(const std::vector<Price>& row_price, const Price& limit) {
    std::vector<Price> price;
    spread_prices(topology_, rows_, row_price, price);
    bool added = false;
    for (ShareTree& tree : candidates(price)) {
      const std::vector<RowUse> uses = uses_of(tree, rows_);
      if (limit >= 0 && cost_of(uses, row_price) >= limit) continue;
      if (std::find(trees_.begin(), trees_.end(), tree) != trees_.end()) continue;
      lp_.add_column(uses);
      trees_.push_back(std::move(tree));
      added = true;
    }
    return added;
  }

  AllReduceTrees result(const PackingLp::Solution& solution) {
    AllReduceTrees result;
    const Exact total = std::accumulate(solution.weights.begin(), solution.weights.end(), Exact(0));
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      if (solution.weights[t] == 0) continue;
      result.trees.push_back(std::move(trees_[t]));
      ShareTree& tree = result.trees.back();
      tree.weight = solution.weights[t] / total;
      if (topology_.is_symmetric()) tree.reduce = mirrored(tree.gather, topology_);
    }
    for (const std::uint32_t row : rows_.of_link) {
      result.link_prices.push_back(solution.prices[row]);
    }
    return result;
  }

  std::vector<ShareTree> candidates(const std::vector<Price>& price) {
    return topology_.is_symmetric() ? price_mirrored_trees(topology_, price, round_++)
                                    : price_tree_pairs(topology_, transposed_, price);
  }

  const Topology& topology_;
  Topology transposed_;
  Rows rows_;
  PackingLp lp_;
  std::vector<ShareTree> trees_;
  std::uint32_t round_ = 0;
};

}  // namespace

AllReduceTrees solve_all_reduce_trees(const Topology& topology) {
  return Generator(topology).run();
}

}  // namespace multitree
