// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One tree with times, moved to every rank: as few steps as possible where all ranks are alike.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/swing_internal.hpp"
#include "algorithms/symmetric/alike_network.hpp"
#include "algorithms/symmetric/boxed_schedule.hpp"
#include "algorithms/symmetric/symmetric_schedule.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

std::optional<std::string> symmetric_unsupported(const Topology& topology) {
  std::string reason;
  if (find_alike_network(topology, reason)) return std::nullopt;
  return reason;
}

AlikeNetwork network_of(const Topology& topology) {
  std::string reason;
  auto network = find_alike_network(topology, reason);
  if (!network) throw Error(ErrorCode::Unsupported, "symmetric: " + reason);
  return std::move(*network);
}

/// The transfers of one step of the gathering, for all owners.
void add_step(const AlikeNetwork& network, const SymmetricSchedule& trees, std::uint32_t step,
              Schedule& schedule) {
  const CayleyGraph& graph = trees.graph();
  const auto arcs = trees.arcs_of_step(step);
  struct Hop {
    std::uint32_t chunk, dst, src, generator;
    auto operator<=>(const Hop&) const = default;
  };
  std::vector<Hop> hops(arcs.size());
  for (std::uint32_t owner = 0; owner < graph.size(); ++owner) {
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      const std::uint32_t src = graph.group().multiply(owner, arcs[a].parent);
      hops[a] = {.chunk = owner * trees.chunks() + arcs[a].tree,
                 .dst = graph.apply(src, arcs[a].generator),
                 .src = src,
                 .generator = arcs[a].generator};
    }
    std::ranges::sort(hops);
    for (const Hop& hop : hops) {
      schedule.add(step, Op::Copy, hop.chunk, Rank{hop.src}, Rank{hop.dst},
                   network.route(hop.src, hop.generator));
    }
  }
}

Schedule gathering(const Topology& topology, const AlikeNetwork& network, std::uint32_t chunks) {
  const SymmetricSchedule trees(network.ranks(), chunks, Collective::AllGather);
  Schedule schedule = all_gather_header(topology, trees.chunks());
  const std::size_t transfers = std::size_t{schedule.ranks} * trees.chunks() * (schedule.ranks - 1);
  if (transfers > UINT32_MAX) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("symmetric: expected less than 2^32 transfers, got {}; 'multitree "
                            "symmetric' does without them",
                            transfers));
  }
  schedule.transfers.reserve(transfers);
  schedule.routes.reserve(transfers);
  for (std::uint32_t step = 0; step < trees.num_steps(); ++step) {
    add_step(network, trees, step, schedule);
  }
  return schedule;
}

Schedule symmetric_all_gather(const Topology& topology, const Spec& options) {
  static_cast<void>(segments_option(options));
  const AlikeNetwork network = network_of(topology);
  return gathering(topology, network, chunks_option(options, network.ranks().graph));
}

/// Alone, a tree uses each link once at most and need not wait: level by level. Switches it may
/// pass more often.
std::vector<std::uint32_t> levels(const AlikeRanks& ranks, const TranslationTree& tree) {
  if (!ranks.levels.empty()) return tree.step;
  const CayleyGraph& graph = ranks.graph;
  std::vector<std::uint32_t> order(tree.step.size()), level(tree.step.size(), 0);
  for (std::uint32_t x = 0; x < order.size(); ++x) order[x] = x;
  std::ranges::sort(order, {}, [&](std::uint32_t x) { return tree.step[x] + 1; });
  for (const std::uint32_t x : order) {
    if (x == 0) continue;
    const std::uint32_t parent = graph.apply(x, graph.inverse(tree.generator[x]));
    level[x] = parent == 0 ? 0 : level[parent] + 1;
  }
  return level;
}

Schedule symmetric_broadcast(const Topology& topology, Rank root, const Spec& options) {
  const AlikeNetwork network = network_of(topology);
  const CayleyGraph& graph = network.ranks().graph;
  static_cast<void>(chunks_option(options, graph));
  const TranslationTree tree = make_translation_tree(network.ranks());
  const std::vector<std::uint32_t> level = levels(network.ranks(), tree);
  Schedule base = broadcast_header(topology, root, 1);
  for (std::uint32_t x = 1; x < graph.size(); ++x) {
    const std::uint32_t to = graph.group().multiply(index(root), x);
    const std::uint32_t from = graph.apply(to, graph.inverse(tree.generator[x]));
    base.add(level[x], Op::Copy, 0, Rank{from}, Rank{to}, network.route(from, tree.generator[x]));
  }
  base.canonicalize();
  return faster_broadcast(base, segments_option(options), topology,
                          [&] { return gathering(topology, network, 1); });
}

/// The links of a message of boxes.
std::vector<LinkId> route_of(const AlikeNetwork& network, const BoxedSchedule::Message& message) {
  std::vector<LinkId> route;
  for (std::uint32_t at = index(message.src), hop = 0; hop < message.hops; ++hop) {
    const std::vector<LinkId> links = network.route(at, message.generator);
    route.insert(route.end(), links.begin(), links.end());
    at = network.ranks().graph.apply(at, message.generator);
  }
  return route;
}

Schedule within_boxes(const Topology& topology, const AlikeNetwork& network, const Spec& options) {
  const std::uint32_t within = options.get_number("within", 1, 1, topology.num_ranks());
  const BoxedSchedule boxed(network.ranks(), boxes_of(network.ranks(), within));
  Schedule schedule = all_reduce_header(topology, boxed.chunks());
  for (std::uint32_t step = 0; step < boxed.num_steps(); ++step) {
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
      for (const BoxedSchedule::Message& m : boxed.sends_of_rank(rank, step)) {
        schedule.add(m.step, m.op, m.chunk, m.src, m.dst, route_of(network, m));
      }
    }
  }
  schedule.canonicalize();
  return schedule;
}

Schedule symmetric_all_reduce(const Topology& topology, const Spec& options) {
  if (!options.has("within")) return scattered_all_reduce(topology, options, symmetric_all_gather);
  if (options.has("chunks")) options.fail("within: expected it without chunks=");
  static_cast<void>(segments_option(options));
  return within_boxes(topology, network_of(topology), options);
}

}  // namespace

Algorithm symmetric_algorithm() {
  return {
      .name = "symmetric",
      .summary = "one tree moved to every rank; fewest steps where all ranks are alike",
      .source = "translates on Cayley graphs; scarcity-first matching",
      .parameters =
          "chunks=K|degree: pieces of a rank's share, each with a tree; as many as a rank has "
          "links "
          "make the exact bandwidth bound (default 1); within=B: of an all-reduce, trees within "
          "boxes of B ranks alone, which then exchange their sums whole, in few messages "
          "(default: all ranks); segments=N: broadcast and reduce over "
          "one tree in N pieces (default: that or "
          "scatter and all trees, whichever is faster)",
      .unsupported = symmetric_unsupported,
      .all_gather = symmetric_all_gather,
      .broadcast = symmetric_broadcast,
      .all_reduce = symmetric_all_reduce,
      .variants = "rounds=1"};
}

}  // namespace multitree
