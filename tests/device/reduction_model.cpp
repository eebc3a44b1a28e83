// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What device::Reduction has to compute, on host memory.
#include "reduction_model.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

#include "runtime/kernels/float16_internal.hpp"
#include "runtime/kernels/reduce.hpp"

namespace multitree::runtime::test {
namespace {

template <typename T>
std::vector<float> widen(const void* from, std::size_t count) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(from) + i * sizeof value, sizeof value);
    result[i] = value.to_float();
  }
  return result;
}

template <typename T>
void reduce_widened(const device::Reduction& r) {
  std::vector<float> sum = widen<T>(r.inputs[0], r.count);
  for (std::uint32_t k = 1; k < r.input_count; ++k) {
    const std::vector<float> next = widen<T>(r.inputs[k], r.count);
    reduce(sum.data(), next.data(), r.count, DataType::Float32, r.op);
  }
  for (std::size_t i = 0; i < r.count; ++i) {
    const T value = T::from_float(sum[i]);
    std::memcpy(static_cast<std::byte*>(r.result) + i * sizeof value, &value, sizeof value);
  }
}

}  // namespace

void reduce_model(const device::Reduction& r) {
  if (r.type == DataType::Float16) return reduce_widened<Half>(r);
  if (r.type == DataType::BFloat16) return reduce_widened<Bfloat>(r);
  // As doubles: aligned for every type.
  const std::size_t bytes = r.count * size_of(r.type);
  std::vector<double> sum(bytes / sizeof(double) + 1), next(sum.size());
  std::memcpy(sum.data(), r.inputs[0], bytes);
  for (std::uint32_t k = 1; k < r.input_count; ++k) {
    std::memcpy(next.data(), r.inputs[k], bytes);
    reduce(sum.data(), next.data(), r.count, r.type, r.op);
  }
  std::memcpy(r.result, sum.data(), bytes);
}

}  // namespace multitree::runtime::test
