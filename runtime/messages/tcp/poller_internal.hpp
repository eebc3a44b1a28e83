// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which of many sockets have something to tell.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime::tcp {

/// Tells of changes: of a socket that can be read until there is more, of one that was full when it
/// has room. Sockets leave it when they are closed.
class Poller {
 public:
  /// \throws Error(Transport)
  Poller();

  /// `name`: what events of this socket are told by.
  void add(int socket, std::uint64_t name) const;
  /// It is called otherwise now; what it has to tell is told again.
  void rename(int socket, std::uint64_t name) const;
  [[nodiscard]] int fd() const { return epoll_.fd(); }
  /// Waits for the first event, at most for `time`. They are there until the next wait().
  std::span<const epoll_event> wait(std::chrono::milliseconds time);

 private:
  static constexpr std::size_t kEvents = 64;
  Socket epoll_;
  std::array<epoll_event, kEvents> events_;
};

}  // namespace multitree::runtime::tcp
