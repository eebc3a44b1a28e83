// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Link capacities in trees: exact ones, ones for a given number of trees, balanced ones.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "algorithms/packing/capacities/capacity_plan_internal.hpp"
#include "algorithms/packing/capacities/sink_flows_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

using Wide = __int128;
/// Sums over a network stay within 64 bits.
constexpr Wide kMost = std::numeric_limits<std::int64_t>::max() / 4;

/// Bandwidths of the links in their greatest common unit.
struct Units {
  std::vector<std::int64_t> of_link;
  std::int64_t slowest = 1;
};

Units common_units(const Topology& topology) {
  std::uint64_t unit = 0;
  for (const Link& link : topology.links()) unit = std::gcd(unit, link.bandwidth.bytes_per_second);
  Units units;
  for (const Link& link : topology.links()) {
    units.of_link.push_back(static_cast<std::int64_t>(link.bandwidth.bytes_per_second / unit));
  }
  if (unit > 0) {
    units.slowest = static_cast<std::int64_t>(topology.unit_bandwidth().bytes_per_second / unit);
  }
  return units;
}

void check_size(const Topology& topology, Wide sum) {
  if (sum <= kMost) return;
  throw Error(ErrorCode::Unsupported,
              fmt::format("{}: expected bandwidths with a coarse common unit, got some that take "
                          "more trees than 64 bits can count; round them, or ask for k=N trees",
                          topology.name()));
}

/// Flows to every rank on a network under capacities that change.
class DemandFlows {
 public:
  DemandFlows(const Topology& topology, const std::vector<std::int64_t>& capacity,
              const std::vector<std::int64_t>& demand)
      : network_(topology.num_nodes()),
        flows_(network_, topology.num_nodes()),
        supply_(topology.num_nodes(), 0) {
    for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
      const Link& link = topology.link(LinkId{l});
      network_.add_arc(index(link.src), index(link.dst), capacity[l]);
    }
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      sinks_.push_back(index(topology.node_of(Rank{r})));
      supply_[sinks_.back()] = demand[r];
    }
  }

  void set_capacity(std::uint32_t link, std::int64_t value) { network_.set_capacity(link, value); }

  /// What cannot reach some rank, at worst or `enough`.
  std::int64_t worst_shortfall(std::int64_t enough) {
    std::int64_t worst = 0;
    for (const std::uint32_t sink : sinks_) {
      worst = std::max(worst, flows_.shortfall(sink, supply_));
      if (worst >= enough) break;
    }
    return worst;
  }

  /// The links into a set of nodes that some demands cannot enter in full, and these demands.
  struct ShortCut {
    std::vector<std::uint32_t> links;
    std::int64_t demand = 0;
  };
  std::optional<ShortCut> short_cut() {
    for (const std::uint32_t sink : sinks_) {
      if (flows_.shortfall(sink, supply_) == 0) continue;
      ShortCut cut;
      for (std::uint32_t l = 0; l < network_.num_arcs(); ++l) {
        const FlowNetwork::Arc& arc = network_.arc(l);
        if (flows_.on_sink_side(arc.head) && !flows_.on_sink_side(arc.tail)) cut.links.push_back(l);
      }
      for (std::uint32_t v = 0; v < network_.num_nodes(); ++v) {
        if (!flows_.on_sink_side(v)) cut.demand += supply_[v];
      }
      return cut;
    }
    return std::nullopt;
  }

 private:
  FlowNetwork network_;  // arcs are links
  SinkFlows flows_;
  std::vector<std::int64_t> supply_;
  std::vector<std::uint32_t> sinks_;
};

std::vector<std::int64_t> demands(const std::vector<bool>& roots, std::int64_t trees) {
  std::vector<std::int64_t> demand;
  for (const bool is_root : roots) demand.push_back(is_root ? trees : 0);
  return demand;
}

/// Trees that a link of `units` carries in `time`, the time of a tree on a link of one unit
/// being 1.
std::int64_t trees_in(Rational time, std::int64_t units) {
  return static_cast<std::int64_t>(Wide{time.numerator()} * units / time.denominator());
}

/// The least time in which the links of a cut carry its demand: some link is just full then.
Rational least_time(const DemandFlows::ShortCut& cut, const Units& units) {
  std::set<std::int64_t> speeds;
  for (const std::uint32_t l : cut.links) speeds.insert(units.of_link[l]);
  const auto carries = [&](Rational time) {
    Wide carried = 0;
    for (const std::uint32_t l : cut.links) carried += trees_in(time, units.of_link[l]);
    return carried >= cut.demand;
  };
  std::optional<Rational> least;
  for (const std::int64_t speed : speeds) {
    std::int64_t low = 0, high = cut.demand;  // trees on a link of this speed
    while (low + 1 < high) {
      const std::int64_t middle = low + (high - low) / 2;
      (carries(Rational(middle, speed)) ? high : low) = middle;
    }
    if (!least || Rational(high, speed) < *least) least = Rational(high, speed);
  }
  return *least;
}

/// What leads into a switch minus what leads out of it.
std::int64_t surplus_at(const Topology& topology, NodeId node,
                        const std::vector<std::int64_t>& capacity) {
  std::int64_t surplus = 0;
  for (const LinkId l : topology.in_links(node)) surplus += capacity[index(l)];
  for (const LinkId l : topology.out_links(node)) surplus -= capacity[index(l)];
  return surplus;
}

/// Takes `surplus` from the links as far as the demands allow. Returns what remains of it.
std::int64_t lower(std::span<const LinkId> links, std::int64_t surplus,
                   std::vector<std::int64_t>& capacity, DemandFlows& flows) {
  for (const LinkId link : links) {
    const std::uint32_t l = index(link);
    const std::int64_t before = capacity[l], less = std::min(before, surplus);
    if (less == 0) continue;
    flows.set_capacity(l, before - less);
    const std::int64_t back = std::min(less, flows.worst_shortfall(less));
    capacity[l] = before - less + back;
    flows.set_capacity(l, capacity[l]);
    surplus -= less - back;
  }
  return surplus;
}

}  // namespace

std::vector<bool> all_roots(const Topology& topology) {
  return std::vector<bool>(topology.num_ranks(), true);
}

std::vector<bool> one_root(const Topology& topology, Rank root) {
  std::vector<bool> roots(topology.num_ranks(), false);
  roots[index(root)] = true;
  return roots;
}

CapacityPlan exact_plan(const Topology& topology, const std::vector<bool>& roots,
                        Rational shard_times, std::int64_t shards) {
  const Units units = common_units(topology);
  // A tree of the shard's share takes time / trees on a link of one unit; the links' units have no
  // common divisor, so the reduced denominator is the least number of trees.
  const Rational time = shard_times / Rational(shards) / Rational(units.slowest);
  Wide sum = Wide{time.denominator()} * topology.num_ranks();
  CapacityPlan plan;
  for (const std::int64_t speed : units.of_link) {
    sum += Wide{time.numerator()} * speed;
    check_size(topology, sum);
    plan.capacity.push_back(time.numerator() * speed);
  }
  plan.demand = demands(roots, time.denominator());
  return plan;
}

CapacityPlan least_time_plan(const Topology& topology, const std::vector<bool>& roots,
                             std::uint32_t trees) {
  const Units units = common_units(topology);
  CapacityPlan plan;
  plan.capacity.assign(topology.num_links(), 0);
  plan.demand = demands(roots, trees);
  DemandFlows flows(topology, plan.capacity, plan.demand);
  const auto raise_to = [&](Rational time) {
    Wide sum = Wide{trees} * topology.num_ranks();
    for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
      sum += Wide{time.numerator()} * units.of_link[l] / time.denominator();
      check_size(topology, sum);
      plan.capacity[l] = trees_in(time, units.of_link[l]);
      flows.set_capacity(l, plan.capacity[l]);
    }
  };
  // Every time is the least that satisfies one cut, so the last one is the least for all.
  while (const auto cut = flows.short_cut()) raise_to(least_time(*cut, units));
  return plan;
}

bool balance_switches(const Topology& topology, CapacityPlan& plan) {
  std::optional<DemandFlows> flows;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t v = 0; v < topology.num_nodes(); ++v) {
      if (!topology.node(NodeId{v}).is_switch()) continue;
      const std::int64_t surplus = surplus_at(topology, NodeId{v}, plan.capacity);
      if (surplus == 0) continue;
      if (!flows) flows.emplace(topology, plan.capacity, plan.demand);
      const auto links = surplus > 0 ? topology.in_links(NodeId{v}) : topology.out_links(NodeId{v});
      if (lower(links, std::abs(surplus), plan.capacity, *flows) > 0) return false;
      changed = true;
    }
  }
  return true;
}

}  // namespace multitree
