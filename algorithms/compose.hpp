// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// New schedules from old ones: time reversal and sequence. With them an algorithm need only say
/// how it gathers and broadcasts.
#pragma once

#include <optional>
#include <utility>

#include "algorithms/schedule.hpp"

namespace multitree {

/// The reduction that mirrors a gathering: AllGather becomes ReduceScatter, Broadcast becomes
/// Reduce. Each Copy src->dst at step t of T becomes a Reduce dst->src at step T-1-t (MULTITREE,
/// section 3).
///
/// `schedule` must have been made for `topology.transposed()`, so that every link turned around is
/// a link of `topology`, with the same LinkId.
Schedule reversed_on_transposed(const Schedule& schedule);

/// The same, for a schedule made for `topology` itself: each link is replaced by its mate. The
/// trees are then the same in both directions. Requires topology.is_symmetric().
Schedule reversed_by_mates(const Schedule& schedule, const Topology& topology);

/// How gatherings become reductions of a network.
class Mirror {
 public:
  /// `topology` has to outlive this.
  explicit Mirror(const Topology& topology);
  /// What gatherings have to be made for: the network itself, or, where links have no mates, it
  /// with all links turned around.
  [[nodiscard]] const Topology& gathers_on() const {
    return transposed_ ? *transposed_ : topology_;
  }
  /// Where reductions are.
  [[nodiscard]] const Topology& reduces_on() const { return topology_; }
  [[nodiscard]] Schedule reduction(const Schedule& gathering) const;

 private:
  const Topology& topology_;
  std::optional<Topology> transposed_;
};

/// `first` (ReduceScatter) then `second` (AllGather) with the same chunks: an AllReduce.
Schedule all_reduce_of(const Schedule& first, const Schedule& second);

/// A ReduceScatter and an AllGather, each cut at the cuts of both, so that all_reduce_of() can join
/// them: transfers are repeated for the pieces of their chunk. \throws Error(Unsupported) if the
/// weights of the pieces would exceed 32 bits.
std::pair<Schedule, Schedule> with_common_chunks(const Schedule& first, const Schedule& second,
                                                 const Topology& topology);

/// The part of an all-gather that brings every chunk to `root`, as early as links allow: a Gather.
/// No link carries more than in the all-gather.
Schedule gather_to(const Schedule& all_gather, Rank root, const Topology& topology);

/// `schedule` with every chunk in `pieces` pieces of the same owner and tree, one behind the other:
/// what is of step t becomes steps pieces * t to pieces * t + pieces - 1. So links carry what they
/// carried, and what a rank passes on in the next step has come while it sends the last pieces of
/// this one. \throws Error(Unsupported) if there were more chunks, steps or transfers, or larger
/// weights, than schedules have.
Schedule in_pieces(const Schedule& schedule, std::uint32_t pieces);

/// `schedule` repeated for `segments` pieces of every chunk, as densely pipelined as links allow:
/// chunk c becomes `segments` chunks of the same owner and tree.
Schedule pipelined(const Schedule& schedule, std::uint32_t segments, const Topology& topology);

}  // namespace multitree
