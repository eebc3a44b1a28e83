// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a schedule computes, in the order in which the runtime adds.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"

namespace multitree::nic {

using Memory = std::vector<std::vector<float>>;  // [rank][element]

/// Numbers in [-1, 1) whose sums depend on the order of adding; the same on every machine.
Memory make_inputs(std::uint32_t ranks, std::uint64_t elements);

/// Carries the schedule out, step by step: what a step sends is read before it takes effect, and
/// sums are added in list order, as Schedule says.
void run_schedule(const Schedule& schedule, Memory& memory);

/// "rank 3, element 17: expected 0.5, got 0.25" for the first difference in what ranks must end
/// with; empty if there is none. Compares bits.
std::string find_difference(const Schedule& schedule, const Memory& expected, const Memory& got);

}  // namespace multitree::nic
