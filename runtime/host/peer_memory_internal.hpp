// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reading and writing what another process of this host has in memory that is its own, by the
/// kernel: process_vm_readv(2) and process_vm_writev(2).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/links.hpp"

namespace multitree::runtime::host {

/// The processes of a group.
class PeerMemory {
 public:
  /// What a rank tells the others about itself, for reaches().
  static std::string describe();
  /// Notes where the next rank is. \returns whether its memory can be read: the kernel may forbid
  /// it (a container's seccomp filter, Yama's ptrace_scope)
  bool reach(std::string_view description);

  /// \throws Error(Transport) naming the rank and the kernel's reason
  void read(Seat seat, std::byte* to, std::uint64_t address, std::uint64_t bytes) const;
  void write(Seat seat, std::uint64_t address, const std::byte* from, std::uint64_t bytes) const;

 private:
  std::vector<pid_t> processes_;  ///< by seat
};

}  // namespace multitree::runtime::host
