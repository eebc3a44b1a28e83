// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Simulates the points of a design that are not known, on several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>

#include "tools/explore/results.hpp"

namespace multitree::tools {

/// Told after each point: how many are over, of how many. Called by several threads, one at a time.
using ExploreProgress = std::function<void(std::size_t done, std::size_t all)>;

/// Simulates what is missing, each into `results` as soon as it is known; every schedule is made
/// once. What comes out does not depend on `jobs`. Where a combination makes no sense (an algorithm
/// on a network that it cannot serve, a deadlock), the outcome says so and the others go on.
/// \param stop set by somebody: points under way are given up, and it returns.
/// \returns how many points were simulated. \throws Error(InvalidInput) for an algorithm with
/// options that it does not have, with its place in the design; what a write throws
std::size_t explore(const ExploreDesign& design, std::span<const ExplorePoint> points,
                    ExploreResults& results, unsigned jobs, const std::atomic<bool>& stop,
                    const ExploreProgress& progress);

}  // namespace multitree::tools
