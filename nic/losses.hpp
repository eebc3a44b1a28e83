// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums that go on without contributions that are late, within a budget: docs/nic-spec.md, "Losses
/// within bounds".
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"
#include "nic/jobs.hpp"
#include "nic/simulate.hpp"
#include "nic/table/table.hpp"

namespace multitree::nic {

/// The most ranks whose contributions a header can count.
inline constexpr std::uint32_t kMostCounted = 255;

/// \throws Error(Unsupported) unless the schedule is an all-reduce by trees of at most kMostCounted
/// ranks: each rank but the root sends its partial sum of a chunk once and gets the result once;
/// Error(InvalidArgument) if the budget is all contributions or more, or `ready` has another number
/// of ranks.
void check_losses(const Losses& losses, const Schedule& schedule);

/// An all-reduce of no numbers along the lowest of the schedule's trees: what a header counts is
/// all that there is to it. \pre check_losses().
Schedule roll_call_of(const Schedule& schedule);

/// The roll call and the sum as the groups of an image: doorbell 0 and 1.
std::vector<GroupSource> counted_groups(const Schedule& roll_call, const Schedule& sum,
                                        std::uint64_t elements);
/// The same as jobs; without a budget nobody is called.
std::vector<Job> counted_jobs(const Losses& losses, const Schedule& roll_call, const Schedule& sum,
                              std::uint64_t bytes);

}  // namespace multitree::nic
