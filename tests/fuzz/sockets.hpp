// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Connections within the process, for targets of what ranks say to each other.
#pragma once

#include <sys/socket.h>

#include <array>
#include <string_view>

#include "fuzz.hpp"
#include "runtime/job/channel_internal.hpp"

namespace multitree::fuzz {

/// Two ends that never wait.
struct Ends {
  Ends() {
    std::array<int, 2> fds{};
    constexpr int kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    expect(::socketpair(AF_UNIX, kType, 0, fds.data()) == 0, "no sockets");
    near = runtime::Socket(fds[0]);
    far = runtime::Socket(fds[1]);
  }
  runtime::Socket near, far;
};

inline const runtime::Key& key() {
  static const runtime::Key key = runtime::key_of("a secret of fuzzers");
  return key;
}

/// As much of it as the socket takes.
inline void say(const runtime::Socket& socket, std::string_view bytes) {
  static_cast<void>(::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

}  // namespace multitree::fuzz
