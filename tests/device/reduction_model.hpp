// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What device::Reduction has to compute, on host memory.
#pragma once

#include "runtime/device/table.hpp"

namespace multitree::runtime::test {

/// By the host's kernels: 16-bit floats are widened, reduced as float and rounded once.
void reduce_model(const device::Reduction& reduction);

}  // namespace multitree::runtime::test
