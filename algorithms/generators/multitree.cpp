// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MULTITREE: as many spanning trees as ranks, grown from their roots at the same time, one link
/// use per step. J. Huang, P. Majumder, S. Kim, A. Muzahid, K. H. Yum, E. J. Kim: "Communication
/// Algorithm-Architecture Co-Design for Distributed Deep Learning", ISCA 2021, Algorithm 1
/// (DOI 10.1109/ISCA52012.2021.00023).
///
/// Each step starts with every link free. The trees take turns; in a turn a tree adds one rank: the
/// first of its members (in the order they joined, those of earlier steps only) that has a free
/// link to a rank outside the tree becomes the parent. The step ends when no tree can grow, and the
/// next step starts until all trees span all ranks. Through switches, the parent reaches the
/// nearest rank outside the tree by a breadth-first search over free links, and takes all links on
/// the way.
///
/// Two choices that the paper leaves open:
///  - Which of several free links? The lowest LinkId, except in grids: there the order of
///    directions is the same at every rank, as LinkIds are not, and longer dimensions come first.
///    This saves 1 step of 65 on a 16x16 torus and 4 of 15 on a 2x16 torus.
///  - A near rank by a late parent, or a far one by an early parent? The near one: a tree looks for
///    a parent with a route of one link, then of two, and so on. This saves 3 of 34 steps on a
///    BiGraph of 32 ranks, which is then at its lower bound. Between the two layers of a BiGraph
///    near and far messages take turns at the ports, and the near ones, early as they are, wait for
///    the far ones before them: there a tree looks for routes to the other layer only, all equally
///    long under way, if no link has more to carry for that.
/// Both, and which of equal trees takes its turn first, can also be tried in many ways (tries=N),
/// of which the one is kept whose busiest link has least to carry: 8 shards of an all-reduce
/// instead of 9 on a 4x4 torus.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/growth_internal.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

struct Options {
  GrowthOrder order;
  std::uint32_t segments, tries;
};

constexpr std::uint32_t kMaxTries = 1U << 16;

Options parse(const Spec& spec) {
  const std::string order = spec.get("order", "smallest-first");
  if (order != "ascending" && order != "smallest-first") {
    spec.fail(fmt::format("order: expected ascending or smallest-first, got '{}'", order));
  }
  return {order == "ascending" ? GrowthOrder::Ascending : GrowthOrder::SmallestFirst,
          segments_option(spec), spec.get_number("tries", 1, 1, kMaxTries)};
}

/// Uses of the busiest link, where each one's mate is used as often for the reduction; in units
/// that count slow links more.
double busiest_load(const Schedule& schedule, const Topology& topology) {
  std::vector<std::uint32_t> uses(topology.num_links(), 0);
  for (const Transfer& transfer : schedule.transfers) {
    for (const LinkId link : schedule.route(transfer)) ++uses[index(link)];
  }
  double busiest = 0;
  for (std::uint32_t l = 0; l < uses.size(); ++l) {
    const auto mate = topology.mate(LinkId{l});
    const std::uint32_t both = uses[l] + (mate ? uses[index(*mate)] : 0);
    const auto bandwidth = static_cast<double>(topology.link(LinkId{l}).bandwidth.bytes_per_second);
    busiest = std::max(busiest, both / bandwidth);
  }
  return busiest;
}

/// The trees with the least load of so many tries; of equal ones the fewest steps, then the first.
Schedule grow(const Schedule& header, const Topology& topology, const Options& options) {
  Schedule best = Growth(header, topology, {.order = options.order}).run();
  double load = busiest_load(best, topology);
  for (std::uint32_t trial = 1; trial < options.tries; ++trial) {
    Schedule next = Growth(header, topology, {.order = options.order, .trial = trial}).run();
    const double next_load = busiest_load(next, topology);
    if (std::pair(next_load, next.num_steps()) < std::pair(load, best.num_steps())) {
      best = std::move(next);
      load = next_load;
    }
  }
  return best;
}

/// Between facing layers of switches: trees whose routes all cross from one layer to the other, if
/// no link has more to carry for that than in `near`.
Schedule grow_evenly(const Topology& topology, const Options& options, Schedule near) {
  constexpr std::uint32_t kAcross =
      3;  // links: to the switch, to one of the other layer, to a rank
  if (!structure_of(topology).facing_layers) return near;
  Growth growth(all_gather_header(topology), topology, {.order = options.order, .length = kAcross});
  std::optional<Schedule> even = std::move(growth).run_within(2 * near.num_steps());
  const bool as_light = even && busiest_load(*even, topology) <= busiest_load(near, topology);
  return as_light ? *std::move(even) : near;
}

/// All-gather by trees with the nearest ranks first.
Schedule near_all_gather(const Topology& topology, const Options& options) {
  return grow(all_gather_header(topology), topology, options);
}

Schedule all_gather(const Topology& topology, const Spec& spec) {
  const Options options = parse(spec);
  return grow_evenly(topology, options, near_all_gather(topology, options));
}

Schedule broadcast(const Topology& topology, Rank root, const Spec& spec) {
  const Options options = parse(spec);
  const Schedule tree =
      Growth(broadcast_header(topology, root, 1), topology, {.order = options.order}).run();
  return faster_broadcast(tree, options.segments, topology,
                          [&] { return near_all_gather(topology, options); });
}

}  // namespace

Algorithm multitree_algorithm() {
  return {
      .name = "multitree",
      .summary = "one spanning tree per rank, grown together from the roots, a link use a step",
      .source = "Huang et al., ISCA 2021, Algorithm 1",
      .parameters =
          "order=ascending|smallest-first: which trees take their turn first in a step "
          "(default smallest-first); tries=N: orders of equal choices to try for the least load "
          "of a link in allgather and allreduce (default 1); segments=N: broadcast and reduce over "
          "one "
          "tree in N pieces (default: that or scatter and all trees, whichever is faster)",
      .unsupported = supports_all,
      .all_gather = all_gather,
      .broadcast = broadcast,
      .all_reduce = nullptr,
      .variants = "rounds=1"};
}

}  // namespace multitree
