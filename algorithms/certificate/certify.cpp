// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Certificates from bottleneck cuts, partitions and families of tight cuts.
#include "algorithms/certificate/certify.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/certificate/all_reduce_lp.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/certificate/in_network.hpp"
#include "algorithms/certificate/strength.hpp"
#include "algorithms/certificate/tight_cuts.hpp"
#include "algorithms/combined_routes.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// Whether every chunk goes from one rank to one rank: then flows are packed, not trees, and cuts
/// say all.
bool has_one_way(Collective collective) {
  return facts(collective).start != Holder::Everyone && facts(collective).end != Holder::Everyone;
}

/// Everything but cuts and bound.
Certificate make_header(const Topology& topology, const Bounds& bounds, Collective collective,
                        Rank root) {
  Certificate certificate;
  certificate.collective = collective;
  certificate.root = has_root(collective) ? root : Rank{0};
  certificate.ranks = topology.num_ranks();
  certificate.hops = bounds.diameter;
  certificate.far_apart = bounds.far_apart;
  if (facts(collective).start == Holder::Root) {
    const FarthestRank far = farthest_rank(topology, root);
    certificate.hops = far.hops;
    certificate.far_apart = {root, far.rank};
  } else if (facts(collective).end == Holder::Root) {
    const FarthestRank far = farthest_rank(topology.transposed(), root);
    certificate.hops = far.hops;
    certificate.far_apart = {far.rank, root};
  }
  return certificate;
}

/// One cut that finished data must cross inwards, or partial sums outwards.
Certificate with_cut(Certificate certificate, std::vector<NodeId> far, const Rational& bound) {
  const Exact gather = reduces(certificate.collective) ? 0 : 1;
  if (!far.empty()) {
    certificate.cuts.push_back({.far = std::move(far), .gather = gather, .reduce = 1 - gather});
  }
  certificate.bound = to_exact(bound);
  return certificate;
}

using FarSides = std::vector<std::vector<NodeId>>;

/// Every far side with weight 1 both ways. Switches on none of them are half way between all: a
/// message pays one half to enter them and one half to leave, as one that passes directly pays 1.
/// Where they copy or add, all of it is paid where messages are not fewer.
Certificate with_family(Certificate certificate, FarSides sides, const Topology& topology) {
  std::vector<bool> is_far(topology.num_nodes(), false);
  for (std::vector<NodeId>& side : sides) {
    for (const NodeId node : side) is_far[index(node)] = true;
    certificate.cuts.push_back({.far = std::move(side), .gather = 1, .reduce = 1});
  }
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    if (is_far[n] || !topology.node(NodeId{n}).is_switch()) continue;
    const SwitchAbilities& abilities = topology.node(NodeId{n}).abilities;
    if (abilities.copies && abilities.adds) continue;
    const Exact gather = abilities.copies ? 0 : abilities.adds ? 1 : Exact(1, 2);
    certificate.prices.push_back({.node = NodeId{n}, .gather = gather, .reduce = gather - 1});
  }
  certificate.bound = evaluate(certificate, topology);
  return certificate;
}

FarSides single_ranks(const Topology& topology) {
  FarSides sides;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    sides.push_back({topology.node_of(Rank{r})});
  }
  std::ranges::sort(sides);
  return sides;
}

/// The bottleneck of the all-gather as a partition in two.
FarSides both_sides(const Topology& topology, const std::vector<NodeId>& far) {
  FarSides sides{far, {}};
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    if (!std::ranges::binary_search(far, NodeId{n})) sides[1].push_back(NodeId{n});
  }
  return sides;
}

/// The best of a few families of cuts, the simplest first.
Certified all_reduce_by_families(const Certificate& header, const Topology& topology,
                                 const Bounds& bounds) {
  const Exact two_phases = to_exact(bounds.all_gather) + to_exact(bounds.reduce_scatter);
  Certified best{.certificate = with_family(header, single_ranks(topology), topology)};
  const auto consider = [&](FarSides sides) {
    Certificate next = with_family(header, std::move(sides), topology);
    if (next.bound > best.certificate.bound) best.certificate = std::move(next);
  };
  if (best.certificate.bound != two_phases) consider(tight_far_sides(topology, bounds));
  if (best.certificate.bound != two_phases) consider(both_sides(topology, bounds.all_gather_far));
  best.exact = best.certificate.bound == two_phases && is_balanced(topology);
  return best;
}

Certified all_reduce_by_program(const Certificate& header, const Topology& topology) {
  Certificate certificate = header;
  AllReduceOptimum optimum = solve_all_reduce_lp(topology);
  certificate.cuts = std::move(optimum.certificate.cuts);
  certificate.prices = std::move(optimum.certificate.prices);
  certificate.bound = std::move(optimum.certificate.bound);
  return {.certificate = std::move(certificate), .exact = true};
}

/// Where switches add and copy: trees and cuts that prove them, or families of cuts if switches do
/// not do both.
Certified all_reduce_in_network(const Certificate& header, const Topology& topology,
                                const Bounds& bounds, std::uint32_t most_program_nodes) {
  if (!has_in_network_trees(topology)) return all_reduce_by_families(header, topology, bounds);
  InNetworkOptimum optimum = solve_in_network(topology, most_program_nodes);
  Certificate certificate = header;
  certificate.cuts = std::move(optimum.certificate.cuts);
  certificate.bound = std::move(optimum.certificate.bound);
  const bool exact = certificate.bound == optimum.time;
  return {.certificate = std::move(certificate), .exact = exact};
}

Certified all_reduce(const Certificate& header, const Topology& topology, const Bounds& bounds,
                     std::uint32_t most_program_nodes) {
  if (topology.num_ranks() < 2) return {.certificate = header, .exact = true};
  if (topology.has_abilities()) {
    return all_reduce_in_network(header, topology, bounds, most_program_nodes);
  }
  if (!has_strength(topology)) {
    Certified simple = all_reduce_by_families(header, topology, bounds);
    if (simple.exact || topology.num_nodes() > most_program_nodes) return simple;
    return all_reduce_by_program(header, topology);
  }
  // Between the classes of a partition all sums and all results must pass (Nash-Williams, Tutte).
  Strength weakest = strength(topology);
  Certificate certificate = header;
  for (std::vector<NodeId>& side : weakest.classes) {
    certificate.cuts.push_back({.far = std::move(side), .gather = 1, .reduce = 1});
  }
  certificate.bound = Exact(topology.num_ranks()) / weakest.value;
  return {.certificate = std::move(certificate), .exact = true};
}

}  // namespace

Certified certify(const Topology& topology, const Bounds& bounds, Collective collective, Rank root,
                  std::uint32_t most_program_nodes) {
  if (has_root(collective) && index(root) >= topology.num_ranks()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected a root below {}, got {}", topology.num_ranks(), index(root)));
  }
  if (collective == Collective::AllToAll) {
    throw Error(ErrorCode::Unsupported,
                "expected a collective along trees, got alltoall, which 'bounds' and 'schedule' "
                "route");
  }
  const Certificate header = make_header(topology, bounds, collective, root);
  if (collective == Collective::AllReduce) {
    return all_reduce(header, topology, bounds, most_program_nodes);
  }
  std::vector<NodeId> far;
  const Rational bound = collective_bound(bounds, topology, collective, root, &far);
  return {with_cut(header, std::move(far), bound),
          has_one_way(collective) || is_balanced(topology)};
}

Certified certify(const Topology& topology, Collective collective, Rank root) {
  return certify(topology, compute_bounds(topology), collective, root);
}

}  // namespace multitree
