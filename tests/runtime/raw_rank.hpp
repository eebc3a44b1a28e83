// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A rank over TCP spelt out byte by byte, which can therefore do what no rank does.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/encryption_internal.hpp"
#include "runtime/messages/network/watch_internal.hpp"
#include "runtime/messages/tcp/handshake_internal.hpp"

namespace multitree::runtime::test {

constexpr Deadline kTcpPatience{20'000};

class RawRank {
 public:
  /// `encrypts`: it says so, and cannot.
  explicit RawRank(Bootstrap& job, bool encrypts = false) : job_(job) {
    const Host here = describe_host(true);
    Writer words;
    words.text(pack(here)).text(pack(EncryptionWish{encrypts, {}}));
    static_cast<void>(job.all_gather(words.bytes(), kTcpPatience));
    own_ = {here, {}, tcp::port_at(door_), tcp::make_secret(), tcp::make_secret()};
    if (encrypts) own_.key = keys_.told();
    book_ = job.open_book(pack(Addresses{{"tcp", tcp::pack(own_)}}), {}, kTcpPatience);
  }
  [[nodiscard]] tcp::Entrance entrance_of(Seat seat) const {
    return tcp::unpack_entrance(*find_address(book_->of(seat), "tcp"));
  }
  [[nodiscard]] Socket call(Seat seat) const {
    return connect_to({kLoopback, entrance_of(seat).port}, kTcpPatience).socket;
  }
  [[nodiscard]] tcp::Hello hello_to(Seat seat) const {
    return tcp::make_hello(job_.seat(), seat, entrance_of(seat).knock);
  }
  /// What it says to this one as a guest.
  [[nodiscard]] tcp::Welcome welcome_of(Seat seat) const {
    return {entrance_of(seat).answer, {}, {}, {}};
  }
  /// Waits for a guest.
  [[nodiscard]] Socket open() const {
    pollfd event{door_.fd(), POLLIN, 0};
    ::poll(&event, 1, static_cast<int>(kTcpPatience.count()));
    return accept_from(door_);
  }
  void close_door() { door_.close(); }
  [[nodiscard]] const tcp::Entrance& own() const { return own_; }

 private:
  Bootstrap& job_;
  Socket door_ = tcp::open_entrance(true, 0);
  KeyPair keys_;
  tcp::Entrance own_;
  std::unique_ptr<AddressBook> book_;
};

/// So many bytes; fewer if the other end leaves.
inline std::string read_from(const Socket& socket, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    pollfd event{socket.fd(), POLLIN, 0};
    if (::poll(&event, 1, static_cast<int>(kTcpPatience.count())) <= 0) return "nothing came";
    std::string part(bytes - text.size(), ' ');
    const ssize_t n = ::recv(socket.fd(), part.data(), part.size(), 0);
    if (n <= 0) return text;
    text += part.substr(0, static_cast<std::size_t>(n));
  }
  return text;
}

inline void write_to(const Socket& socket, std::string_view bytes,
                     std::size_t at_a_time = 1 << 20) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, at_a_time);
    ASSERT_EQ(::send(socket.fd(), part.data(), part.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(part.size()));
    bytes.remove_prefix(part.size());
  }
}

template <typename Value>
std::string_view bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// A connection that is reset, not closed.
inline void reset(Socket socket) {
  const linger now{1, 0};
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  socket.close();
}

}  // namespace multitree::runtime::test
