// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Values and costs of points in words.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/explore/report.hpp"

namespace multitree::tools {

/// Value of an axis at a point. \pre there is such an axis
std::string value_text(const ExploreDesign& design, const ExplorePoint& point,
                       std::string_view axis);

std::uint64_t cost_of(const ExploreRow& row, Cost cost);
/// "cells", "memory bits".
std::string_view unit_of(Cost cost);

/// A whole number with commas: 12,345.
std::string grouped(double number);

}  // namespace multitree::tools
