// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Groups of gradients that are as good as a search finds.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "training/gradients_internal.hpp"

namespace multitree::training {

/// Seconds of an iteration with such groups.
using GroupCost = std::function<double(const std::vector<Gradient>& groups)>;

/// Neighbours joined into groups, so that no other cut, no cut less and no cut elsewhere makes
/// `seconds` less: the best of groups of at most 1 MiB, 2 MiB, ..., all together and none, then
/// step by step the first change that helps. At most `evaluations` of `seconds`. Deterministic.
std::vector<Gradient> search_cuts(const std::vector<Gradient>& gradients, const GroupCost& seconds,
                                  std::uint32_t evaluations = 4000);

}  // namespace multitree::training
