// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Runs tables on numbers, without any knowledge of the schedule that they come from.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/table/table.hpp"

namespace multitree::test {

using Buffers = std::vector<std::vector<std::uint64_t>>;  // [rank][element]

/// How entries may be sent: when the step has come, or as soon as what they wait for is there.
enum class Issue { Lockstep, AsSoonAsPossible };

/// Sends the entries of each port in the order of the table, those of all ranks in an order drawn
/// from `seed`, and moves and adds elements; messages arrive at once. Stops when nothing can be
/// sent. \returns whether all entries were sent.
bool run_tables(const nic::Tables& tables, Issue issue, std::uint64_t seed, Buffers& buffers);

}  // namespace multitree::test
