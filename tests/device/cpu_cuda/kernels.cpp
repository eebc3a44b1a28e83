// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels of runtime/device/cuda, compiled for the host.
#include "cpu_cuda/kernels.hpp"

#include <array>

#include "cpu_cuda/block.hpp"
#include "runtime/device/cuda/kernels_internal.hpp"

namespace multitree::runtime::test {
namespace {

namespace cuda = device::cuda;

constexpr cuda::Launch kLaunch{nullptr, 2};

const cuda::Launchers& launchers_of(DataType type) {
  static const std::array<cuda::Launchers, device::kTypes> kAll = {
      cuda::int8_launchers(),  cuda::uint8_launchers(), cuda::int32_launchers(),
      cuda::int64_launchers(), cuda::half_launchers(),  cuda::bfloat_launchers(),
      cuda::float_launchers(), cuda::double_launchers()};
  return kAll.at(static_cast<std::size_t>(type));
}

}  // namespace

void cpu_reduce(const device::Reduction& r) {
  if (r.count == 0) return;
  launchers_of(r.type).reduce.at(static_cast<std::size_t>(r.op))(r, kLaunch);
}

void cpu_divide(void* data, std::size_t count, DataType type, std::uint32_t ranks) {
  if (count != 0) launchers_of(type).divide(data, count, ranks, kLaunch);
}

void cpu_walk(const device::Walk& walk, DataType type, ReduceOp op, std::uint32_t block) {
  only_block = block;
  launchers_of(type).walk.at(static_cast<std::size_t>(op))(walk, nullptr);
  only_block.reset();
}

}  // namespace multitree::runtime::test
