// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Concurrent multicommodity flow by prices that grow with the load.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "algorithms/traffic/concurrent_flow_internal.hpp"

namespace multitree {
namespace {

using Flow = std::vector<double>;  // by link

/// Rounds in which all sources move together.
constexpr unsigned kTogether = 24;
/// How steep prices are in the first round, how much steeper they may be from one to the next, and
/// how steep they are in the end: by the logarithm of the links over the gap that is left.
constexpr double kFirstSteepness = 8, kSteeper = 1.2, kSteepness = 0.5;
/// So many rounds in which the gap does not get smaller by this share make prices steeper too.
constexpr unsigned kPatience = 30;
constexpr double kProgress = 0.99;
/// Least price over largest: every link costs something, so cheapest paths have no loops.
constexpr double kLeastPrice = 1e-9;
/// Paths so little longer than the cheapest share the flow with it.
constexpr double kTie = 1e-9;

class FlowRouter {
 public:
  FlowRouter(const Topology& topology, const Demand& demand)
      : topology_(topology),
        demand_(demand),
        carried_(topology.num_links(), 0),
        price_(topology.num_links(), 0) {
    for (const Link& link : topology.links()) {
      bandwidth_.push_back(static_cast<double>(link.bandwidth.bytes_per_second));
    }
    flow_.of_source.assign(topology.num_ranks(), Flow(topology.num_links(), 0));
    for (std::size_t l = 0; l < price_.size(); ++l) price_[l] = 1 / bandwidth_[l];
  }

  ConcurrentFlow run(double tolerance, unsigned most_rounds) {
    move_together(1);  // the first paths are the shortest in time
    double steepness = kFirstSteepness, least_gap = std::numeric_limits<double>::infinity();
    unsigned stalled = 0;
    for (unsigned round = 0; round < most_rounds; ++round) {
      set_prices(steepness);
      if (round < kTogether) {
        improve_together(steepness);
      } else {
        for (std::uint32_t s = 0; s < topology_.num_ranks(); ++s) improve(s, steepness);
        set_prices(steepness);
        keep_bound(total_of_paths());
      }
      if (busiest() <= (1 + tolerance) * flow_.bound) break;
      const double gap = std::max(busiest() / flow_.bound - 1, tolerance);
      const double near = kSteepness * std::log(static_cast<double>(carried_.size())) / gap;
      steepness = std::max(steepness, std::min(kSteeper * steepness, near));
      stalled = gap < kProgress * least_gap ? 0 : stalled + 1;
      if (stalled == 0) least_gap = gap;
      if (stalled < kPatience) continue;
      steepness *= kSteeper;
      stalled = 0;
    }
    flow_.load = busiest();
    return std::move(flow_);
  }

 private:
  [[nodiscard]] double busiest() const {
    double most = 0;
    for (std::size_t l = 0; l < carried_.size(); ++l) {
      most = std::max(most, carried_[l] / bandwidth_[l]);
    }
    return most;
  }

  /// exp(steepness * load / busiest) per byte, the steepest 1 over its bandwidth.
  void set_prices(double steepness) {
    const double most = busiest();
    for (std::size_t l = 0; l < price_.size(); ++l) {
      const double load = carried_[l] / bandwidth_[l] / most;
      price_[l] = std::max(std::exp(steepness * (load - 1)), kLeastPrice) / bandwidth_[l];
    }
  }

  /// Distances of all nodes from a source, and the nodes in that order.
  void measure(std::uint32_t source);
  /// What a source's demand pays on cheapest paths. \pre measure().
  [[nodiscard]] double paid(std::uint32_t source) const;
  /// Adds the demand of a source to `onto`, on cheapest paths, evenly where there are several.
  /// \pre measure().
  void spread(std::uint32_t source, Flow& onto);
  [[nodiscard]] double total_of_paths();
  void keep_bound(double total);
  void move_together(double share);
  void improve_together(double steepness);
  void improve(std::uint32_t source, double steepness);
  [[nodiscard]] double best_share(const Flow& change, double steepness) const;

  const Topology& topology_;
  const Demand& demand_;
  Flow bandwidth_, carried_, price_;
  ConcurrentFlow flow_;
  std::vector<double> distance_, wanted_;
  std::vector<std::uint32_t> order_;
};

void FlowRouter::measure(std::uint32_t source) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  using Reached = std::pair<double, std::uint32_t>;
  distance_.assign(topology_.num_nodes(), kFar);
  order_.clear();
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  const std::uint32_t start = index(topology_.node_of(Rank{source}));
  distance_[start] = 0;
  queue.emplace(0.0, start);
  while (!queue.empty()) {
    const auto [so_far, node] = queue.top();
    queue.pop();
    if (so_far > distance_[node]) continue;
    order_.push_back(node);
    for (const LinkId id : topology_.out_links(NodeId{node})) {
      const std::uint32_t next = index(topology_.link(id).dst);
      const double there = so_far + price_[index(id)];
      if (there >= distance_[next]) continue;
      distance_[next] = there;
      queue.emplace(there, next);
    }
  }
}

double FlowRouter::paid(std::uint32_t source) const {
  double sum = 0;
  for (std::uint32_t t = 0; t < topology_.num_ranks(); ++t) {
    if (t == source) continue;
    sum += static_cast<double>(demand_.at(Rank{source}, Rank{t})) *
           distance_[index(topology_.node_of(Rank{t}))];
  }
  return sum;
}

void FlowRouter::spread(std::uint32_t source, Flow& onto) {
  wanted_.assign(topology_.num_nodes(), 0);
  for (std::uint32_t t = 0; t < topology_.num_ranks(); ++t) {
    if (t == source) continue;
    wanted_[index(topology_.node_of(Rank{t}))] +=
        static_cast<double>(demand_.at(Rank{source}, Rank{t}));
  }
  std::vector<LinkId> tight;
  for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
    if (wanted_[*node] <= 0 || distance_[*node] == 0) continue;
    tight.clear();
    for (const LinkId id : topology_.in_links(NodeId{*node})) {
      const double before = distance_[index(topology_.link(id).src)];
      const bool leads = before < distance_[*node];
      if (leads && before + price_[index(id)] <= distance_[*node] * (1 + kTie)) tight.push_back(id);
    }
    const double part = wanted_[*node] / static_cast<double>(tight.size());
    for (const LinkId id : tight) {
      onto[index(id)] += part;
      wanted_[index(topology_.link(id).src)] += part;
    }
  }
}

double FlowRouter::total_of_paths() {
  double total = 0;
  for (std::uint32_t s = 0; s < topology_.num_ranks(); ++s) {
    measure(s);
    total += paid(s);
  }
  return total;
}

/// Keeps the prices that prove the most.
void FlowRouter::keep_bound(double total) {
  double earned = 0;
  for (std::size_t l = 0; l < price_.size(); ++l) earned += price_[l] * bandwidth_[l];
  if (total / earned <= flow_.bound) return;
  flow_.bound = total / earned;
  flow_.price = price_;
  const double largest = *std::ranges::max_element(flow_.price);
  for (double& price : flow_.price) price /= largest;
}

/// Moves a share of all flows to the paths that are cheapest now.
void FlowRouter::move_together(double share) {
  std::ranges::fill(carried_, 0.0);
  double total = 0;
  Flow cheapest(carried_.size());
  for (std::uint32_t s = 0; s < topology_.num_ranks(); ++s) {
    measure(s);
    total += paid(s);
    std::ranges::fill(cheapest, 0.0);
    spread(s, cheapest);
    Flow& flow = flow_.of_source[s];
    for (std::size_t l = 0; l < flow.size(); ++l) {
      flow[l] += share * (cheapest[l] - flow[l]);
      carried_[l] += flow[l];
    }
  }
  keep_bound(total);
}

void FlowRouter::improve_together(double steepness) {
  Flow change(carried_.size(), 0);
  double total = 0;
  for (std::uint32_t s = 0; s < topology_.num_ranks(); ++s) {
    measure(s);
    total += paid(s);
    spread(s, change);
  }
  keep_bound(total);
  for (std::size_t l = 0; l < change.size(); ++l) change[l] -= carried_[l];
  const double share = best_share(change, steepness);
  if (share > 0) move_together(share);
}

void FlowRouter::improve(std::uint32_t source, double steepness) {
  set_prices(steepness);
  measure(source);
  Flow change(carried_.size(), 0);
  spread(source, change);
  Flow& flow = flow_.of_source[source];
  for (std::size_t l = 0; l < change.size(); ++l) change[l] -= flow[l];
  const double share = best_share(change, steepness);
  for (std::size_t l = 0; l < change.size(); ++l) {
    flow[l] += share * change[l];
    carried_[l] = std::max(0.0, carried_[l] + share * change[l]);
  }
}

/// The share of `change` at which the sum of exp(steepness * load) is least, by bisection.
double FlowRouter::best_share(const Flow& change, double steepness) const {
  struct Part {
    double load, change;
  };
  std::vector<Part> parts;
  const double most = busiest();
  for (std::size_t l = 0; l < change.size(); ++l) {
    if (change[l] == 0) continue;
    parts.push_back({carried_[l] / bandwidth_[l] / most, change[l] / bandwidth_[l] / most});
  }
  const auto slope = [&](double share) {
    double sum = 0;
    for (const Part& part : parts) {
      sum += part.change * std::exp(steepness * (part.load + share * part.change - 1));
    }
    return sum;
  };
  double low = 0, high = 1;
  if (!(slope(0) < 0)) return 0;
  if (slope(1) <= 0) return 1;
  for (int i = 0; i < 14; ++i) {
    const double middle = (low + high) / 2;
    (slope(middle) < 0 ? low : high) = middle;
  }
  return low;
}

}  // namespace

ConcurrentFlow route_concurrently(const Topology& topology, const Demand& demand, double tolerance,
                                  unsigned most_rounds) {
  return FlowRouter(topology, demand).run(tolerance, most_rounds);
}

}  // namespace multitree
