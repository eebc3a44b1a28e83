// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reading and writing what another process of this host has in memory that is its own, by the
/// kernel: process_vm_readv(2) and process_vm_writev(2).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/job/links.hpp"

namespace multitree::runtime::host {

/// The processes of a group.
class PeerMemory {
 public:
  /// `processes`: their numbers, by seat; looked at when a peer is needed.
  explicit PeerMemory(const std::atomic<pid_t>* processes) : processes_(processes) {}

  /// What a rank tells the others about itself, for can_reach().
  static std::string describe();
  /// Whether the memory of the one that described itself so can be read: the kernel may forbid it
  /// (a container's seccomp filter, Yama's ptrace_scope).
  static bool can_reach(std::string_view description);

  /// \throws Error(Transport) naming the rank and the kernel's reason
  void read(Seat seat, std::byte* to, std::uint64_t address, std::uint64_t bytes) const;
  void write(Seat seat, std::uint64_t address, const std::byte* from, std::uint64_t bytes) const;

 private:
  [[nodiscard]] pid_t process(Seat seat) const {
    return processes_[index(seat)].load(std::memory_order_relaxed);
  }

  const std::atomic<pid_t>* processes_;
};

}  // namespace multitree::runtime::host
