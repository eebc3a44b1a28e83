// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exact bandwidth bounds by minimum cuts, and the diameter.
#include "algorithms/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <deque>
#include <limits>
#include <map>
#include <numeric>

#include "topologies/error.hpp"
#include "topologies/graph.hpp"

namespace multitree {
namespace {

/// Scaled by ranks twice: the bandwidth of a large network in fine units overflows 64 bits.
using Flow = __int128;
constexpr Flow kMaxBandwidth = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void fail_too_fine(const Topology& topology) {
  std::uint64_t unit = 0;
  for (const Link& link : topology.links()) unit = std::gcd(unit, link.bandwidth.bytes_per_second);
  throw Error(
      ErrorCode::Unsupported,
      fmt::format("{}: bandwidths have no common unit coarse enough for exact bounds (their "
                  "greatest common divisor is {} B/s); round them, for example to 1MB/s",
                  topology.name(), unit));
}

/// Whether the sum of two bounds can be formed in 64 bits.
bool can_add(const Rational& a, const Rational& b) {
  using Wide = unsigned __int128;
  const auto common = std::gcd(a.denominator(), b.denominator());
  const Wide scale_a = Wide(b.denominator() / common), scale_b = Wide(a.denominator() / common);
  return scale_a * Wide(a.denominator()) <= Wide{kMaxBandwidth} &&
         scale_a * Wide(a.numerator()) + scale_b * Wide(b.numerator()) <= Wide{kMaxBandwidth};
}

/// Minimum cuts from a super source to one sink, on the network with its bandwidths in units of
/// their greatest common divisor, over and over with other capacities.
class CutFinder {
 public:
  explicit CutFinder(const Topology& topology)
      : topology_(topology), graph_(topology.num_nodes() + 1) {
    for (const Link& link : topology.links()) {
      gcd_ = std::gcd(gcd_, link.bandwidth.bytes_per_second);
    }
    Flow total = 1;
    for (const Link& link : topology.links()) total += units(link);
    if (total > kMaxBandwidth) fail_too_fine(topology);
    join_neighbours();
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      supply_edges_.push_back(add_edge_pair(source(), index(topology.node_of(Rank{r}))));
    }
    prepare();
  }

  /// Bandwidth of a link in common units.
  Flow units(const Link& link) const {
    return static_cast<Flow>(link.bandwidth.bytes_per_second / gcd_);
  }
  std::uint64_t unit() const { return gcd_; }

  /// Capacities: every link its units times `scale`, the source to rank r supply[r].
  void set_capacities(Flow scale, const std::vector<Flow>& supply) {
    for (std::size_t e = 0; e < bandwidth_.size(); ++e) capacity_[e] = bandwidth_[e] * scale;
    for (std::size_t r = 0; r < supply.size(); ++r) capacity_[supply_edges_[r]] = supply[r];
  }

  Flow max_flow(Rank sink) {
    const auto edges = boost::get(boost::edge_index, graph_);
    const auto vertices = boost::get(boost::vertex_index, graph_);
    return boost::boykov_kolmogorov_max_flow(
        graph_, boost::make_iterator_property_map(capacity_.begin(), edges),
        boost::make_iterator_property_map(residual_.begin(), edges),
        boost::make_iterator_property_map(reverse_.begin(), edges),
        boost::make_iterator_property_map(predecessor_.begin(), vertices),
        boost::make_iterator_property_map(color_.begin(), vertices),
        boost::make_iterator_property_map(distance_.begin(), vertices), vertices, source(),
        index(topology_.node_of(sink)));
  }

  /// Whether a node is on the source side of the minimum cut of the last max_flow().
  bool in_source_side(NodeId node) const { return color_[index(node)] == boost::black_color; }

 private:
  using FlowGraph =
      boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                            boost::property<boost::edge_index_t, std::size_t>>;
  using Edge = boost::graph_traits<FlowGraph>::edge_descriptor;

  std::size_t source() const { return topology_.num_nodes(); }

  /// One edge each way between every two neighbours, its capacity the sum of the links that way.
  /// The flow algorithm of Boost is wrong on graphs with parallel edges.
  void join_neighbours() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> edges;
    for (const Link& link : topology_.links()) {
      const std::uint32_t low = std::min(index(link.src), index(link.dst));
      const std::uint32_t high = std::max(index(link.src), index(link.dst));
      const auto [entry, is_new] = edges.try_emplace({low, high}, 0);
      if (is_new) entry->second = add_edge_pair(low, high);
      const std::size_t edge = entry->second + (index(link.src) == low ? 0 : 1);
      bandwidth_.resize(reverse_.size(), 0);
      bandwidth_[edge] += units(link);
    }
  }

  /// Edge id from -> to, and id + 1 back.
  std::size_t add_edge_pair(std::size_t from, std::size_t to) {
    const std::size_t id = reverse_.size();
    const Edge forward = boost::add_edge(from, to, id, graph_).first;
    const Edge backward = boost::add_edge(to, from, id + 1, graph_).first;
    reverse_.push_back(backward);
    reverse_.push_back(forward);
    return id;
  }

  void prepare() {
    capacity_.assign(reverse_.size(), 0);
    residual_.assign(reverse_.size(), 0);
    predecessor_.resize(boost::num_vertices(graph_));
    color_.resize(boost::num_vertices(graph_));
    distance_.resize(boost::num_vertices(graph_));
  }

  const Topology& topology_;
  FlowGraph graph_;
  std::uint64_t gcd_ = 0;
  std::vector<Flow> bandwidth_;            // of the edges between neighbours, in common units
  std::vector<std::size_t> supply_edges_;  // by rank
  std::vector<Flow> capacity_, residual_;
  std::vector<Edge> reverse_, predecessor_;
  std::vector<boost::default_color_type> color_;
  std::vector<std::int64_t> distance_;
};

/// Ranks in breadth-first order from rank 0: each is near one before it, which keeps flows short.
std::vector<Rank> breadth_first_ranks(const Topology& topology) {
  std::vector<Rank> order;
  std::vector<bool> seen(topology.num_nodes(), false);
  std::deque<NodeId> queue{topology.node_of(Rank{0})};
  seen[index(queue.front())] = true;
  while (!queue.empty()) {
    const NodeId node = queue.front();
    queue.pop_front();
    if (topology.node(node).rank) order.push_back(*topology.node(node).rank);
    for (const LinkId id : topology.out_links(node)) {
      const NodeId next = topology.link(id).dst;
      if (!seen[index(next)]) {
        seen[index(next)] = true;
        queue.push_back(next);
      }
    }
  }
  return order;
}

/// A node set as a candidate bottleneck: its ranks, and the bandwidth that leaves it.
struct Cut {
  std::vector<Rank> ranks;
  Flow leaving = 0;
};

template <typename Contains>
Cut make_cut(const Topology& topology, const CutFinder& finder, const Contains& contains) {
  Cut cut;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    if (contains(topology.node_of(Rank{r}))) cut.ranks.push_back(Rank{r});
  }
  for (const Link& link : topology.links()) {
    if (contains(link.src) && !contains(link.dst)) cut.leaving += finder.units(link);
  }
  return cut;
}

/// All ranks but the one that is hardest to reach.
Cut first_cut(const Topology& topology, const CutFinder& finder) {
  Rank worst{0};
  Flow least = kMaxBandwidth;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    Flow entering = 0;
    for (const LinkId id : topology.in_links(topology.node_of(Rank{r}))) {
      entering += finder.units(topology.link(id));
    }
    if (entering < least) {
      least = entering;
      worst = Rank{r};
    }
  }
  return make_cut(topology, finder, [&](NodeId node) { return node != topology.node_of(worst); });
}

/// The set S, missing a rank, with most ranks(S) / bandwidth leaving S.
///
/// Newton's method: for the current ratio, every rank supplies `leaving` units and links are scaled
/// by ranks(S); a rank v that cannot collect everybody's supply yields a worse cut. Once no bad cut
/// misses v, none will for harsher ratios either, so v joins the source for the ranks that follow:
/// their flows only need to reach the nearest rank already done.
Cut worst_cut(const Topology& topology) {
  CutFinder finder(topology);
  Cut cut = first_cut(topology, finder);
  const Flow n = topology.num_ranks();
  std::vector<bool> done(topology.num_ranks(), false);
  for (const Rank v : breadth_first_ranks(topology)) {
    while (true) {
      const Flow supply = cut.leaving;
      std::vector<Flow> supplies(topology.num_ranks(), supply);
      for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
        if (done[r]) supplies[r] = supply * n;
      }
      finder.set_capacities(static_cast<Flow>(cut.ranks.size()), supplies);
      if (finder.max_flow(v) >= supply * n) break;
      cut = make_cut(topology, finder, [&](NodeId node) { return finder.in_source_side(node); });
    }
    done[index(v)] = true;
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

Rational all_gather_bound(const Topology& topology, std::vector<Rank>* bottleneck) {
  if (topology.num_ranks() < 2) return 0;
  Cut cut = worst_cut(topology);
  const Rational bound = shard_times(cut, CutFinder(topology), topology);
  if (bottleneck != nullptr) *bottleneck = std::move(cut.ranks);
  return bound;
}

/// Rank-to-rank hops from one rank to the farthest: entering a rank costs one, a switch nothing.
std::uint32_t eccentricity(const Topology& topology, Rank from, std::vector<std::uint32_t>& hops) {
  hops.assign(topology.num_nodes(), std::numeric_limits<std::uint32_t>::max());
  std::deque<NodeId> queue{topology.node_of(from)};
  hops[index(queue.front())] = 0;
  std::uint32_t farthest = 0;
  while (!queue.empty()) {
    const NodeId node = queue.front();
    queue.pop_front();
    const std::uint32_t here = hops[index(node)];
    for (const LinkId id : topology.out_links(node)) {
      const NodeId next = topology.link(id).dst;
      const bool is_switch = topology.node(next).is_switch();
      const std::uint32_t there = here + (is_switch ? 0 : 1);
      if (there >= hops[index(next)]) continue;
      hops[index(next)] = there;
      if (is_switch) {
        queue.push_front(next);
      } else {
        queue.push_back(next);
      }
    }
  }
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    farthest = std::max(farthest, hops[index(topology.node_of(Rank{r}))]);
  }
  return farthest;
}

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
  Bounds bounds;
  bounds.ranks = topology.num_ranks();
  bounds.unit_bandwidth = topology.unit_bandwidth();
  bounds.all_gather = all_gather_bound(topology, &bounds.bottleneck);
  bounds.reduce_scatter = topology.is_symmetric()
                              ? bounds.all_gather
                              : all_gather_bound(topology.transposed(), nullptr);
  if (!can_add(bounds.all_gather, bounds.reduce_scatter)) fail_too_fine(topology);
  std::vector<std::uint32_t> hops;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    bounds.diameter = std::max(bounds.diameter, eccentricity(topology, Rank{r}, hops));
  }
  return bounds;
}

std::uint32_t farthest_hops(const Topology& topology, Rank from) {
  std::vector<std::uint32_t> hops;
  return eccentricity(topology, from, hops);
}

Rational broadcast_bound(const Topology& topology, Rank root) {
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
    least = std::min(least, finder.max_flow(v));
    // Cuts that miss v are known now: later ones may take v for reached.
    supplies[index(v)] = everything;
  }
  const auto unit =
      static_cast<std::int64_t>(topology.unit_bandwidth().bytes_per_second / finder.unit());
  return Rational(static_cast<std::int64_t>(topology.num_ranks())) *
         Rational(unit, static_cast<std::int64_t>(least));
}

Rational collective_bound(const Bounds& bounds, const Topology& topology, Collective collective,
                          Rank root) {
  switch (collective) {
    case Collective::AllReduce:
      return bounds.all_reduce();
    case Collective::ReduceScatter:
      return bounds.reduce_scatter;
    case Collective::AllGather:
      return bounds.all_gather;
    case Collective::Broadcast:
      return broadcast_bound(topology, root);
    case Collective::Reduce:
      return broadcast_bound(topology.transposed(), root);
  }
  return 0;
}

double busbw_factor(Collective collective, std::uint32_t ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::AllReduce:
      return 2 * (n - 1) / n;
    case Collective::ReduceScatter:
    case Collective::AllGather:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace multitree
