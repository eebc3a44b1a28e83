// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// DeAR's search for the size of groups.
#pragma once

#include <cstdint>
#include <functional>

namespace multitree::training {

/// The best of ten trials between 1 and 256 MiB, in whole ones, the first at 25: each next one
/// where a Gaussian process (Matern 5/2) through those before expects the largest improvement
/// beyond 0.1 of their standard deviation. Deterministic. \param seconds of an iteration with
/// groups of at most so many bytes \returns bytes
std::uint64_t tuned_group_size(const std::function<double(std::uint64_t)>& seconds);

}  // namespace multitree::training
