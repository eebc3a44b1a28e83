// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages between two ranks over TCP.
#include "runtime/nccl/connections_internal.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/nccl/interface_internal.hpp"
#include "runtime/nccl/log_internal.hpp"

namespace multitree::nccl {
namespace {

constexpr int kConnectMs = 20'000;  ///< longest wait for a host that does not answer

[[noreturn]] void give_up(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

Descriptor tcp_socket() {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.number() < 0) give_up("no socket");
  return socket;
}

void send_at_once(const Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Waits until the connection is there.
void finish_connecting(const Descriptor& socket) {
  pollfd entry{socket.number(), POLLOUT, 0};
  const int ready = ::poll(&entry, 1, kConnectMs);
  if (ready == 0) errno = ETIMEDOUT;
  if (ready <= 0) give_up("cannot connect");
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  if (error != 0) give_up("cannot connect");
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Message* Connection::post(void* data, std::size_t size) {
  Message& message = messages_[posted_ % kPlaces];
  if (message.connection != nullptr) return nullptr;
  message = {this, static_cast<char*>(data), size, 0, way_ == Way::Out ? size : 0};
  ++posted_;
  return &message;
}

Result Connection::test(Message& message, int* done, int* size) {
  *done = 0;
  if (const Result result = progress(); result != kSuccess) return result;
  // Messages move in order, so what is behind moved_ has its length.
  if (message.moved < sizeof message.length || !message.done()) return kSuccess;
  *done = 1;
  if (size != nullptr) *size = static_cast<int>(message.size);
  message.connection = nullptr;
  return kSuccess;
}

Result Connection::progress() {
  bool blocked = false;
  while (state_ == kSuccess && moved_ < posted_ && !blocked) {
    Message& message = messages_[moved_ % kPlaces];
    state_ = move(message, blocked);
    if (message.moved >= sizeof message.length && message.done()) ++moved_;
  }
  return state_;
}

/// The length, then the data: a send of both in one call, a receive of the length first.
Result Connection::move(Message& message, bool& blocked) {
  constexpr std::uint64_t kLength = sizeof message.length;
  std::array<iovec, 2> pieces{};
  std::size_t count = 0;
  if (message.moved < kLength) {
    auto* const length = reinterpret_cast<char*>(&message.length);
    pieces[count++] = {length + message.moved, kLength - message.moved};
  }
  const std::uint64_t into = message.moved < kLength ? 0 : message.moved - kLength;
  if (way_ == Way::Out || message.moved >= kLength) {
    pieces[count++] = {message.data + into, message.size - into};
  }
  msghdr header{};
  header.msg_iov = pieces.data();
  header.msg_iovlen = count;
  const ssize_t moved = way_ == Way::Out
                            ? ::sendmsg(socket_.number(), &header, MSG_NOSIGNAL | MSG_DONTWAIT)
                            : ::recvmsg(socket_.number(), &header, MSG_DONTWAIT);
  if (moved < 0 && would_block()) {
    blocked = true;
    return kSuccess;
  }
  if (moved < 0) return fail(kRemoteError, "connection", std::strerror(errno));
  if (moved == 0) return fail(kRemoteError, "connection", "the peer has closed it");
  message.moved += static_cast<std::uint64_t>(moved);
  return way_ == Way::In && message.moved == kLength ? take_length(message) : kSuccess;
}

Result Connection::take_length(Message& message) const {
  if (message.length > message.size) {
    const std::string why = "expected at most " + std::to_string(message.size) +
                            " bytes, the peer sends " + std::to_string(message.length);
    return fail(kInvalidUsage, "message", why.c_str());
  }
  message.size = message.length;
  return kSuccess;
}

/// What the other ranks are given.
struct Listener::Handle {
  sockaddr_in address{};
  Secret secret{};
};

Listener::Listener(void* handle) : socket_(tcp_socket()) {
  static_assert(sizeof(Handle) <= kHandleBytes);
  Handle mine;
  mine.address.sin_family = AF_INET;
  mine.address.sin_addr = network_interface().address;
  socklen_t length = sizeof mine.address;
  auto* const address = reinterpret_cast<sockaddr*>(&mine.address);
  if (::bind(socket_.number(), address, length) != 0 || ::listen(socket_.number(), 16) != 0 ||
      ::getsockname(socket_.number(), address, &length) != 0) {
    give_up("cannot listen on " + network_interface().name);
  }
  if (::getrandom(secret_.data(), secret_.size(), 0) != static_cast<ssize_t>(secret_.size())) {
    give_up("no random numbers");
  }
  mine.secret = secret_;
  std::memset(handle, 0, kHandleBytes);
  std::memcpy(handle, &mine, sizeof mine);
}

std::unique_ptr<Connection> Listener::accept() {
  for (;;) {
    Descriptor socket(::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.number() < 0) break;
    strangers_.push_back({std::move(socket), {}, 0});
  }
  for (auto it = strangers_.begin(); it != strangers_.end();) {
    const ssize_t heard = ::recv(it->socket.number(), it->said.data() + it->heard,
                                 it->said.size() - it->heard, MSG_DONTWAIT);
    if (heard > 0) it->heard += static_cast<std::size_t>(heard);
    const bool whole = it->heard == it->said.size();
    if (whole && it->said == secret_) {
      send_at_once(it->socket);
      return std::make_unique<Connection>(std::move(it->socket), Connection::Way::In);
    }
    const bool gone = heard == 0 || (heard < 0 && !would_block());
    it = whole || gone ? strangers_.erase(it) : it + 1;
  }
  return nullptr;
}

std::unique_ptr<Connection> connect_to(const void* handle) {
  Listener::Handle there;
  std::memcpy(&there, handle, sizeof there);
  Descriptor socket = tcp_socket();
  const auto* const address = reinterpret_cast<const sockaddr*>(&there.address);
  if (::connect(socket.number(), address, sizeof there.address) != 0) {
    if (errno != EINPROGRESS) give_up("cannot connect");
    finish_connecting(socket);
  }
  send_at_once(socket);
  const ssize_t said =
      ::send(socket.number(), there.secret.data(), there.secret.size(), MSG_NOSIGNAL);
  if (said != static_cast<ssize_t>(there.secret.size())) give_up("cannot greet the peer");
  return std::make_unique<Connection>(std::move(socket), Connection::Way::Out);
}

}  // namespace multitree::nccl
