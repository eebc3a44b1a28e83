// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What an MSCCL program does to the values of chunks.
#pragma once

#include <vector>

#include "algorithms/interchange/atomic_messages_internal.hpp"
#include "algorithms/interchange/msccl_file_internal.hpp"

namespace multitree::interchange {

/// The messages of a program, one for each chunk of each instruction that receives.
struct MscclMessages {
  std::vector<AtomicMessage> messages;  ///< chunk: unit for now
  std::vector<StepId> at;               ///< the instruction that received
  std::vector<std::uint32_t> group;     ///< messages of one execution of an instruction share it
  std::vector<std::uint32_t> sent;      ///< place of the send among all sends
};

/// The rank that starts with all data (broadcast) or ends with it (reduce), which the file does not
/// say; 0 for other collectives. \throws Error(InvalidInput) if several ranks could be it.
Rank msccl_root(const MscclFile& file);

/// Executes the program on symbols. \throws Error(InvalidInput) "file:line: ..." if it does not
/// finish, uses what is not there, or does what no order of reductions and copies of one value a
/// rank and chunk does.
MscclMessages msccl_messages(const MscclFile& file, Rank root);

}  // namespace multitree::interchange
