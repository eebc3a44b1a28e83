// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A job that becomes a part of a larger one: its ranks agree how, then all join by id.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/job/unique_id.hpp"

namespace multitree::runtime {

/// What a rank knows of the larger job.
struct Growth {
  std::optional<UniqueId> id;  ///< where all meet; one rank of the smaller job has it, or several
  std::uint32_t size = 0;
  Seat seat{};  ///< of this rank there
};

/// Collective over the ranks of `job`: the id where they meet the newcomers, for join_by_id() by
/// all of them. `job` stays as it is. \throws Error(InvalidArgument), at all ranks alike, if they
/// have different sizes or ids, no id, or one seat twice, or a seat is not below the size;
/// Error(Timeout); Error(Transport) if a rank calls something else.
UniqueId agree_on_growth(const Growth& growth, Bootstrap& job, Deadline deadline);

}  // namespace multitree::runtime
