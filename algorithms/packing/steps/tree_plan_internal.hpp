// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A tree as a list scheduler sees it: what follows on what, and how long all that takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/packing/chunks/chunking_internal.hpp"
#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/packing/trees/tree_packing.hpp"
#include "algorithms/schedule.hpp"

namespace multitree {

/// Time in whole units of one packing (TickClock).
using Ticks = std::int64_t;

/// How long chunks keep links busy. Exact, so that what takes equally long ends at the same time,
/// unless bandwidths and weights have no common unit; rounded to 2^-24 of the longest time then.
class TickClock {
 public:
  TickClock(const Chunking& chunking, const Topology& topology);
  /// > 0.
  [[nodiscard]] Ticks time(std::uint64_t weight, LinkId link) const;

 private:
  std::vector<std::uint64_t> per_weight_;  // by link, scaled by 2^shift_
  unsigned shift_ = 0;
};

inline constexpr std::uint32_t kNoArc = ~std::uint32_t{0};

/// A tree, with what each rank has to send. Arcs: reductions, then copies. Where switches copy and
/// add, an arc is a whole group that is one message (ArcGroup), and has several receivers or
/// senders.
struct TreePlan {
  std::vector<ArcGroup> arcs;
  std::uint32_t reductions = 0;
  std::vector<std::uint32_t> children;   ///< by rank: reductions that it waits for
  std::vector<std::uint32_t> reduction;  ///< by rank: its own one; kNoArc at the root
  /// By reduction: those to the same rank that come just before and after it, of every chunk;
  /// kNoArc: none, or in any order (TimingOptions::same_order).
  std::vector<std::uint32_t> before, after;
  std::vector<std::uint32_t> copy_begin;  ///< by rank, into `copies`
  std::vector<std::uint32_t> copies;      ///< arcs
  std::vector<Ticks> lags;                ///< by arc: between receiving and passing on
  std::vector<Ticks> to_end;              ///< by arc, itself included, to the last leaf
};

/// A packing cut into chunks, and all times that its timing rests on.
struct PackingPlan {
  const TreePacking& packing;
  const Topology& topology;
  Chunking chunking;
  TickClock clock;
  Ticks message = 0;  ///< that one keeps its sender busy
  std::vector<TreePlan> trees;

  [[nodiscard]] const TreePlan& tree_of(std::uint32_t chunk) const {
    return trees[chunking.chunks[chunk].tree];
  }
  [[nodiscard]] std::span<const LinkId> route(std::uint32_t chunk, std::uint32_t arc) const {
    return tree_of(chunk).arcs[arc].links;
  }
  [[nodiscard]] std::size_t value_index(std::uint32_t chunk, Rank rank) const {
    return std::size_t{chunk} * packing.ranks + index(rank);
  }
};

/// The packing and the topology must outlive the plan.
PackingPlan plan_packing(const TreePacking& packing, const Topology& topology,
                         const TimingOptions& options);
/// The same with chunks that were cut before; `options.segments` does not count.
PackingPlan plan_packing(const TreePacking& packing, const Topology& topology,
                         const TimingOptions& options, Chunking chunking);

/// A transfer whose turn has come.
struct Turn {
  std::uint32_t chunk = 0, arc = 0;
};

/// Whether what a rank sends keeps its order, whichever links it takes, and, for the sake of the
/// schedule's mirror image, what it receives.
enum class RankOrder : std::uint8_t {
  None,
  OfSteps,     ///< nothing has an earlier step than what comes before it
  WithinSteps  ///< also in one step, where canonical order says who goes first
};

/// The schedule that serves transfers in the order of `turns`, each link and each chunk: steps are
/// the least possible ones that keep it. \pre no transfer comes before what it waits for.
Schedule number_steps(const PackingPlan& plan, const std::vector<Turn>& turns,
                      RankOrder order = RankOrder::None);

}  // namespace multitree
