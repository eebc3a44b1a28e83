// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From types and operators to the kernels of this processor.
#include "runtime/kernels/reduce.hpp"

#include <algorithm>
#include <array>

#include "runtime/kernels/kernels_internal.hpp"

namespace multitree::runtime {
namespace {

/// Where more inputs come than one pass takes: so much stays in the first cache in between.
constexpr std::size_t kBlockBytes = 8192;

kernels::Combine kernel(DataType type, ReduceOp op) {
  return kernels::best().combine[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
}

/// Passes of up to kMaxInputs, the result so far in front.
void combine_block(void* result, std::span<const void* const> inputs, std::size_t offset,
                   std::size_t count, kernels::Combine combine) {
  std::array<const void*, kernels::kMaxInputs> pass{};
  std::size_t taken = 0, next = 0;
  while (next < inputs.size()) {
    while (taken < pass.size() && next < inputs.size()) {
      pass[taken++] = static_cast<const std::byte*>(inputs[next++]) + offset;
    }
    combine(result, pass.data(), taken, count);
    pass[0] = result;
    taken = 1;
  }
}

}  // namespace

void reduce(void* accumulator, const void* input, std::size_t count, DataType type, ReduceOp op) {
  reduce(accumulator, accumulator, input, count, type, op);
}

void reduce(void* result, const void* first, const void* second, std::size_t count, DataType type,
            ReduceOp op) {
  const std::array<const void*, 2> inputs{first, second};
  kernel(type, op)(result, inputs.data(), inputs.size(), count);
}

void reduce(void* result, std::span<const void* const> inputs, std::size_t count, DataType type,
            ReduceOp op) {
  const kernels::Combine combine = kernel(type, op);
  if (inputs.size() <= kernels::kMaxInputs) {
    combine(result, inputs.data(), inputs.size(), count);
    return;
  }
  const std::size_t width = size_of(type);
  const std::size_t block = kBlockBytes / width;
  for (std::size_t at = 0; at < count; at += block) {
    combine_block(static_cast<std::byte*>(result) + at * width, inputs, at * width,
                  std::min(block, count - at), combine);
  }
}

void finish_reduction(void* data, std::size_t count, DataType type, ReduceOp op,
                      std::uint32_t ranks) {
  if (op == ReduceOp::Avg && ranks > 1) {
    kernels::kDivide[static_cast<std::size_t>(type)](data, count, ranks);
  }
}

void copy_past_caches(void* to, const void* from, std::size_t bytes) {
  kernels::best().stream(to, from, bytes);
}

}  // namespace multitree::runtime
