// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An MSCCL program as a value: what the XML says, between exporter, importer and text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/interchange/interchange.hpp"
#include "algorithms/interchange/rank_operations_internal.hpp"

namespace multitree::interchange {

/// Instructions in the order of their names below.
enum class MscclType : std::uint8_t {
  Nop,
  Send,
  Receive,
  ReceiveCopySend,
  ReceiveReduceSend,
  ReceiveReduceCopy,
  ReceiveReduceCopySend,
  Copy,
  Reduce,
};
inline constexpr std::array<std::string_view, 9> kMscclTypeNames = {
    "nop", "s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re"};

[[nodiscard]] constexpr bool sends(MscclType type) {
  return type == MscclType::Send || type == MscclType::ReceiveCopySend ||
         type == MscclType::ReceiveReduceSend || type == MscclType::ReceiveReduceCopySend;
}
[[nodiscard]] constexpr bool receives(MscclType type) {
  return type != MscclType::Nop && type != MscclType::Send && type != MscclType::Copy &&
         type != MscclType::Reduce;
}

/// One instruction. It starts after step `wait_step` of thread block `wait_block` of its gpu.
struct MscclStep {
  MscclType type = MscclType::Nop;
  bool waited_for = false;  ///< "hasdep": tells those that wait for it
  Place src, dst;
  std::uint32_t count = 0;  ///< units
  std::int32_t wait_block = -1, wait_step = -1;
};

/// One send peer and one receive peer (-1: none) on one channel.
struct MscclBlock {
  std::int32_t send = -1, receive = -1;
  std::uint32_t channel = 0;
  std::vector<MscclStep> steps;
};

struct MscclGpu {
  std::uint32_t input = 0, output = 0, scratch = 0;  ///< units; 0 for a buffer that is not used
  std::vector<MscclBlock> blocks;
};

struct MscclProgram {
  std::string name, protocol;
  Collective collective = Collective::AllReduce;
  std::uint32_t channels = 1;
  std::uint32_t units = 1;  ///< "nchunksperloop"
  bool in_place = true, out_of_place = false;
  std::uint64_t min_bytes = 0, max_bytes = 0;
  std::vector<MscclGpu> gpus;
};

MscclProgram msccl_program(const Schedule& schedule, const MscclOptions& options);

/// \throws Error(Unsupported) naming the limit.
void check_limits(const MscclProgram& program, MscclLimits limits);

/// Canonical text. `limits` decides how reduce-scatter is spelt.
std::string to_xml(const MscclProgram& program, MscclLimits limits);

}  // namespace multitree::interchange
