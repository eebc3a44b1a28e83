// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An MSCCL program with the places in its file, for errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/interchange/msccl_program_internal.hpp"

namespace multitree::interchange {

/// A step by its position.
struct StepId {
  std::uint32_t gpu = 0, block = 0, step = 0;
};

struct MscclFile {
  std::string_view text;
  const std::string& file;
  MscclProgram program;
  std::vector<std::uint32_t> gpu_at;                             ///< byte of each gpu element
  std::vector<std::vector<std::vector<std::uint32_t>>> step_at;  ///< gpu, block, step

  /// Throw Error(InvalidInput) "file:line: what".
  [[noreturn]] void fail(const StepId& at, const std::string& what) const;
  [[noreturn]] void fail_gpu(std::uint32_t gpu, const std::string& what) const;
};

/// Reads and checks the form: numbers in range, thread blocks and steps dense, peers and
/// dependences that exist, one thread block for each connection's end. \throws Error(InvalidInput).
MscclFile read_msccl(std::string_view text, const std::string& file, std::uint32_t ranks);

}  // namespace multitree::interchange
