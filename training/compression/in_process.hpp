// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks that are threads of this process, for tests and studies.
#pragma once

#include <cstdint>
#include <functional>

#include "algorithms/schedule.hpp"
#include "training/compression/exchange.hpp"

namespace multitree::training {

/// Calls `work` once for each rank, each in a thread of its own, and comes back when all have
/// ended. Deterministic: every number's contributions are added, and rounded where they travel, on
/// its tree of `order`, an all-reduce for so many ranks; without one they travel to rank 0, which
/// adds them in the order of ranks. \throws what the first rank that failed has thrown; the others
/// are let go. Error(InvalidArgument) if `order` is of another kind, or a chunk has no tree.
void run_together(std::uint32_t ranks, const std::function<void(Exchange&)>& work,
                  const Schedule* order = nullptr);

}  // namespace multitree::training
