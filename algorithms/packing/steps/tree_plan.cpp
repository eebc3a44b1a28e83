// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Orders of arcs at ranks, longest chains, and link times in whole numbers.
#include "algorithms/packing/steps/tree_plan_internal.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace multitree {
namespace {

using Wide = unsigned __int128;

/// The longest time of one chunk is less than 2^40 ticks, so that 2^22 of them can follow on one
/// another.
constexpr std::uint64_t kMostTicks = std::uint64_t{1} << 40;
constexpr unsigned kFraction = 24;  // bits of the longest time where it has to be rounded

/// The least number that all bandwidths divide; 0 if that is more than `most`.
std::uint64_t common_multiple(const Topology& topology, std::uint64_t most) {
  std::uint64_t multiple = 1;
  for (const Link& link : topology.links()) {
    const std::uint64_t bandwidth = link.bandwidth.bytes_per_second;
    const Wide next = Wide{multiple} / std::gcd(multiple, bandwidth) * bandwidth;
    if (next > most) return 0;
    multiple = static_cast<std::uint64_t>(next);
  }
  return multiple;
}

/// Longest chains of transfers from each arc on. Copies are listed parents first, reductions
/// children first.
void measure(TreePlan& plan, Rank root, const std::vector<Ticks>& arc_times) {
  plan.to_end.assign(plan.arcs.size(), 0);
  std::vector<Ticks> below(plan.children.size(), 0);  // what follows a copy to a rank
  for (std::uint32_t a = static_cast<std::uint32_t>(plan.arcs.size()); a-- > plan.reductions;) {
    Ticks& to_end = plan.to_end[a];
    for (const TreeArc& arc : plan.arcs[a].arcs) {
      to_end = std::max(to_end, below[index(arc.dst)] + arc_times[a]);
    }
    Ticks& at_source = below[index(plan.arcs[a].arcs.front().src)];
    at_source = std::max(at_source, to_end);
  }
  std::vector<Ticks> above(plan.children.size(), 0);
  above[index(root)] = below[index(root)];
  for (std::uint32_t a = plan.reductions; a-- > 0;) {
    plan.to_end[a] = above[index(plan.arcs[a].arcs.front().dst)] + arc_times[a];
    for (const TreeArc& arc : plan.arcs[a].arcs) above[index(arc.src)] = plan.to_end[a];
  }
}

/// Reductions to one rank in the order in which they would arrive in an empty network; of those at
/// the same time the lowest rank's first.
void order_reductions(TreePlan& plan, const std::vector<Ticks>& arc_times) {
  std::vector<Ticks> summed(plan.children.size(), 0);  // by rank: when all has arrived
  std::vector<std::tuple<Rank, Ticks, Rank, std::uint32_t>> order;
  for (std::uint32_t a = 0; a < plan.reductions; ++a) {
    const TreeArc& arc = plan.arcs[a].arcs.front();
    const Ticks arrival = summed[index(arc.src)] + arc_times[a];
    summed[index(arc.dst)] = std::max(summed[index(arc.dst)], arrival);
    order.emplace_back(arc.dst, arrival, arc.src, a);
  }
  std::ranges::sort(order);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (std::get<0>(order[i - 1]) != std::get<0>(order[i])) continue;
    const std::uint32_t one = std::get<3>(order[i - 1]), next = std::get<3>(order[i]);
    plan.after[one] = next;
    plan.before[next] = one;
  }
}

/// `arc_times`: by arc, reductions first, from its start until the receiver may pass data on, of
/// which `lags` after it has arrived.
TreePlan plan_tree(std::vector<ArcGroup> arcs, std::uint32_t reductions, Rank root,
                   std::uint32_t ranks, const std::vector<Ticks>& arc_times,
                   std::vector<Ticks> lags) {
  TreePlan plan;
  plan.arcs = std::move(arcs);
  plan.lags = std::move(lags);
  plan.reductions = reductions;
  plan.children.assign(ranks, 0);
  plan.reduction.assign(ranks, kNoArc);
  plan.copy_begin.assign(ranks + 1, 0);
  for (std::uint32_t a = 0; a < plan.arcs.size(); ++a) {
    const TreeArc& first = plan.arcs[a].arcs.front();
    if (a < plan.reductions) {
      ++plan.children[index(first.dst)];
      for (const TreeArc& arc : plan.arcs[a].arcs) plan.reduction[index(arc.src)] = a;
    } else {
      ++plan.copy_begin[index(first.src) + 1];
    }
  }
  std::partial_sum(plan.copy_begin.begin(), plan.copy_begin.end(), plan.copy_begin.begin());
  plan.copies.resize(plan.arcs.size() - plan.reductions);
  std::vector<std::uint32_t> next(plan.copy_begin.begin(), plan.copy_begin.end() - 1);
  for (std::uint32_t a = plan.reductions; a < plan.arcs.size(); ++a) {
    plan.copies[next[index(plan.arcs[a].arcs.front().src)]++] = a;
  }
  plan.before.assign(plan.reductions, kNoArc);
  plan.after.assign(plan.reductions, kNoArc);
  measure(plan, root, arc_times);
  return plan;
}

LinkId slowest_link(const Topology& topology) {
  return LinkId{static_cast<std::uint32_t>(
      std::ranges::min_element(topology.links(), {}, &Link::bandwidth) - topology.links().begin())};
}

/// Ticks in a second, where the chunks together are a buffer of so many bytes. \pre has links
double ticks_per_second(const Chunking& chunking, const Topology& topology, const TickClock& clock,
                        std::uint64_t bytes) {
  double whole = 0;
  std::uint64_t heaviest = 0;
  for (const Chunk& chunk : chunking.chunks) {
    whole += static_cast<double>(chunk.weight);
    heaviest = std::max<std::uint64_t>(heaviest, chunk.weight);
  }
  const LinkId link = slowest_link(topology);
  const double seconds = static_cast<double>(bytes) * static_cast<double>(heaviest) / whole /
                         static_cast<double>(topology.link(link).bandwidth.bytes_per_second);
  return static_cast<double>(clock.time(heaviest, link)) / seconds;
}

/// How long data that has passed all links is not passed on yet, by arc.
class Lags {
 public:
  Lags(const Chunking& chunking, const Topology& topology, const TickClock& clock,
       const TimingOptions& options)
      : topology_(topology) {
    if (topology.num_links() == 0) return;
    if (options.costs) {
      ticks_per_second_ = ticks_per_second(chunking, topology, clock, options.costs->bytes);
      same_ = in_ticks(options.costs->message);
    } else if (options.lag > 0) {
      const Ticks chunk = clock.time(chunking.chunks[0].weight, slowest_link(topology));
      same_ = options.lag * chunk / options.lag_parts;
    }
  }

  [[nodiscard]] Ticks in_ticks(Time time) const {
    return static_cast<Ticks>(time.seconds() * ticks_per_second_);
  }
  [[nodiscard]] Ticks of(const ArcGroup& arc) const {
    Time latency;
    for (const LinkId link : arc.links) {
      latency.picoseconds += topology_.link(link).latency.picoseconds;
    }
    return same_ + in_ticks(latency);
  }

 private:
  const Topology& topology_;
  Ticks same_ = 0;
  double ticks_per_second_ = 0;  // 0: latencies do not count
};

}  // namespace

TickClock::TickClock(const Chunking& chunking, const Topology& topology) {
  std::uint64_t heaviest = 1;
  for (const Chunk& chunk : chunking.chunks)
    heaviest = std::max<std::uint64_t>(heaviest, chunk.weight);
  const std::uint64_t slowest =
      std::max<std::uint64_t>(1, topology.unit_bandwidth().bytes_per_second);
  const Wide most = Wide{kMostTicks / heaviest} * slowest;
  const std::uint64_t multiple = common_multiple(
      topology,
      static_cast<std::uint64_t>(std::min<Wide>(most, std::numeric_limits<std::uint64_t>::max())));
  if (multiple == 0) shift_ = static_cast<unsigned>(std::bit_width(heaviest));
  for (const Link& link : topology.links()) {
    const std::uint64_t bandwidth = link.bandwidth.bytes_per_second;
    per_weight_.push_back(
        multiple > 0 ? multiple / bandwidth
                     : static_cast<std::uint64_t>((Wide{slowest} << kFraction) / bandwidth));
  }
}

Ticks TickClock::time(std::uint64_t weight, LinkId link) const {
  const Wide ticks = (Wide{per_weight_[index(link)]} * weight) >> shift_;
  return std::max<Ticks>(1, static_cast<Ticks>(ticks));
}

PackingPlan plan_packing(const TreePacking& packing, const Topology& topology,
                         const TimingOptions& options) {
  return plan_packing(packing, topology, options, cut_into_chunks(packing, options.segments));
}

PackingPlan plan_packing(const TreePacking& packing, const Topology& topology,
                         const TimingOptions& options, Chunking chunking) {
  const TickClock clock(chunking, topology);
  const Lags lags(chunking, topology, clock, options);
  PackingPlan plan{packing, topology, std::move(chunking), clock, 0, {}};
  if (options.costs) plan.message = lags.in_ticks(options.costs->message);
  for (std::uint32_t t = 0; t < packing.trees.size(); ++t) {
    const PackedTree& tree = packing.trees[t];
    const std::uint64_t weight = plan.chunking.chunks[plan.chunking.first[t]].weight;
    std::vector<ArcGroup> arcs = arc_groups(packing, tree, Op::Reduce, topology);
    const auto reductions = static_cast<std::uint32_t>(arcs.size());
    for (ArcGroup& copies : arc_groups(packing, tree, Op::Copy, topology)) {
      arcs.push_back(std::move(copies));
    }
    std::vector<Ticks> times, tree_lags;
    for (const ArcGroup& arc : arcs) {
      Ticks slowest = 0;
      for (const LinkId link : arc.links) slowest = std::max(slowest, clock.time(weight, link));
      tree_lags.push_back(lags.of(arc));
      times.push_back(slowest + tree_lags.back());
    }
    plan.trees.push_back(plan_tree(std::move(arcs), reductions, tree.root, packing.ranks, times,
                                   std::move(tree_lags)));
    if (options.same_order && !packing.in_network) order_reductions(plan.trees.back(), times);
  }
  return plan;
}

}  // namespace multitree
