// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduce over spanning trees that reduce and spread at the same time, one on each direction of
/// a link: as fast as the strength of the network allows, which RS + AG is only where all ranks are
/// alike (Nash-Williams 1961, Tutte 1961).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/all_reduce_lp.hpp"
#include "algorithms/certificate/in_network.hpp"
#include "algorithms/generators/fastest_trees_internal.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/pieces_internal.hpp"
#include "algorithms/generators/short_trees_internal.hpp"
#include "algorithms/packing/chunks/pipeline.hpp"
#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/packing/trees/boxes.hpp"
#include "algorithms/packing/trees/combs.hpp"
#include "algorithms/packing/trees/spanning_trees.hpp"
#include "algorithms/packing/trees/switched_all_reduce.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// To fill and to drain the pipeline; more transfers cost more to store than they gain.
constexpr Pipeline kPipeline{.fill = 0.015, .most_transfers = 1U << 21};
/// Of chains: shorter chunks wait for the latency between boxes.
constexpr Pipeline kChains{.fill = 0.005, .most_transfers = 1U << 21, .least_bytes = 128 << 10};
/// Beyond this many ranks RS + AG, with its square of transfers, is not compared.
constexpr std::uint32_t kMaxCompared = 512;
/// Beyond this many ranks it is not compared in all the ways there are.
constexpr std::uint32_t kMaxComparedWithAll = 256;
/// Beyond this many ranks fewer trees than the optimum's are not tried but for one.
constexpr std::uint32_t kMaxFewer = 128;
/// Beyond this many ranks the linear program takes seconds.
constexpr std::uint32_t kMaxProgram = 64;
constexpr std::uint32_t kMaxTrees = 1U << 16;
/// Every piece of the short form has a tree of its own.
constexpr std::uint32_t kMaxShort = 512;
struct OptimalOptions {
  std::uint32_t segments = 0, trees = 0;  // 0: not given
  std::uint64_t bytes = 0;
  std::uint64_t piece = 0;  // 0: not given
  Pipeline pipeline = kPipeline;
  bool only_trees = false;  // nothing else is considered
  bool is_short = false;    // trees of few hops, not of least load
  Time message = {};
  EqualTrees equal_trees = EqualTrees::IfAny;
  [[nodiscard]] bool is_free() const { return segments == 0 && trees == 0; }
};

/// Pieces for "fill" thousandths of the time to fill and to drain: chunks are as much smaller.
Pipeline pipeline_option(const Spec& spec) {
  constexpr std::uint32_t kThousandths = 15, kMost = 500;
  const std::uint32_t fill = spec.get_number("fill", kThousandths, 1, kMost);
  Pipeline pipeline = kPipeline;
  pipeline.fill *= static_cast<double>(fill) / kThousandths;
  pipeline.least_bytes = std::max<std::uint64_t>(1, pipeline.least_bytes * fill / kThousandths);
  return pipeline;
}

OptimalOptions parse_options(const Spec& spec) {
  const std::string form = spec.get("form", "async");
  if (form != "async" && form != "trees" && form != "short") {
    spec.fail(fmt::format("form: expected async, trees or short, got '{}'", form));
  }
  return {.segments = segments_option(spec),
          .trees = spec.get_number("trees", 0, 1, kMaxTrees),
          .bytes = size_option(spec),
          .piece = piece_option(spec),
          .pipeline = pipeline_option(spec),
          .only_trees = form == "trees",
          .is_short = form == "short",
          .message = message_option(spec)};
}

/// Whether trees can be turned around hop by hop, so that roots are free and equal trees exist.
bool has_undirected_trees(const Topology& topology) {
  return !topology.has_switches() && topology.is_symmetric();
}

/// Exactly as many pieces as `timing` says.
SharedSchedule in_segments(const std::string& name, const TreePacking& packing,
                           const Topology& topology, const TimingOptions& timing) {
  return time_trees_in_pieces(name, packing, topology, timing, kDefaultSize, Time{},
                              keep_for(topology));
}

/// Chains of boxes in as many pieces as there is room for.
SharedSchedule over_chains(const TreePacking& chains, const Topology& topology,
                           const OptimalOptions& options) {
  TimingOptions timing{.segments = options.segments, .lag = 1, .lag_parts = 8};
  if (options.segments != 0) return in_segments("chains", chains, topology, timing);
  timing.segments = pipeline_segments(chains, topology, 2 * depth(chains), options.bytes, kChains);
  return time_trees_in_pieces("chains", chains, topology, timing, options.bytes, options.message,
                              keep_for(topology));
}

/// Of the packing and its schedules, where they are kept.
std::string name_of_trees(const OptimalOptions& options) {
  return fmt::format("all-reduce trees of {}{}", options.trees,
                     options.equal_trees == EqualTrees::IfQuickly ? ", equal if quickly" : "");
}

TreePacking pack_new_all_reduce(const Topology& topology, std::uint32_t trees, EqualTrees wanted) {
  if (!has_undirected_trees(topology)) return pack_switched_all_reduce(topology, wanted);
  if (trees == 0) {
    if (auto combs = pack_combs(topology)) return *std::move(combs);
  }
  return pack_spanning_trees(topology, trees);
}

/// The trees of an optimal all-reduce; `trees` = 0 for the exact optimum.
SharedPacking pack_all_reduce(const Topology& topology, const OptimalOptions& options) {
  return ScheduleStore::packing(topology, name_of_trees(options), [&] {
    return pack_new_all_reduce(topology, options.trees, options.equal_trees);
  });
}

TreesToTime trees_to_time(const TreePacking& packing, const Topology& topology,
                          const OptimalOptions& options) {
  return {.name = name_of_trees(options),
          .packing = packing,
          .topology = topology,
          .hops = 2 * depth(packing),
          .pipeline = options.pipeline,
          .segments = options.segments,
          .timing = {.lag = 1, .same_order = true},
          .keep = keep_for(topology)};
}

/// Algorithms whose all-reduce is reduce-scatter + all-gather, those for large buffers first; of
/// many ranks only those.
std::vector<std::string_view> two_phase_algorithms(const Topology& topology) {
  std::vector<std::string_view> names{"symmetric", "forest", "multitree", "breadth-first"};
  if (topology.num_ranks() <= kMaxComparedWithAll) {
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.all_reduce != nullptr) continue;
      if (std::ranges::find(names, algorithm.name) == names.end()) names.push_back(algorithm.name);
    }
  }
  std::erase_if(names, [&](std::string_view name) {
    return find_algorithm(name).unsupported(topology).has_value();
  });
  return names;
}

/// Another algorithm's schedule, to be called by this one's name.
Schedule unnamed(Schedule schedule) {
  schedule.algorithm.clear();
  return schedule;
}

Schedule borrow(std::string_view name, const Topology& topology, Collective collective, Rank root) {
  return unnamed(generate_schedule(name, topology, collective, root));
}

/// The fastest schedule of all kinds so far.
class Fastest : private FastestSchedule {
 public:
  Fastest(const Topology& topology, const OptimalOptions& options)
      : FastestSchedule(options.bytes, options.message), topology_(topology) {}

  using FastestSchedule::consider;
  /// Does what considers something that may not serve this network.
  template <typename Make>
  void try_to(const Make& make) {
    try {
      make();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported) throw;
      if (!refusal_) refusal_ = error;
    }
  }
  void consider_trees(const OptimalOptions& options) {
    const SharedPacking packing = pack_all_reduce(topology_, options);
    multitree::consider_trees(*this, trees_to_time(*packing, topology_, options));
  }
  void consider_fewer_trees(OptimalOptions options) {
    constexpr double kWorthTrying = 0.03;
    if (message() == Time{} || share_of_messages() < kWorthTrying) return;
    const SharedPacking packing = pack_all_reduce(topology_, options);
    const Time least = least_time(*packing, topology_, bytes(), Time{});
    multitree::consider_fewer_trees(*this, least, [&](std::uint32_t trees) {
      options.trees = trees;
      consider_trees(options);
    });
  }
  /// Whether something is within a hundredth of a time in shard times, so that no more can be
  /// gained.
  [[nodiscard]] bool reaches(const Exact& shard_times) const {
    if (!best()) return false;
    const double seconds = shard_times.convert_to<double>() * static_cast<double>(bytes()) /
                           topology_.num_ranks() /
                           static_cast<double>(topology_.unit_bandwidth().bytes_per_second);
    return time().seconds() <= 1.01 * seconds;
  }
  /// \throws Error(Unsupported) why the first candidate was refused, if all were.
  Schedule take() {
    if (!best()) throw *refusal_;
    return unnamed(best()->schedule());
  }

 private:
  const Topology& topology_;
  std::optional<Error> refusal_;
};

/// Shard times of a large reduce-scatter and all-gather.
Exact two_phases_take(const Topology& topology) {
  const Rational bound = compute_bounds(topology).all_reduce();
  return Exact(bound.numerator()) / bound.denominator();
}

/// Trees for bandwidth, a single one for latency, and reduce-scatter + all-gather, which is as good
/// as trees where all ranks are alike. Where trees take a linear program, they come last: nothing
/// that reaches the optimum needs them, and a bound that reduce-scatter + all-gather could reach is
/// not always reached. Where they could, equal trees are not worth a long search.
Schedule fastest(const Topology& topology, OptimalOptions options) {
  Fastest fastest(topology, options);
  const std::uint32_t ranks = topology.num_ranks();
  if (has_undirected_trees(topology)) {
    fastest.consider_trees(options);
    if (ranks == 1) return fastest.take();
    OptimalOptions one_tree = options;
    one_tree.trees = 1;
    fastest.consider_trees(one_tree);
    if (ranks <= kMaxFewer) fastest.consider_fewer_trees(options);
    if (ranks > kMaxCompared) return fastest.take();
  }
  if (const auto chains = pack_boxes(topology)) {
    fastest.consider(over_chains(*chains, topology, options));
  }
  for (const std::string_view name : two_phase_algorithms(topology)) {
    fastest.try_to([&] {
      fastest.consider(
          stored_schedule(std::string(name), topology, Collective::AllReduce, Rank{0}));
    });
  }
  if (has_undirected_trees(topology) || ranks == 1 || ranks > kMaxProgram) return fastest.take();
  const Exact least = solve_all_reduce_lp(topology).time;
  if (fastest.reaches(least)) return fastest.take();
  if (two_phases_take(topology) == least) options.equal_trees = EqualTrees::IfQuickly;
  fastest.try_to([&] { fastest.consider_trees(options); });
  return fastest.take();
}

Schedule only_trees(const Topology& topology, const OptimalOptions& options) {
  const SharedPacking packing = pack_all_reduce(topology, options);
  FastestSchedule fastest(options.bytes, options.message);
  consider_plain_trees(fastest, trees_to_time(*packing, topology, options));
  return fastest.best()->schedule();
}

/// Chains of boxes where there are some, as there messages of transfers under way at once do not
/// meet; else trees. The same for every size, in more or fewer pieces.
Schedule in_pieces(const Topology& topology, OptimalOptions options) {
  const auto segments = [&](const TreePacking& packing) {
    return piece_segments(packing, options.bytes, options.piece, kPipeline.most_transfers);
  };
  if (options.trees == 0 && !options.only_trees) {
    if (const auto chains = pack_boxes(topology)) {
      options.segments = segments(*chains);
      return over_chains(*chains, topology, options)->schedule();
    }
  }
  options.segments = segments(*pack_all_reduce(topology, options));
  return only_trees(topology, options);
}

Schedule in_short_trees(const Topology& topology, const OptimalOptions& options) {
  constexpr std::uint64_t kPiece = 256;
  if (!has_undirected_trees(topology)) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("allreduce-optimal on {}: form=short needs links in pairs of equal "
                            "bandwidth and no switches",
                            topology.name()));
  }
  if (topology.num_ranks() > kMaxShort) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("allreduce-optimal on {}: form=short serves up to {} ranks, not {}",
                            topology.name(), kMaxShort, topology.num_ranks()));
  }
  return short_all_reduce(topology, options.bytes, options.piece == 0 ? kPiece : options.piece);
}

Schedule optimal_all_reduce(const Topology& topology, const Spec& spec) {
  // Ranks do all the work here; in-network is for switches that add and copy.
  if (topology.has_abilities()) return optimal_all_reduce(without_abilities(topology), spec);
  const OptimalOptions options = parse_options(spec);
  if (!has_undirected_trees(topology) && options.trees != 0) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("allreduce-optimal on {}: trees needs links in pairs of equal "
                            "bandwidth and no switches",
                            topology.name()));
  }
  if (options.is_short) return in_short_trees(topology, options);
  if (options.piece != 0) return in_pieces(topology, options);
  const bool any_form = options.is_free() || !has_undirected_trees(topology);
  return any_form && !options.only_trees ? fastest(topology, options)
                                         : only_trees(topology, options);
}

Schedule optimal_all_gather(const Topology& topology, const Spec& spec) {
  static_cast<void>(parse_options(spec));
  return borrow(two_phase_algorithms(topology).front(), topology, Collective::AllGather, Rank{0});
}

Schedule optimal_broadcast(const Topology& topology, Rank root, const Spec& spec) {
  static_cast<void>(parse_options(spec));
  return borrow(two_phase_algorithms(topology).front(), topology, Collective::Broadcast, root);
}

}  // namespace

Algorithm allreduce_optimal_algorithm() {
  return {.name = "allreduce-optimal",
          .summary = "spanning trees that reduce and spread at once: the exact optimum",
          .source = "Nash-Williams 1961, Tutte 1961; matroid union, Roskind and Tarjan 1985",
          .parameters =
              "trees=K: K equal trees (default: as many as the exact optimum needs); segments=N: "
              "pieces of a tree of mean weight (default: as fill says); fill=N: thousandths "
              "of the time to fill the pipeline, about (default 15); piece=BYTES: instead of "
              "segments or fill, pieces of about so many bytes, with trees that are the same "
              "whatever the size and message; form=async|trees|short: trees is "
              "async without comparing other forms, short is trees of few hops in pieces of 256 "
              "bytes, or as piece says, for small sizes on networks without switches (default "
              "async); "
              "size=BYTES, message=TIME: size and cost of a message to choose for, also between "
              "trees and reduce-scatter + all-gather where no other option is given (default "
              "64MiB, 0ns)",
          .unsupported = supports_all,
          .all_gather = optimal_all_gather,
          .broadcast = optimal_broadcast,
          .all_reduce = optimal_all_reduce,
          .variants =
              "segments=1|segments=4|trees=1&segments=1|trees=2&segments=1|"
              "trees=4&segments=1",
          .asks_size = true};
}

}  // namespace multitree
