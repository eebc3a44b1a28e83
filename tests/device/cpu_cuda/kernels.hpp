// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels of runtime/device/cuda, compiled for the host from their own sources.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/device/table.hpp"

namespace multitree::runtime::test {

/// As launched on a device of two multiprocessors, so that there are several blocks; each has ended
/// when it returns. \pre the type has kernels; as in device::Table
void cpu_reduce(const device::Reduction& reduction);
void cpu_divide(void* data, std::size_t count, DataType type, std::uint32_t ranks);
/// One block of it.
void cpu_walk(const device::Walk& walk, DataType type, ReduceOp op, std::uint32_t block);

}  // namespace multitree::runtime::test
