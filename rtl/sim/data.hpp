// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Buffers of the types that hardware adds, and what a schedule makes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "rtl/sim/loader.hpp"
#include "runtime/kernels/data_type.hpp"

namespace multitree::rtl {

using Buffers = std::vector<std::vector<std::byte>>;  ///< [rank]

/// \throws Error(InvalidArgument) listing int32, float, bfloat16, half.
HardwareType parse_hardware_type(std::string_view text);
runtime::DataType data_type_of(HardwareType type);

/// Numbers whose sums depend on the order of adding; the same on every machine.
Buffers make_inputs(std::uint32_t ranks, std::uint64_t elements, HardwareType type);
/// Carries the schedule out with the runtime's own additions, in its order.
void run_schedule(const Schedule& schedule, HardwareType type, Buffers& buffers);
/// "rank 3, element 17: expected 0x3f000000, got 0x3e800000" for the first difference in what ranks
/// must end with; empty if there is none.
std::string find_difference(const Schedule& schedule, HardwareType type, const Buffers& expected,
                            const Buffers& got);

}  // namespace multitree::rtl
