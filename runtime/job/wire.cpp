// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// POSIX sockets behind the control connections.
#include "runtime/job/wire_internal.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "runtime/job/endpoint_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

std::string words_of_errno(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail(std::string_view what) {
  const int error = errno;
  throw Error(ErrorCode::Transport, fmt::format("{}: {}", what, words_of_errno(error)));
}

/// A host that vanishes without closing its connections is noticed within about 10 s.
void keep_alive(int fd) {
  const auto set = [fd](int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 10'000);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

}  // namespace

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Address parse_address(std::string_view text, std::string_view what) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string_view::npos && colon > 0) {
    std::string_view host = text.substr(0, colon);
    const std::string_view digits = text.substr(colon + 1);
    // An address of IPv6 has colons of its own.
    const bool bracketed = host.starts_with('[') && host.ends_with(']');
    if (bracketed) host = host.substr(1, host.size() - 2);
    const bool one_host = !host.empty() && bracketed == (host.find(':') != std::string_view::npos);
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), port);
    if (one_host && error == std::errc() && end == digits.end() && port != 0) {
      return {std::string(host), port};
    }
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: expected host:port, found \"{}\"", what, text));
}

std::string words_of(const Address& address) {
  const bool colons = address.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", colons ? "[" : "", address.host, colons ? "]" : "", address.port);
}

bool is_loopback(const std::string& host) {
  in_addr number{};
  in6_addr longer{};
  if (::inet_pton(AF_INET6, host.c_str(), &longer) == 1) return IN6_IS_ADDR_LOOPBACK(&longer);
  if (::inet_pton(AF_INET, host.c_str(), &number) != 1) return host == "localhost";
  return (ntohl(number.s_addr) >> IN_CLASSA_NSHIFT) == IN_LOOPBACKNET;
}

std::string resolve(const std::string& host) {
  const std::vector<Endpoint> found = Endpoint::find(host, 0);
  return found.empty() ? "" : found.front().host();
}

namespace {

/// For IPv6, and for IPv4 too where it is for all addresses. Empty where the host has no IPv6.
std::optional<Endpoint> all_addresses(std::uint16_t port) {
  const Socket probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return Endpoint::of(probe.open() ? "::" : kAnyAddress, port);
}

Socket listen_at(const Endpoint& endpoint) {
  Socket socket(::socket(endpoint.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) return socket;
  const int on = 1, off = 0;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(socket.fd(), endpoint.get(), endpoint.length()) == 0 &&
      ::listen(socket.fd(), SOMAXCONN) == 0) {
    return socket;
  }
  const int error = errno;
  socket.close();
  errno = error;
  return socket;
}

}  // namespace

Socket listen_at(std::uint16_t port, const std::string& host) {
  const auto endpoint = host == kAnyAddress ? all_addresses(port) : Endpoint::of(host, port);
  if (!endpoint) {
    throw Error(ErrorCode::Transport, fmt::format("cannot listen at \"{}\": no address", host));
  }
  Socket socket = listen_at(*endpoint);
  if (!socket.open()) {
    fail(fmt::format("cannot listen for the rendezvous at {}", words_of({host, port})));
  }
  return socket;
}

Socket accept_from(const Socket& listener) {
  Socket socket(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.open()) keep_alive(socket.fd());
  return socket;
}

std::uint16_t port_of(const Socket& socket) {
  const auto here = Endpoint::here(socket.fd());
  if (!here) fail("rendezvous port");
  return here->port();
}

bool ends_at_itself(const Socket& socket) {
  const auto here = Endpoint::here(socket.fd()), there = Endpoint::there(socket.fd());
  return here && there && *here == *there;
}

std::string local_address(const Socket& socket) {
  const auto here = Endpoint::here(socket.fd());
  if (!here) return {};
  return here->host() == "::" ? kAnyAddress : here->host();
}

Started start_to_connect(const Endpoint& endpoint) {
  Started started{
      Socket(::socket(endpoint.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), 0};
  if (!started.socket.open()) return {Socket(), errno};
  // Whatever port the kernel gives our end, it is not to be in the way of a listener.
  const int on = 1;
  ::setsockopt(started.socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::connect(started.socket.fd(), endpoint.get(), endpoint.length()) != 0) started.error = errno;
  return started;
}

namespace {

Connected connect_by(const Endpoint& endpoint, std::chrono::milliseconds deadline) {
  Started started = start_to_connect(endpoint);
  Socket& socket = started.socket;
  if (started.error != 0) {
    if (started.error != EINPROGRESS) return {Socket(), words_of_errno(started.error)};
    pollfd wait{socket.fd(), POLLOUT, 0};
    if (::poll(&wait, 1, static_cast<int>(deadline.count())) <= 0) return {Socket(), "no answer"};
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return {Socket(), words_of_errno(error)};
  }
  // A port of the range that the kernel hands out, with nobody listening there yet: the kernel may
  // have chosen the same one for our end, and then we talk to ourselves and keep the listener from
  // binding.
  if (ends_at_itself(socket)) {
    const linger reset{1, 0};  // a closed connection would hold the port for another minute
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    return {Socket(), "nobody listens there"};
  }
  keep_alive(socket.fd());
  return {std::move(socket), {}};
}

}  // namespace

/// A name may have several numbers: those that do not answer share the time.
Connected connect_to(const Address& address, std::chrono::milliseconds deadline) {
  Connected connected;
  const std::vector<Endpoint> found = Endpoint::find(address.host, address.port, &connected.error);
  for (const Endpoint& one : found) {
    const auto share = deadline / static_cast<int>(found.size());
    connected = connect_by(one, std::max(share, std::chrono::milliseconds(1)));
    if (connected.socket.open()) break;
  }
  return connected;
}

Writer& Writer::number(std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) bytes_ += static_cast<char>((value >> shift) & 0xffU);
  return *this;
}

Writer& Writer::text(std::string_view value) {
  number(static_cast<std::uint32_t>(value.size()));
  bytes_ += value;
  return *this;
}

std::optional<std::uint32_t> Reader::number() {
  if (rest_.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = (value << 8) | static_cast<unsigned char>(rest_[i]);
  rest_.remove_prefix(4);
  return value;
}

std::optional<std::string> Reader::text() {
  const auto length = number();
  if (!length || rest_.size() < *length) return std::nullopt;
  std::string value(rest_.substr(0, *length));
  rest_.remove_prefix(*length);
  return value;
}

}  // namespace multitree::runtime
