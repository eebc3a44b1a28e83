// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// POSIX sockets behind the control connections.
#include "runtime/job/wire_internal.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Of a frame: the length of its payload, its job, its type.
constexpr std::size_t kHeader = 13;

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
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), port);
    if (error == std::errc() && end == digits.end() && port != 0) {
      return {std::string(text.substr(0, colon)), port};
    }
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: expected host:port, found \"{}\"", what, text));
}

bool is_loopback(const std::string& host) {
  in_addr number{};
  if (::inet_pton(AF_INET, host.c_str(), &number) != 1) return host == "localhost";
  return (ntohl(number.s_addr) >> IN_CLASSA_NSHIFT) == IN_LOOPBACKNET;
}

std::string resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, &::freeaddrinfo);
  std::array<char, INET_ADDRSTRLEN> text{};
  const auto* address = reinterpret_cast<const sockaddr_in*>(list->ai_addr);
  ::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size());
  return text.data();
}

Socket listen_at(std::uint16_t port, const std::string& host) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) fail("rendezvous socket");
  const int on = 1;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    throw Error(ErrorCode::Transport, fmt::format("cannot listen at \"{}\": no address", host));
  }
  if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.fd(), SOMAXCONN) != 0) {
    fail(fmt::format("cannot listen for the rendezvous at {}:{}", host, port));
  }
  return socket;
}

Socket accept_from(const Socket& listener) {
  Socket socket(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.open()) keep_alive(socket.fd());
  return socket;
}

std::uint16_t port_of(const Socket& socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    fail("rendezvous port");
  }
  return ntohs(address.sin_port);
}

std::vector<std::string> host_addresses() {
  std::vector<std::string> near, far;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {"127.0.0.1"};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != AF_INET) continue;
    if ((it->ifa_flags & IFF_UP) == 0) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(it->ifa_addr);
    ::inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size());
    ((it->ifa_flags & IFF_LOOPBACK) != 0 ? near : far).emplace_back(text.data());
  }
  far.insert(far.end(), near.begin(), near.end());
  return far;
}

bool ends_at_itself(const Socket& socket) {
  sockaddr_in here{}, there{};
  socklen_t length = sizeof here;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&here), &length) != 0) return false;
  length = sizeof there;
  if (::getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&there), &length) != 0) return false;
  return here.sin_port == there.sin_port && here.sin_addr.s_addr == there.sin_addr.s_addr;
}

std::string local_address(const Socket& socket) {
  sockaddr_in here{};
  socklen_t length = sizeof here;
  std::array<char, INET_ADDRSTRLEN> text{};
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&here), &length) != 0) return {};
  ::inet_ntop(AF_INET, &here.sin_addr, text.data(), text.size());
  return text.data();
}

Connected connect_to(const Address& address, std::chrono::milliseconds deadline) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int found =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (found != 0) return {Socket(), ::gai_strerror(found)};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, &::freeaddrinfo);
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) return {Socket(), words_of_errno(errno)};
  // Whatever port the kernel gives our end, it is not to be in the way of a listener.
  const int on = 1;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::connect(socket.fd(), list->ai_addr, list->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return {Socket(), words_of_errno(errno)};
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

Packed packed(FrameType type, std::string_view payload, JobNumber job) {
  const auto number = static_cast<std::uint64_t>(job);
  Writer frame;
  frame.number(static_cast<std::uint32_t>(payload.size()));
  frame.number(static_cast<std::uint32_t>(number >> 32)).number(static_cast<std::uint32_t>(number));
  std::string bytes = frame.bytes();
  bytes.reserve(kHeader + payload.size());
  bytes += static_cast<char>(type);
  bytes += payload;
  return std::make_shared<const std::string>(std::move(bytes));
}

void Channel::send(Packed frame) {
  output_.push_back(std::move(frame));
  flush();
}

void Channel::flush() {
  while (!output_.empty()) {
    const std::string& frame = *output_.front();
    const ssize_t n =
        ::send(socket_.fd(), frame.data() + sent_, frame.size() - sent_, MSG_NOSIGNAL);
    if (n > 0) {
      sent_ += static_cast<std::size_t>(n);
      if (sent_ < frame.size()) continue;
      output_.pop_front();
      sent_ = 0;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != EINTR) {
      sent_ = 0;  // broken: nobody will read the rest
      return output_.clear();
    }
  }
}

Channel::Status Channel::fill() {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t n = ::recv(socket_.fd(), buffer.data(), buffer.size(), 0);
    if (n > 0) {
      input_.append(buffer.data(), static_cast<std::size_t>(n));
      if (input_.size() > limit_ + kHeader) return Status::Garbage;
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      break;
    } else if (n == 0 || errno != EINTR) {
      return Status::Closed;
    }
  }
  const auto length = Reader(input_).number();
  return length && *length > limit_ ? Status::Garbage : Status::Open;
}

std::optional<Frame> Channel::next() {
  Reader header(input_);
  const auto length = header.number();
  if (!length || input_.size() < kHeader + std::size_t{*length}) return std::nullopt;
  const std::uint64_t high = header.number().value_or(0), low = header.number().value_or(0);
  Frame frame{static_cast<FrameType>(input_[kHeader - 1]), input_.substr(kHeader, *length),
              JobNumber{high << 32 | low}};
  input_.erase(0, kHeader + std::size_t{*length});
  return frame;
}

void Channel::wait(std::chrono::milliseconds deadline) const {
  pollfd event{socket_.fd(), POLLIN, 0};
  if (!output_.empty()) event.events |= POLLOUT;
  ::poll(&event, 1, static_cast<int>(std::max<std::int64_t>(deadline.count(), 0)));
}

}  // namespace multitree::runtime
