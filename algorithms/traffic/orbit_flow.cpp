// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Routes one rank of a Cayley graph; all others are its translates.
#include "algorithms/traffic/orbit_flow.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "algorithms/schedule.hpp"
#include "algorithms/traffic/exact_packing_internal.hpp"

namespace multitree {
namespace {

using Integer = boost::multiprecision::cpp_int;

/// Elements on each generator's arcs, if every element gets one unit along the tree.
std::vector<std::uint64_t> uses_of(const OrbitTree& tree, const std::vector<std::uint32_t>& order,
                                   std::uint32_t degree) {
  std::vector<std::uint64_t> behind(tree.parent.size(), 1), uses(degree, 0);
  for (auto element = order.rbegin(); *element != 0; ++element) {
    uses[tree.generator[*element]] += behind[*element];
    behind[tree.parent[*element]] += behind[*element];
  }
  return uses;
}

/// A tree with how much each generator is used.
struct UsedTree {
  OrbitTree tree;
  std::vector<std::uint64_t> uses;
};

/// The cheapest tree from the identity; of equally cheap paths the one with the fewest arcs, of
/// these one whose last generator comes first, counted from `first`.
UsedTree cheapest_tree(const CayleyGraph& graph, const std::vector<Integer>& price,
                       std::uint32_t first) {
  using Reached = std::tuple<Integer, std::uint32_t, std::uint32_t, std::uint32_t>;
  const std::uint32_t degree = graph.degree();
  const Reached far{Integer(-1), 0, 0, 0};
  std::vector<Reached> best(graph.size(), far);  // price, arcs, turn of the generator, element
  std::vector<bool> done(graph.size(), false);
  std::vector<std::uint32_t> order;
  const std::vector<std::uint32_t> none(graph.size(), 0);
  UsedTree used{{none, none, 0}, {}};
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  queue.emplace(Integer(0), 0, 0, 0);
  best[0] = queue.top();
  while (!queue.empty()) {
    const auto [so_far, arcs, turn, element] = queue.top();
    queue.pop();
    if (done[element]) continue;
    done[element] = true;
    order.push_back(element);
    for (std::uint32_t i = 0; i < degree; ++i) {
      const std::uint32_t generator = (first + i) % degree;
      const std::uint32_t next = graph.apply(element, generator);
      const Reached there{so_far + price[generator], arcs + 1, i, next};
      if (done[next] || (best[next] != far && best[next] <= there)) continue;
      best[next] = there;
      used.tree.parent[next] = element;
      used.tree.generator[next] = generator;
      queue.push(there);
    }
  }
  used.uses = uses_of(used.tree, order, degree);
  return used;
}

/// In a common unit.
std::vector<Integer> whole(const std::vector<Exact>& values, Integer* unit = nullptr) {
  Integer common = 1;
  for (const Exact& value : values) common = lcm(common, denominator(value));
  std::vector<Integer> scaled;
  for (const Exact& value : values) {
    scaled.push_back(numerator(value) * (common / denominator(value)));
  }
  if (unit != nullptr) *unit = common;
  return scaled;
}

Exact cost_of(const std::vector<std::uint64_t>& uses, const std::vector<Exact>& price) {
  Exact cost = 0;
  for (std::size_t s = 0; s < uses.size(); ++s) cost += Exact(uses[s]) * price[s];
  return cost;
}

/// Trees whose mixture loads the busiest generator least, and the prices that prove it.
std::pair<std::vector<UsedTree>, ExactPacking> best_mixture(const CayleyGraph& graph) {
  std::vector<UsedTree> trees;
  const std::vector<Integer> equal(graph.degree(), 1);
  for (std::uint32_t s = 0; s < graph.degree(); ++s) {
    trees.push_back(cheapest_tree(graph, equal, s));
  }
  for (;;) {
    std::vector<std::vector<std::uint64_t>> columns;
    for (const UsedTree& tree : trees) columns.push_back(tree.uses);
    ExactPacking packing = pack_exactly(columns);
    UsedTree next = cheapest_tree(graph, whole(packing.prices), 0);
    if (cost_of(next.uses, packing.prices) >= 1) return {std::move(trees), std::move(packing)};
    trees.push_back(std::move(next));
  }
}

}  // namespace

OrbitFlow::OrbitFlow(CayleyNetwork network, std::vector<OrbitTree> trees, std::vector<Exact> prices)
    : network_(std::move(network)),
      trees_(std::move(trees)),
      price_of_generator_(std::move(prices)) {}

std::uint64_t OrbitFlow::parts() const {
  std::uint64_t sum = 0;
  for (const OrbitTree& tree : trees_) sum += tree.weight;
  return sum;
}

Exact OrbitFlow::load() const {
  std::vector<Integer> carried(network_.graph.degree(), 0);
  for (const OrbitTree& tree : trees_) {
    for (std::uint32_t element = 1; element < tree.parent.size(); ++element) {
      for (std::uint32_t at = element; at != 0; at = tree.parent[at]) {
        carried[tree.generator[at]] += tree.weight;
      }
    }
  }
  const Integer shard = Integer(parts()) * network_.graph.size();
  return Exact(*std::ranges::max_element(carried), shard);
}

std::vector<LinkPrice> OrbitFlow::prices() const {
  std::vector<LinkPrice> prices;
  for (std::uint32_t element = 0; element < network_.graph.size(); ++element) {
    for (std::uint32_t s = 0; s < network_.graph.degree(); ++s) {
      if (price_of_generator_[s] == 0) continue;
      prices.push_back({network_.link(element, s), price_of_generator_[s]});
    }
  }
  std::ranges::sort(prices, {}, &LinkPrice::link);
  return prices;
}

std::vector<FlowPath> OrbitFlow::paths() const {
  const CayleyGraph& graph = network_.graph;
  std::vector<FlowPath> paths;
  std::vector<std::pair<std::vector<std::uint32_t>, std::uint64_t>> words;
  for (std::uint32_t element = 1; element < graph.size(); ++element) {
    words.clear();
    for (const OrbitTree& tree : trees_) {
      std::vector<std::uint32_t> word;
      for (std::uint32_t at = element; at != 0; at = tree.parent[at]) {
        word.push_back(tree.generator[at]);
      }
      std::ranges::reverse(word);
      const auto same = std::ranges::find(words, word, [](const auto& w) { return w.first; });
      if (same != words.end()) {
        same->second += tree.weight;
      } else {
        words.emplace_back(std::move(word), tree.weight);
      }
    }
    for (std::uint32_t source = 0; source < graph.size(); ++source) {
      for (const auto& [word, weight] : words) {
        FlowPath path{Rank{source}, Rank{source}, weight, {}};
        std::uint32_t at = source;
        for (const std::uint32_t generator : word) {
          path.links.push_back(network_.link(at, generator));
          at = graph.apply(at, generator);
        }
        path.target = Rank{at};
        paths.push_back(std::move(path));
      }
    }
  }
  return paths;
}

std::optional<OrbitFlow> find_orbit_flow(const Topology& topology) {
  std::string reason;
  auto network = find_cayley_network(topology, reason);
  if (!network || network->graph.size() < 2) return {};
  auto [trees, packing] = best_mixture(network->graph);
  Integer unit;
  std::vector<Integer> weights = whole(packing.amounts, &unit);
  Integer common = 0, sum = 0;
  for (const Integer& weight : weights) {
    common = gcd(common, weight);
    sum += weight;
  }
  const Integer ranks = network->graph.size();
  if (sum / common * ranks * ranks > Integer(kMaxWeights)) return {};  // weights have no room
  std::vector<OrbitTree> mixture;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (weights[t] == 0) continue;
    trees[t].tree.weight = Integer(weights[t] / common).convert_to<std::uint64_t>();
    mixture.push_back(std::move(trees[t].tree));
  }
  return OrbitFlow(*std::move(network), std::move(mixture), std::move(packing.prices));
}

}  // namespace multitree
