// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Limits that MSCCL++'s executor is compiled with (its execution_common.hpp).
#pragma once

#include <cstdint>

namespace multitree::interchange {

inline constexpr std::uint32_t kMscclppOperations = 64;  ///< of a thread block
/// Of a thread block, of each type; as many remote buffers.
inline constexpr std::uint32_t kMscclppChannels = 16;
inline constexpr std::uint32_t kMscclppOperationChannels = 8;
/// Offsets in buffers are 32-bit numbers.
inline constexpr std::uint64_t kMscclppBytes = UINT32_MAX;

}  // namespace multitree::interchange
