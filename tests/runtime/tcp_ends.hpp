// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Two ends of a stream, without a transport.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/tcp/incoming_internal.hpp"
#include "runtime/messages/tcp/outgoing_internal.hpp"
#include "support.hpp"

namespace multitree::runtime::test {

using State = Completion::State;

/// A pair of sockets that never wait.
struct StreamPipe {
  StreamPipe() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
    near = Socket(fds[0]);
    far = Socket(fds[1]);
  }
  Socket near, far;
};

/// One end of a connection. Its peer is rank 7.
struct End {
  explicit End(Socket own, std::size_t credit = tcp::Outgoing::kUnlimited)
      : socket(std::move(own)), outgoing(credit), incoming(7_seat, outgoing) {}
  /// Moves what can be moved.
  void move() {
    if (!over && outgoing.write(socket.fd(), why) == tcp::Moved::Over) over = true;
    while (!over) {
      const tcp::Moved moved = incoming.read(socket.fd(), why);
      if (moved == tcp::Moved::Nothing) break;
      over = moved == tcp::Moved::Over;
    }
    if (!over && outgoing.write(socket.fd(), why) == tcp::Moved::Over) over = true;
  }
  Socket socket;
  tcp::Outgoing outgoing;
  tcp::Incoming incoming;
  std::string why;
  bool over = false;
};

/// Two ends that are connected.
struct StreamEnds {
  explicit StreamEnds(std::size_t credit = tcp::Outgoing::kUnlimited)
      : one(std::move(pipe.near), credit), other(std::move(pipe.far), credit) {}
  void move() {
    for (int i = 0; i < 4; ++i) {
      one.move();
      other.move();
    }
  }
  /// What they write from here on is sealed.
  void seal(const std::string& secret) {
    const Key there = key_of(secret), back = key_of(secret + ", back");
    one.outgoing.seal_with(std::make_unique<tcp::SealedWriter>(there));
    other.incoming.open_with(std::make_unique<tcp::SealedReader>(there));
    other.outgoing.seal_with(std::make_unique<tcp::SealedWriter>(back));
    one.incoming.open_with(std::make_unique<tcp::SealedReader>(back));
  }
  StreamPipe pipe;
  End one, other;
};

inline std::string letters(std::size_t bytes, char first) {
  std::string text(bytes, ' ');
  for (std::size_t i = 0; i < bytes; ++i)
    text[i] = static_cast<char>(first + static_cast<char>(i % 23));
  return text;
}

/// A receive and where it goes.
struct Receive {
  Receive(End& end, std::uint64_t tag, std::size_t bytes, bool or_less = false) : data(bytes, '?') {
    done.or_less = or_less;
    end.incoming.receive(tag, data.data(), bytes, done);
  }
  std::string data;
  Completion done;
};

}  // namespace multitree::runtime::test
