// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small packing programs solved in fractions.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/certificate/certificate.hpp"

namespace multitree {

struct ExactPacking {
  std::vector<Exact> amounts;  ///< by column
  std::vector<Exact> prices;   ///< by row: no column costs less than 1
};

/// Maximises the sum of amounts, none negative, of which no row may use more than 1;
/// `columns[i][r]` is what a unit of column i uses of row r. The simplex method in fractions, with
/// Bland's rule. \pre Every column uses something.
ExactPacking pack_exactly(const std::vector<std::vector<std::uint64_t>>& columns);

}  // namespace multitree
