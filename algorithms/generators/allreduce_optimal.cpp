// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduce over spanning trees that reduce and spread at the same time, one on each direction of
/// a link: as fast as the strength of the network allows, which RS + AG is only where all ranks are
/// alike (Nash-Williams 1961, Tutte 1961).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/all_reduce_lp.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/packing/combs.hpp"
#include "algorithms/packing/mirrored_growth.hpp"
#include "algorithms/packing/spanning_trees.hpp"
#include "algorithms/packing/switched_all_reduce.hpp"
#include "algorithms/packing/time_trees.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// How much longer than without end a pipeline may take to fill and to drain.
constexpr double kFill = 0.025;
/// Smaller chunks are not worth a message of their own.
constexpr std::uint64_t kMinChunkBytes = 16 << 10;
/// More transfers cost more to store than they gain.
constexpr std::uint64_t kMaxTransfers = 1U << 21;
/// Beyond this many ranks RS + AG, with its square of transfers, is not compared.
constexpr std::uint32_t kMaxCompared = 512;
/// Beyond this many chunks or ranks steps are not searched for.
constexpr std::uint32_t kMaxGrown = 256;
/// Beyond this many ranks the linear program takes seconds.
constexpr std::uint32_t kMaxProgram = 64;
constexpr std::uint32_t kMaxTrees = 1U << 16;

struct Options {
  std::uint32_t segments = 0, trees = 0;  // 0: not given
  std::uint64_t bytes = 0;
  bool lockstep = false;
  [[nodiscard]] bool is_free() const { return segments == 0 && trees == 0; }
};

std::uint64_t size_option(const Spec& spec) {
  try {
    return parse_bytes(spec.get("size", "64MiB"));
  } catch (const Error& error) {
    spec.fail(fmt::format("size: {}", error.what()));
  }
}

Options parse(const Spec& spec) {
  const std::string form = spec.get("form", "async");
  if (form != "async" && form != "lockstep") {
    spec.fail(fmt::format("form: expected async or lockstep, got '{}'", form));
  }
  return {segments_option(spec), spec.get_number("trees", 0, 1, kMaxTrees), size_option(spec),
          form == "lockstep"};
}

/// Whether trees can be turned around hop by hop, so that roots are free and equal trees exist.
bool has_undirected_trees(const Topology& topology) {
  return !topology.has_switches() && topology.is_symmetric();
}

/// The trees of an optimal all-reduce; `trees` = 0 for the exact optimum.
TreePacking pack_all_reduce(const Topology& topology, std::uint32_t trees) {
  if (!has_undirected_trees(topology)) return pack_switched_all_reduce(topology);
  if (trees == 0) {
    if (auto combs = pack_combs(topology)) return *std::move(combs);
  }
  return pack_spanning_trees(topology, trees);
}

/// So many pieces that filling and draining the pipeline, twice the depth of the trees, costs
/// little. \pre at least two ranks.
std::uint32_t default_segments(const TreePacking& packing, const Topology& topology,
                               std::uint64_t bytes) {
  const double steps_per_chunk = load(packing, topology).convert_to<double>() / packing.ranks;
  const double wanted = 2.0 * depth(packing) / (kFill * steps_per_chunk);
  const std::uint64_t arcs = 2 * (std::uint64_t{packing.ranks} - 1);
  const std::uint64_t most = std::min(bytes / kMinChunkBytes, kMaxTransfers / arcs);
  const double chunks = std::min(wanted, static_cast<double>(most));
  return static_cast<std::uint32_t>(
      std::max(1.0, std::ceil(chunks / static_cast<double>(packing.trees.size()))));
}

/// As many equal trees as make about one chunk a rank, a multiple of the exact optimum's.
std::uint32_t lockstep_trees(const Topology& topology) {
  std::uint64_t weight = 0;
  const TreePacking exact = pack_all_reduce(topology, 0);
  for (const PackedTree& tree : exact.trees) weight += tree.weight;
  const std::uint64_t ranks = topology.num_ranks();
  if (weight > 4 * ranks) return topology.num_ranks();
  return static_cast<std::uint32_t>((ranks + weight - 1) / weight * weight);
}

Schedule over_trees(const Topology& topology, const Options& options) {
  const TreePacking packing = pack_all_reduce(topology, options.trees);
  TimingOptions timing;
  timing.segments = std::max(1U, options.segments);
  timing.lag = 1;
  if (options.segments == 0 && packing.ranks > 1) {
    timing.segments = default_segments(packing, topology, options.bytes);
  }
  return time_trees(packing, topology, timing);
}

/// Equal chunks in few steps: trees fixed before they are timed, or grown along with the steps.
Schedule in_lockstep(const Topology& topology, const Options& options) {
  const std::uint32_t trees = options.trees == 0 ? lockstep_trees(topology) : options.trees;
  TimingOptions timing;
  timing.segments = std::max(1U, options.segments);
  Schedule packed = time_trees(pack_all_reduce(topology, trees), topology, timing);
  const auto chunks = static_cast<std::uint32_t>(packed.chunks.size());
  const bool can_grow = chunks % 2 == 0 && chunks <= kMaxGrown && topology.num_ranks() > 1 &&
                        topology.num_ranks() <= kMaxGrown;
  if (!can_grow) return packed;
  return grow_mirrored(topology, chunks, packed.num_steps()).value_or(packed);
}

/// Algorithms for collectives that have only one phase, the best for large buffers first.
std::vector<std::string_view> one_phase_algorithms(const Topology& topology) {
  std::vector<std::string_view> names;
  for (const std::string_view name : {"symmetric", "forest", "multitree"}) {
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.name == name && !algorithm.unsupported(topology)) names.push_back(name);
    }
  }
  return names;
}

/// Another algorithm's schedule under this one's name.
Schedule borrow(std::string_view name, const Topology& topology, Collective collective, Rank root) {
  Schedule schedule = generate_schedule(name, topology, collective, root);
  schedule.algorithm.clear();
  return schedule;
}

/// Also considers a single tree, for latency, and reduce-scatter + all-gather, which are as good
/// where all ranks are alike.
Schedule fastest(const Topology& topology, const Options& options) {
  Schedule best = over_trees(topology, options);
  if (topology.num_ranks() > kMaxCompared || topology.num_ranks() == 1) return best;
  Time best_time = predict_time(best, topology, options.bytes);
  const auto consider = [&](Schedule other) {
    const Time time = predict_time(other, topology, options.bytes);
    if (time >= best_time) return;
    best = std::move(other);
    best_time = time;
  };
  Options one_tree = options;
  one_tree.trees = 1;
  consider(over_trees(topology, one_tree));
  for (const std::string_view name : one_phase_algorithms(topology)) {
    consider(borrow(name, topology, Collective::AllReduce, Rank{0}));
  }
  return best;
}

/// With switches or links one way: reduce-scatter + all-gather, or trees that are faster in the
/// limit, where a linear program finds them in reasonable time.
Schedule fastest_of_any_network(const Topology& topology, const Options& options) {
  Schedule best =
      borrow(one_phase_algorithms(topology).front(), topology, Collective::AllReduce, Rank{0});
  if (topology.num_ranks() == 1 || topology.num_ranks() > kMaxProgram) return best;
  const Rational both = compute_bounds(topology).all_reduce();
  if (solve_all_reduce_lp(topology).time == Exact(both.numerator(), both.denominator())) {
    return best;
  }
  try {
    Schedule trees = over_trees(topology, options);
    if (predict_time(trees, topology, options.bytes) <
        predict_time(best, topology, options.bytes)) {
      best = std::move(trees);
    }
  } catch (const Error& error) {
    // Shares that 64 bits cannot count: reduce-scatter + all-gather is what there is.
    if (error.code() != ErrorCode::Unsupported) throw;
  }
  return best;
}

/// Steps for their share of the buffer: also considers reduce-scatter + all-gather, all of whose
/// chunks are equal as well.
Schedule fewest_steps(const Topology& topology, const Options& options) {
  Schedule best = in_lockstep(topology, options);
  if (topology.num_ranks() > kMaxCompared) return best;
  for (const std::string_view name : one_phase_algorithms(topology)) {
    Schedule other = borrow(name, topology, Collective::AllReduce, Rank{0});
    const bool is_even = std::ranges::all_of(
        other.chunks, [&](const Chunk& c) { return c.weight == other.chunks[0].weight; });
    if (is_even &&
        other.num_steps() * best.chunks.size() < best.num_steps() * other.chunks.size()) {
      best = std::move(other);
    }
  }
  return best;
}

Schedule all_reduce(const Topology& topology, const Spec& spec) {
  const Options options = parse(spec);
  if (!has_undirected_trees(topology)) {
    if (options.trees != 0 || options.lockstep) {
      throw Error(
          ErrorCode::Unsupported,
          fmt::format("allreduce-optimal on {}: trees and form=lockstep need links in pairs "
                      "of equal bandwidth and no switches",
                      topology.name()));
    }
    return fastest_of_any_network(topology, options);
  }
  if (options.lockstep) {
    return options.is_free() ? fewest_steps(topology, options) : in_lockstep(topology, options);
  }
  return options.is_free() ? fastest(topology, options) : over_trees(topology, options);
}

Schedule all_gather(const Topology& topology, const Spec& spec) {
  static_cast<void>(parse(spec));
  return borrow(one_phase_algorithms(topology).front(), topology, Collective::AllGather, Rank{0});
}

Schedule broadcast(const Topology& topology, Rank root, const Spec& spec) {
  static_cast<void>(parse(spec));
  return borrow(one_phase_algorithms(topology).front(), topology, Collective::Broadcast, root);
}

}  // namespace

Algorithm allreduce_optimal_algorithm() {
  return {.name = "allreduce-optimal",
          .summary = "spanning trees that reduce and spread at once: the exact optimum",
          .source = "Nash-Williams 1961, Tutte 1961; matroid union, Roskind and Tarjan 1985",
          .parameters =
              "trees=K: K equal trees (default: as many as the exact optimum needs); segments=N: "
              "pieces of a tree of mean weight (default: about 2.5% to fill the pipeline); "
              "form=async|lockstep: lockstep is one equal chunk a tree, about one tree a rank, in "
              "few steps (default async); size=BYTES: size to choose for, also between trees and "
              "reduce-scatter + all-gather where no other option is given (default 64MiB)",
          .unsupported = supports_all,
          .all_gather = all_gather,
          .broadcast = broadcast,
          .all_reduce = all_reduce,
          .variants = "segments=1|segments=4|trees=1"};
}

}  // namespace multitree
