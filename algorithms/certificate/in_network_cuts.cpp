// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cuts that every tree of all ranks must cross, as many as prices of links allow.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/certificate/exact_linear_internal.hpp"
#include "algorithms/certificate/in_network.hpp"
#include "algorithms/certificate/metric_trees_internal.hpp"
#include "algorithms/certificate/packing_lp_internal.hpp"
#include "algorithms/flow_graph_internal.hpp"

namespace multitree {
namespace {

using Flow = FlowGraph::Flow;

/// Least cuts between rank 0 and another rank, with one capacity for each link.
class Separator {
 public:
  explicit Separator(const Topology& topology) : topology_(topology), graph_(topology.num_nodes()) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> edges;
    for (const Link& link : topology.links()) {
      const std::uint32_t low = std::min(index(link.src), index(link.dst));
      const std::uint32_t high = std::max(index(link.src), index(link.dst));
      const auto [entry, is_new] = edges.try_emplace({low, high}, 0);
      if (is_new) entry->second = graph_.add_edge_pair(low, high);
      edge_of_.push_back(entry->second + (index(link.src) == low ? 0 : 1));
    }
  }

  void set_capacities(const std::vector<Flow>& of_link) {
    std::vector<Flow> sum(graph_.num_edges(), 0);
    for (std::size_t l = 0; l < of_link.size(); ++l) sum[edge_of_[l]] += of_link[l];
    for (std::size_t e = 0; e < sum.size(); ++e) graph_.set_capacity(e, sum[e]);
  }
  Flow cut_to(Rank rank) { return graph_.boykov_kolmogorov(node(Rank{0}), node(rank)); }
  /// The nodes that could send `rank` more after cut_to(), ascending.
  [[nodiscard]] std::vector<NodeId> far_side(Rank rank) const {
    BreadthFirst search(topology_.num_nodes());
    search.run(node(rank), [&](std::uint32_t at) {
      graph_.for_each_edge_into(at, [&](std::size_t from, std::size_t edge) {
        if (graph_.residual(edge) > 0) search.meet(static_cast<std::uint32_t>(from));
      });
    });
    std::vector<NodeId> side;
    for (std::uint32_t n = 0; n < topology_.num_nodes(); ++n) {
      if (search.has_met(n)) side.push_back(NodeId{n});
    }
    return side;
  }

 private:
  [[nodiscard]] std::uint32_t node(Rank rank) const { return index(topology_.node_of(rank)); }

  const Topology& topology_;
  FlowGraph graph_;
  std::vector<std::size_t> edge_of_;  // by link
};

/// The cuts of the program so far.
class CutPacking {
 public:
  CutPacking(const Topology& topology, std::vector<std::int64_t> prices)
      : topology_(topology), lp_(std::move(prices)) {}

  /// \returns whether it is new
  bool add(std::vector<NodeId> far) {
    if (!known_.insert(far).second) return false;
    std::vector<bool> is_far(topology_.num_nodes(), false);
    for (const NodeId node : far) is_far[index(node)] = true;
    std::vector<RowUse> uses;
    for (std::uint32_t l = 0; l < topology_.num_links(); ++l) {
      const Link& link = topology_.link(LinkId{l});
      if (!is_far[index(link.src)] && is_far[index(link.dst)]) uses.push_back({l, 1});
    }
    lp_.add_column(uses);
    cuts_.push_back(std::move(far));
    return true;
  }

  void pack() {
    constexpr double kScale = 1099511627776, kViolated = 1 - 1e-6;
    Separator separator(topology_);
    for (bool more = true; more;) {
      more = false;
      lp_.solve();
      std::vector<Flow> value;
      for (const double price : lp_.prices()) {
        value.push_back(static_cast<Flow>(std::llround(std::max(0.0, price) * kScale)));
      }
      separator.set_capacities(value);
      for (std::uint32_t r = 1; r < topology_.num_ranks(); ++r) {
        const auto crossing = static_cast<double>(separator.cut_to(Rank{r}));
        if (crossing < kScale * kViolated) more = add(separator.far_side(Rank{r})) || more;
      }
    }
  }

  [[nodiscard]] std::vector<WeightedCut> cuts() const {
    std::vector<WeightedCut> result;
    const auto solution = lp_.exact_solution();
    if (!solution) return result;
    for (std::size_t c = 0; c < cuts_.size(); ++c) {
      const Exact& weight = solution->weights[c];
      if (weight > 0) result.push_back({cuts_[c], weight, weight});
    }
    return result;
  }

 private:
  const Topology& topology_;
  PackingLp lp_;
  std::set<std::vector<NodeId>> known_;
  std::vector<std::vector<NodeId>> cuts_;
};

}  // namespace

std::vector<WeightedCut> heaviest_cuts(const Topology& topology,
                                       const std::vector<Exact>& link_prices) {
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  const Price scale = common_denominator(link_prices);
  std::vector<std::int64_t> prices;
  for (const Exact& price : link_prices) {
    const Price whole = scaled(price, scale);
    if (whole > kMost) return {};
    prices.push_back(static_cast<std::int64_t>(whole));
  }
  CutPacking packing(topology, std::move(prices));
  for (std::uint32_t r = 1; r < topology.num_ranks(); ++r) {
    packing.add({topology.node_of(Rank{r})});
  }
  std::vector<NodeId> others;
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    if (NodeId{n} != topology.node_of(Rank{0})) others.push_back(NodeId{n});
  }
  packing.add(std::move(others));
  packing.pack();
  return packing.cuts();
}

std::vector<NodeId> narrowest_cut(const Topology& topology) {
  Separator separator(topology);
  std::vector<Flow> bandwidth;
  for (const Link& link : topology.links()) {
    bandwidth.push_back(static_cast<Flow>(link.bandwidth.bytes_per_second));
  }
  separator.set_capacities(bandwidth);
  std::optional<Flow> least;
  std::vector<NodeId> far;
  for (std::uint32_t r = 1; r < topology.num_ranks(); ++r) {
    const Flow cut = separator.cut_to(Rank{r});
    if (least && cut >= *least) continue;
    least = cut;
    far = separator.far_side(Rank{r});
  }
  return far;
}

}  // namespace multitree
