// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random collectives and what they must give: sums in the order of the ranks, bit by bit.
#pragma once

#include <cstdint>

#include "runtime/communicator.hpp"

namespace multitree::runtime::test {

/// One call, drawn alike by all ranks from the seed; what each rank decides for itself (alignment,
/// whose memory, in place) from the seed and its number.
struct RandomCall {
  std::uint64_t seed = 0;
  std::size_t max_bytes = 0;  ///< of a vector or shard
};

/// Runs the call and compares all bits; throws std::runtime_error with the seed if one is wrong.
void check_random_call(Communicator& communicator, Rank root, const RandomCall& call);

}  // namespace multitree::runtime::test
