// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Buffers that collectives will use again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>

namespace multitree::runtime::c {

/// The registered buffers of a communicator. A buffer may be registered more than once, and parts
/// of others; each time has a handle, which is used once in the life of a process. Thread-safe.
class Registrations {
 public:
  /// \throws Failure(mtInvalidArgument) unless all of the buffer is memory of this process; with
  /// `on_host` false nobody looks.
  std::uintptr_t add(const void* buffer, std::size_t bytes, bool on_host);
  /// \throws Failure(mtInvalidArgument) if it is none of these.
  void remove(std::uintptr_t handle);

 private:
  std::mutex mutex_;
  std::set<std::uintptr_t> handles_;
};

}  // namespace multitree::runtime::c
