// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules in the formats of other programs (docs/file-formats.md): MSCCL, MSCCL++, ASTRA-sim,
/// ForestColl.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Whether the caller's send and receive buffers are the same memory.
enum class BufferMode : std::uint8_t { InPlace, OutOfPlace, Either };

/// Which runtime an MSCCL program must fit.
enum class MscclLimits : std::uint8_t {
  Msccl,     ///< microsoft/msccl: 256 steps a thread block, 216 thread blocks
  Executor,  ///< Azure/msccl-executor-nccl, RCCL: 64 steps; "reducescatter" in one word
  None,      ///< any: for simulators, and for runtimes built with other limits
};

struct MscclOptions {
  std::string protocol = "Simple";  ///< Simple, LL or LL128
  std::uint32_t channels = 1;       ///< >= 1; chunks are dealt to them, each with its thread blocks
  std::uint64_t min_bytes = 0;  ///< smallest and largest message that the runtime may use it for
  std::uint64_t max_bytes = std::uint64_t{1} << 40;
  BufferMode buffers = BufferMode::InPlace;
  bool fuse = false;  ///< join a receive and the send of what it received to one instruction
  MscclLimits limits = MscclLimits::Msccl;
};

/// MSCCL's XML. \pre The schedule verifies. \throws Error(Unsupported) naming the limit that it
/// exceeds, Error(InvalidArgument) for options out of range.
std::string write_msccl_xml(const Schedule& schedule, const MscclOptions& options = {});

}  // namespace multitree
