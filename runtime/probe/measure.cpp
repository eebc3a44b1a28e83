// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The rate and latency of one cable, by a TCP connection that leaves and arrives by its ports:
///
///     who connects   its code                 who listens   its code
///                    a byte, again and again                the same byte
///                    data for kSpan, end                    rate of that, data for kSpan, end
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>

#include "runtime/job/endpoint_internal.hpp"
#include "runtime/job/keys_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/probe/probe.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::probe {
namespace {

using Clock = std::chrono::steady_clock;
using cluster::Port;

/// Data flow for so long, of which the first part is not counted: windows open, and buffers that
/// let a burst through fill.
constexpr std::chrono::milliseconds kSpan{300}, kWarmUp{100};
constexpr std::size_t kPings = 41;
constexpr std::size_t kBlock = 256 * 1024;
/// What waits in this host when data end: little, as it is in the way then.
constexpr int kUnsent = 128 * 1024;
constexpr std::int64_t kLatencyDigit = 100'000;  ///< picoseconds

[[noreturn]] void fail(const char* what) {
  const int error = errno;
  throw Error(ErrorCode::Transport,
              fmt::format("{}: {}", what, std::generic_category().message(error)));
}

/// That of a port; with the link's own number, so that it leaves and arrives there alone.
Endpoint endpoint_at(const Port& port, const std::string& address, std::uint16_t number) {
  const bool by6 = address.find(':') != std::string::npos;
  const auto found = Endpoint::of(by6 ? address + "%" + port.name : address, number);
  if (!found) {
    throw Error(ErrorCode::Transport,
                fmt::format("{}: expected an address, got '{}'", port.name, address));
  }
  return *found;
}

Socket open_at(const Port& port) {
  const Endpoint here = endpoint_at(port, port.address, 0);
  Socket socket(::socket(here.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) fail("socket");
  const int on = 1;
  ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsent, sizeof kUnsent);
  if (::bind(socket.fd(), here.get(), here.length()) != 0) fail("bind");
  return socket;
}

/// A connection all of whose waits end at one time.
class Line {
 public:
  Line(Socket socket, Clock::time_point until) : socket_(std::move(socket)), until_(until) {}

  void wait(short what) const {
    pollfd event{socket_.fd(), what, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Clock::now()).count();
    if (left <= 0 || ::poll(&event, 1, static_cast<int>(left)) == 0) {
      throw Error(ErrorCode::Timeout, "the other end of the cable did not answer in time");
    }
  }
  /// Something of it; 0: the other end has ended.
  std::size_t read_some(void* data, std::size_t bytes) const {
    while (true) {
      const ssize_t n = ::recv(socket_.fd(), data, bytes, 0);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) fail("receive");
      wait(POLLIN);
    }
  }
  void read_all(void* data, std::size_t bytes) const {
    for (auto* to = static_cast<char*>(data); bytes > 0;) {
      const std::size_t n = read_some(to, bytes);
      if (n == 0) throw Error(ErrorCode::Transport, "the other end of the cable left");
      to += n;
      bytes -= n;
    }
  }
  std::size_t write_some(const void* data, std::size_t bytes) const {
    while (true) {
      wait(POLLOUT);
      const ssize_t n = ::send(socket_.fd(), data, bytes, MSG_NOSIGNAL);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) fail("send");
    }
  }
  void write_all(const void* data, std::size_t bytes) const {
    for (const auto* from = static_cast<const char*>(data); bytes > 0;) {
      const std::size_t n = write_some(from, bytes);
      from += n;
      bytes -= n;
    }
  }
  void end() const { ::shutdown(socket_.fd(), SHUT_WR); }

 private:
  Socket socket_;
  Clock::time_point until_;
};

void send_data(const Line& line) {
  const std::vector<char> block(kBlock, 'm');
  for (const auto until = Clock::now() + kSpan; Clock::now() < until;) {
    line.write_some(block.data(), block.size());
  }
  line.end();
}

/// Bytes per second until the other end ends.
std::uint64_t count_data(const Line& line) {
  std::vector<char> block(kBlock);
  std::size_t total = line.read_some(block.data(), block.size());
  const auto begin = Clock::now();
  auto from = begin, to = begin;
  std::size_t before = total;
  while (const std::size_t n = line.read_some(block.data(), block.size())) {
    total += n;
    to = Clock::now();
    if (from == begin && to - begin >= kWarmUp) {
      from = to;
      before = total;
    }
  }
  // All of it within the beginning: a cable so slow, or a host so busy, that there is nothing else.
  if (before == total) from = begin, before = 0;
  const double seconds = std::max(1e-9, std::chrono::duration<double>(to - from).count());
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(total - before) / seconds));
}

Time ping(const Line& line) {
  std::vector<Clock::duration> trips;
  for (std::size_t i = 0; i < kPings; ++i) {
    char byte = 'p';
    const auto begin = Clock::now();
    line.write_all(&byte, 1);
    line.read_all(&byte, 1);
    trips.push_back(Clock::now() - begin);
  }
  std::ranges::nth_element(trips, trips.begin() + kPings / 2);
  const auto one_way = std::chrono::nanoseconds(trips[kPings / 2]).count() * 1000 / 2;
  return {(one_way + kLatencyDigit / 2) / kLatencyDigit * kLatencyDigit};
}

Key knock_of(const std::string& secret) { return code_of(key_of(secret), "measure"); }
Key answer_of(const std::string& secret) { return code_of(key_of(secret), "measured"); }

bool knows(const Line& line, const Key& expected) {
  Key heard{};
  line.read_all(heard.data(), heard.size());
  return same_secret(view_of(heard), view_of(expected));
}

}  // namespace

struct Door::Parts {
  Socket listener;
};

Door::Door(const Port& port) : parts_(std::make_unique<Parts>()) {
  parts_->listener = open_at(port);
  if (::listen(parts_->listener.fd(), 8) != 0) fail("listen");
}

Door::~Door() = default;

std::uint16_t Door::number() const { return port_of(parts_->listener); }

void Door::serve(const std::string& secret, Deadline deadline) {
  const auto until = Clock::now() + deadline;
  while (true) {
    pollfd event{parts_->listener.fd(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0 || ::poll(&event, 1, static_cast<int>(left)) == 0) {
      throw Error(ErrorCode::Timeout, "nobody came over the cable in time");
    }
    Socket guest(::accept4(parts_->listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!guest.open()) continue;
    const int on = 1;
    ::setsockopt(guest.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(guest.fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsent, sizeof kUnsent);
    const Line line(std::move(guest), until);
    if (!knows(line, knock_of(secret))) continue;
    const Key answer = answer_of(secret);
    line.write_all(answer.data(), answer.size());
    for (std::size_t i = 0; i < kPings; ++i) {
      char byte = 0;
      line.read_all(&byte, 1);
      line.write_all(&byte, 1);
    }
    const std::uint64_t rate = count_data(line);
    const std::string words = Writer()
                                  .number(static_cast<std::uint32_t>(rate >> 32))
                                  .number(static_cast<std::uint32_t>(rate))
                                  .bytes();
    line.write_all(words.data(), words.size());
    send_data(line);
    return;
  }
}

Measured measure(const Port& port, const std::string& address, std::uint16_t door,
                 const std::string& secret, Deadline deadline) {
  Socket socket = open_at(port);
  const Endpoint there = endpoint_at(port, address, door);
  if (::connect(socket.fd(), there.get(), there.length()) != 0 && errno != EINPROGRESS) {
    fail("connect");
  }
  const int fd = socket.fd();
  const Line line(std::move(socket), Clock::now() + deadline);
  line.wait(POLLOUT);
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  if (error != 0) fail("connect");
  const Key knock = knock_of(secret);
  line.write_all(knock.data(), knock.size());
  if (!knows(line, answer_of(secret))) {
    throw Error(ErrorCode::Transport, "somebody else listens at the other end of the cable");
  }
  Measured measured;
  measured.latency = ping(line);
  send_data(line);
  std::string words(8, '\0');
  line.read_all(words.data(), words.size());
  Reader reader(words);
  const std::uint64_t high = reader.number().value_or(0), low = reader.number().value_or(0);
  measured.forward = {high << 32 | low};
  measured.backward = {count_data(line)};
  return measured;
}

}  // namespace multitree::runtime::probe
