// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exact bandwidth bounds by minimum cuts, and the diameter.
#include "algorithms/bounds.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/cut_finder_internal.hpp"
#include "algorithms/near_flow_internal.hpp"
#include "algorithms/written_out.hpp"

namespace multitree {
namespace {

using cuts::CutFinder;
using cuts::fail_too_fine;
using cuts::Flow;
using cuts::kMaxBandwidth;
using cuts::NearFlow;

/// Whether the sum of two bounds can be formed in 64 bits.
bool can_add(const Rational& a, const Rational& b) {
  using Wide = unsigned __int128;
  const auto common = std::gcd(a.denominator(), b.denominator());
  const Wide scale_a = Wide(b.denominator() / common), scale_b = Wide(a.denominator() / common);
  return scale_a * Wide(a.denominator()) <= Wide{kMaxBandwidth} &&
         scale_a * Wide(a.numerator()) + scale_b * Wide(b.numerator()) <= Wide{kMaxBandwidth};
}

/// Ranks in breadth-first order from rank 0: each is near one before it, which keeps flows short.
std::vector<Rank> breadth_first_ranks(const Topology& topology) {
  std::vector<Rank> order;
  BreadthFirst search(topology.num_nodes());
  search.run(index(topology.node_of(Rank{0})), [&](std::uint32_t node) {
    if (topology.node(NodeId{node}).rank) order.push_back(*topology.node(NodeId{node}).rank);
    for (const LinkId id : topology.out_links(NodeId{node})) {
      search.meet(index(topology.link(id).dst));
    }
  });
  return order;
}

/// A node set as a candidate bottleneck: its ranks, the bandwidth that leaves it, and the other
/// nodes.
struct Cut {
  std::vector<Rank> ranks;
  Flow leaving = 0;
  std::vector<NodeId> far;
};

template <typename Contains>
Cut make_cut(const Topology& topology, const CutFinder& finder, const Contains& contains) {
  Cut cut;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    if (contains(topology.node_of(Rank{r}))) cut.ranks.push_back(Rank{r});
  }
  for (std::uint32_t node = 0; node < topology.num_nodes(); ++node) {
    if (!contains(NodeId{node})) cut.far.push_back(NodeId{node});
  }
  for (const Link& link : topology.links()) {
    if (contains(link.src) && !contains(link.dst)) cut.leaving += finder.units(link);
  }
  return cut;
}

/// All ranks but the one of `sinks` that is hardest to reach, the lowest of equals.
Cut first_cut(const Topology& topology, const CutFinder& finder, std::span<const Rank> sinks) {
  Rank worst = sinks.front();
  Flow least = kMaxBandwidth;
  for (const Rank r : sinks) {
    Flow entering = 0;
    for (const LinkId id : topology.in_links(topology.node_of(r))) {
      entering += finder.units(topology.link(id));
    }
    if (entering < least || (entering == least && r < worst)) {
      least = entering;
      worst = r;
    }
  }
  return make_cut(topology, finder, [&](NodeId node) { return node != topology.node_of(worst); });
}

/// The set S, missing one of `sinks`, with most ranks(S) / bandwidth leaving S.
///
/// Newton's method: for the current ratio, every rank supplies `leaving` units and links are scaled
/// by ranks(S); a rank v that cannot collect everybody's supply yields a worse cut. Once no bad cut
/// misses v, none will for harsher ratios either, so v joins the source for the ranks that follow:
/// their flows only need to reach the nearest rank already done. Most often that is seen without a
/// flow of the whole network.
Cut worst_cut(const Topology& topology, std::span<const Rank> sinks) {
  CutFinder finder(topology);
  Cut cut = first_cut(topology, finder, sinks);
  const Flow n = topology.num_ranks();
  std::vector<bool> done(topology.num_ranks(), false), is_done(topology.num_nodes(), false);
  NearFlow near(topology, finder);
  for (const Rank v : sinks) {
    while (true) {
      const Flow supply = cut.leaving, scale = static_cast<Flow>(cut.ranks.size());
      if (near.reaches(topology.node_of(v), supply * (n - 1), scale, is_done)) break;
      std::vector<Flow> supplies(topology.num_ranks(), supply);
      for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
        if (done[r]) supplies[r] = supply * n;
      }
      finder.set_capacities(scale, supplies);
      if (finder.max_flow(v) >= supply * n) break;
      cut = make_cut(topology, finder, [&](NodeId node) { return finder.in_source_side(node); });
    }
    done[index(v)] = true;
    is_done[index(topology.node_of(v))] = true;
  }
  return cut;
}

/// ranks(S) / leaving(S) in shard times.
Rational shard_times(const Cut& cut, const CutFinder& finder, const Topology& topology) {
  const auto unit =
      static_cast<std::int64_t>(topology.unit_bandwidth().bytes_per_second / finder.unit());
  return Rational(static_cast<std::int64_t>(cut.ranks.size())) *
         Rational(unit, static_cast<std::int64_t>(cut.leaving));
}

/// A bound and the cut that proves it.
struct AllGatherBound {
  Rational value = 0;
  Cut cut;
};

AllGatherBound all_gather_bound(const Topology& topology) {
  if (topology.num_ranks() < 2) return {};
  AllGatherBound bound{.value = 0, .cut = worst_cut(topology, breadth_first_ranks(topology))};
  bound.value = shard_times(bound.cut, CutFinder(topology), topology);
  return bound;
}

/// Rank-to-rank hops from one rank to the farthest: entering a rank costs one, a switch nothing.
FarthestRank farthest(const Topology& topology, Rank from, BreadthFirst& search) {
  search.run(index(topology.node_of(from)), [&](std::uint32_t node) {
    for (const LinkId id : topology.out_links(NodeId{node})) {
      const NodeId next = topology.link(id).dst;
      if (topology.node(next).is_switch()) {
        search.meet_beside(index(next));
      } else {
        search.meet(index(next));
      }
    }
  });
  FarthestRank farthest{.rank = from, .hops = 0};
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const std::uint32_t to = search.hops(index(topology.node_of(Rank{r})));
    if (to > farthest.hops) farthest = {.rank = Rank{r}, .hops = to};
  }
  return farthest;
}

/// By rank: what its distance to the farthest cannot exceed, by way of a rank in the middle. For
/// networks whose links have mates, where a way back is as long.
class FarthestAtMost {
 public:
  FarthestAtMost(const Topology& topology, BreadthFirst& search) {
    if (!topology.is_symmetric()) return;
    // Twice two ends that are far apart: those of a second pair lie where the first leaves it open.
    std::vector<std::uint32_t> to_ends(topology.num_ranks(), 0);
    Rank middle{0};
    for (int pair = 0; pair < 2; ++pair) {
      const Rank one = farthest(topology, middle, search).rank;
      const Rank other = farthest(topology, one, search).rank;
      add(to_ends, hops_to(topology, search));
      farthest(topology, other, search);
      add(to_ends, hops_to(topology, search));
      const auto nearest = std::ranges::min_element(to_ends);
      middle = Rank{static_cast<std::uint32_t>(nearest - to_ends.begin())};
    }
    beyond_ = farthest(topology, middle, search).hops;
    to_middle_ = hops_to(topology, search);
  }
  [[nodiscard]] bool may_exceed(Rank rank, std::uint32_t hops) const {
    return to_middle_.empty() || to_middle_[index(rank)] + beyond_ > hops;
  }

 private:
  static void add(std::vector<std::uint32_t>& most, const std::vector<std::uint32_t>& hops) {
    for (std::size_t r = 0; r < most.size(); ++r) most[r] = std::max(most[r], hops[r]);
  }
  /// By rank, as the last search found.
  static std::vector<std::uint32_t> hops_to(const Topology& topology, const BreadthFirst& search) {
    std::vector<std::uint32_t> hops;
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      hops.push_back(search.hops(index(topology.node_of(Rank{r}))));
    }
    return hops;
  }

  std::vector<std::uint32_t> to_middle_;
  std::uint32_t beyond_ = 0;
};

double gigabytes(Rational shards, std::uint32_t ranks, Bandwidth unit) {
  if (shards.numerator() == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(ranks) * static_cast<double>(unit.bytes_per_second) /
         boost::rational_cast<double>(shards) / 1e9;
}

}  // namespace

double Bounds::ideal_algbw() const { return gigabytes(all_reduce(), ranks, unit_bandwidth); }

double Bounds::ideal_busbw() const {
  return ideal_algbw() * (ranks > 1 ? busbw_factor(Collective::AllReduce, ranks) : 1.0);
}

Bounds compute_bounds(const Topology& topology) {
  check_written_out(topology);
  Bounds bounds;
  bounds.ranks = topology.num_ranks();
  bounds.unit_bandwidth = topology.unit_bandwidth();
  AllGatherBound gather = all_gather_bound(topology);
  AllGatherBound scatter =
      topology.is_symmetric() ? gather : all_gather_bound(topology.transposed());
  bounds.all_gather = gather.value;
  bounds.reduce_scatter = scatter.value;
  bounds.bottleneck = std::move(gather.cut.ranks);
  bounds.all_gather_far = std::move(gather.cut.far);
  bounds.reduce_scatter_far = std::move(scatter.cut.far);
  if (!can_add(bounds.all_gather, bounds.reduce_scatter)) fail_too_fine(topology);
  BreadthFirst search(topology.num_nodes());
  const FarthestAtMost at_most(topology, search);
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    if (!at_most.may_exceed(Rank{r}, bounds.diameter)) continue;
    const FarthestRank far = farthest(topology, Rank{r}, search);
    if (far.hops <= bounds.diameter) continue;
    bounds.diameter = far.hops;
    bounds.far_apart = {Rank{r}, far.rank};
  }
  return bounds;
}

FarthestRank farthest_rank(const Topology& topology, Rank from) {
  BreadthFirst search(topology.num_nodes());
  return farthest(topology, from, search);
}

std::uint32_t farthest_hops(const Topology& topology, Rank from) {
  return farthest_rank(topology, from).hops;
}

Rational broadcast_bound(const Topology& topology, Rank root, std::vector<NodeId>* far) {
  if (topology.num_ranks() < 2) return 0;
  CutFinder finder(topology);
  Flow everything = 1;
  for (const Link& link : topology.links()) everything += finder.units(link);
  std::vector<Flow> supplies(topology.num_ranks(), 0);
  supplies[index(root)] = everything;
  Flow least = everything;
  for (const Rank v : breadth_first_ranks(topology)) {
    if (v == root) continue;
    finder.set_capacities(1, supplies);
    const Flow flow = finder.max_flow(v);
    if (flow < least) {
      least = flow;
      if (far != nullptr) *far = finder.smallest_sink_side(v);
    }
    // The least cut that misses v is known now: v joins the source, which shortens the flows to the
    // ranks that follow.
    supplies[index(v)] = everything;
  }
  const auto unit =
      static_cast<std::int64_t>(topology.unit_bandwidth().bytes_per_second / finder.unit());
  return Rational(static_cast<std::int64_t>(topology.num_ranks())) *
         Rational(unit, static_cast<std::int64_t>(least));
}

namespace {

/// Of a chunk that goes from each rank to the root.
Rational gather_bound(const Topology& topology, Rank root, std::vector<NodeId>* far) {
  if (topology.num_ranks() < 2) return 0;
  Cut cut = worst_cut(topology, {&root, 1});
  if (far != nullptr) *far = std::move(cut.far);
  return shard_times(cut, CutFinder(topology), topology);
}

std::vector<NodeId> other_side(const std::vector<NodeId>& side, const Topology& topology) {
  std::vector<NodeId> rest;
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    if (!std::ranges::binary_search(side, NodeId{n})) rest.push_back(NodeId{n});
  }
  return rest;
}

Rational rooted_bound(const Topology& topology, Collective collective, Rank root,
                      std::vector<NodeId>* far) {
  const CollectiveFacts& row = facts(collective);
  if (row.start == Holder::Root && row.end == Holder::Everyone) {
    return broadcast_bound(topology, root, far);
  }
  if (row.start == Holder::Own) return gather_bound(topology, root, far);
  const Rational bound = rooted_bound(topology.transposed(), time_reversed(collective), root, far);
  // What copies crossed one way they now cross the other way; sums are counted backwards anyhow.
  if (!reduces(collective) && far != nullptr && !far->empty()) *far = other_side(*far, topology);
  return bound;
}

}  // namespace

Rational collective_bound(const Bounds& bounds, const Topology& topology, Collective collective,
                          Rank root, std::vector<NodeId>* far) {
  if (collective == Collective::AllReduce) return bounds.all_reduce();
  if (has_root(collective)) return rooted_bound(topology, collective, root, far);
  if (far != nullptr)
    *far = reduces(collective) ? bounds.reduce_scatter_far : bounds.all_gather_far;
  return reduces(collective) ? bounds.reduce_scatter : bounds.all_gather;
}

double busbw_factor(Collective collective, std::uint32_t ranks) {
  const double n = ranks;
  if (is_sharded(collective)) return (n - 1) / n;
  return has_root(collective) ? 1 : 2 * (n - 1) / n;
}

}  // namespace multitree
