// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a collective was called with.
#pragma once

#include <cstddef>

#include "algorithms/collective.hpp"
#include "runtime/data_type.hpp"

namespace multitree::runtime {

struct Call {
  Collective collective{};
  const std::byte* send = nullptr;
  std::byte* recv = nullptr;
  std::size_t count = 0;
  DataType type{};
  ReduceOp op = ReduceOp::Sum;
};

}  // namespace multitree::runtime
