// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// epoll(7), edge by edge: nothing has to be asked for again.
#include "runtime/messages/tcp/poller_internal.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "topologies/error.hpp"

namespace multitree::runtime::tcp {
namespace {

constexpr std::uint32_t kAll = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

void control(int epoll, int operation, int socket, std::uint64_t name) {
  epoll_event event{};
  event.events = kAll;
  event.data.u64 = name;
  if (::epoll_ctl(epoll, operation, socket, &event) == 0) return;
  throw Error(ErrorCode::Transport,
              fmt::format("epoll: {}", std::generic_category().message(errno)));
}

}  // namespace

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_.open()) return;
  throw Error(ErrorCode::Transport,
              fmt::format("epoll: {}", std::generic_category().message(errno)));
}

void Poller::add(int socket, std::uint64_t name) const {
  control(epoll_.fd(), EPOLL_CTL_ADD, socket, name);
}

void Poller::rename(int socket, std::uint64_t name) const {
  control(epoll_.fd(), EPOLL_CTL_MOD, socket, name);
}

std::span<const epoll_event> Poller::wait(std::chrono::milliseconds time) {
  const int count =
      ::epoll_wait(epoll_.fd(), events_.data(), kEvents, static_cast<int>(time.count()));
  return {events_.data(), static_cast<std::size_t>(count < 0 ? 0 : count)};
}

}  // namespace multitree::runtime::tcp
