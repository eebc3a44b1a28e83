// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bounds and times of networks whose ranks are all alike, from what one rank does: however many
/// there are, without the network and without the schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/collective.hpp"
#include "algorithms/symmetric/symmetric_schedule.hpp"
#include "topologies/units.hpp"

namespace multitree {

/// What no schedule beats, by one cut and its translates: a class of ranks, one or those of a box,
/// must be entered or left by what it lacks or has, once for each phase.
struct AlikeBound {
  Collective collective = Collective::AllReduce;
  Rational shards{0};          ///< in shard times, as Bounds
  std::uint32_t inside = 1;    ///< ranks of a class
  std::uint32_t first = 0;     ///< the generators from this on leave it
  Bandwidth unit_bandwidth{};  ///< of shard times; 0 without links
};

/// For each collective along trees; for large networks the largest of single ranks, and where ranks
/// meet at switches of the boxes of each level. \throws Error(Unsupported) for an all-to-all.
AlikeBound bound_of(const AlikeRanks& ranks, Collective collective);

/// Shard times of `bytes` in seconds.
double seconds_of(const Rational& shards, const AlikeRanks& ranks, std::uint64_t bytes);

/// No schedule takes less: the farthest rank must be reached, and links out of a class serve it
/// only after the first byte can be there, and before the last must leave for its receiver.
Time least_time(const AlikeRanks& ranks, const AlikeBound& bound, std::uint64_t bytes,
                Time message_overhead);

/// predict_time() of the schedule written out, if all ranks serve the messages of a step in the
/// order of their places in the trees, the same for all. Written out, they serve them in the order
/// of chunks: the same where no two messages of a step share a link or a sender's time; a few
/// overheads apart where they share a sender's; and later in small clusters of boxes, where several
/// that are for one GPU meet (1.45 times as late at most in the tests). O(ranks * chunks).
Time predict_time(const SymmetricSchedule& schedule, std::uint64_t bytes, Time message_overhead);
/// The same of the trees of a schedule, for another collective that they serve.
Time predict_time(const SymmetricSchedule& schedule, Collective collective, std::uint64_t bytes,
                  Time message_overhead);

}  // namespace multitree
