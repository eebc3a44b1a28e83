// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Looking for numbers that are none.
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime {

/// Where the first of `count` elements lies that is an infinity or NaN; `count` if there is none,
/// as among integers. `data` need not be aligned.
std::size_t first_not_finite(const void* data, std::size_t count, DataType type);

/// "nan", "inf", "-inf". \pre element `at` is one of these
std::string_view name_of_not_finite(const void* data, std::size_t at, DataType type);

}  // namespace multitree::runtime
