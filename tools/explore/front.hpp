// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Pareto front.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace multitree::tools {

/// Which points no other beats: none is at most as large in every number and smaller in one. Of
/// equal ones the first. In ascending order of their numbers, the first number first.
/// \pre all have as many numbers, none of them NaN.
std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> points);

}  // namespace multitree::tools
