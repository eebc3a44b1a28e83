// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Doors as text, and whether somebody is behind them.
#include "runtime/job/doors_internal.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "runtime/job/endpoint_internal.hpp"
#include "runtime/job/interfaces_internal.hpp"

namespace multitree::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// One attempt to connect.
struct Knock {
  std::size_t door = 0;
  Socket socket;
};

Presence answer_of(const Socket& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error == 0) return ends_at_itself(socket) ? Presence::Gone : Presence::There;
  return error == ECONNREFUSED ? Presence::Gone : Presence::Silent;
}

/// Starts one; sets `presence` where the answer is known at once.
std::optional<Knock> start(std::size_t door, const Address& address, Presence& answer) {
  answer = Presence::Silent;
  const auto endpoint = Endpoint::of(address.host, address.port);
  if (!endpoint) return {};
  Started started = start_to_connect(*endpoint);
  if (started.error == 0) {
    answer = answer_of(started.socket);
  } else if (started.error == EINPROGRESS) {
    return Knock{door, std::move(started.socket)};
  } else if (started.error == ECONNREFUSED) {
    answer = Presence::Gone;
  }
  return {};
}

/// What several addresses of a door say together.
class Answers {
 public:
  explicit Answers(std::size_t doors) : answers_(doors) {}
  void add(std::size_t door, Presence answer) { answers_[door].push_back(answer); }
  [[nodiscard]] std::vector<Presence> sum() const {
    std::vector<Presence> all;
    for (const auto& answers : answers_) {
      const auto is = [&](Presence one) { return std::ranges::count(answers, one) > 0; };
      const bool gone = is(Presence::Gone) && !is(Presence::Silent);
      all.push_back(is(Presence::There) ? Presence::There
                    : gone              ? Presence::Gone
                                        : Presence::Silent);
    }
    return all;
  }

 private:
  std::vector<std::vector<Presence>> answers_;
};

/// Takes out of `knocks` those that have been answered.
void collect(std::vector<Knock>& knocks, Answers& answers, std::chrono::milliseconds patience) {
  std::vector<pollfd> events;
  for (const Knock& one : knocks) events.push_back({one.socket.fd(), POLLOUT, 0});
  ::poll(events.data(), events.size(), static_cast<int>(patience.count()));
  std::vector<Knock> open;
  for (std::size_t i = 0; i < knocks.size(); ++i) {
    if (events[i].revents == 0) {
      open.push_back(std::move(knocks[i]));
    } else {
      answers.add(knocks[i].door, answer_of(knocks[i].socket));
    }
  }
  knocks = std::move(open);
}

}  // namespace

std::string pack(const Door& door) {
  Writer writer;
  writer.text(door.host).number(door.meeting ? 1 : 0);
  for (const std::string& number : door.numbers) writer.text(number);
  return writer.bytes();
}

std::optional<Door> unpack_door(const std::string& text, std::uint32_t port) {
  Reader reader(text);
  const auto host = reader.text();
  const auto meeting = reader.number();
  if (!host || !meeting || port == 0 || port > 65535) return std::nullopt;
  Door door{*host, static_cast<std::uint16_t>(port), {}, *meeting != 0};
  while (const auto number = reader.text()) door.numbers.push_back(*number);
  return door;
}

const std::string& this_host() {
  static const std::string& host = *new std::string([] {  // never destroyed: threads may use it
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    struct stat network {};
    const bool known = ::stat("/proc/self/ns/net", &network) == 0;
    return fmt::format("{} {}", boot, known ? network.st_ino : 0);
  }());
  return host;
}

std::vector<Address> ways_to(const Door& door) {
  if (door.port == 0) return {};
  // One that listens at a single address is to be met there, and one that listens at all here.
  if (door.host == this_host()) {
    return {{door.numbers.size() == 1 ? door.numbers.front() : kLoopback, door.port}};
  }
  const std::vector<OwnAddress> own = own_addresses();
  std::vector<Address> ways;
  for (const std::string& number : door.numbers) {
    if (std::ranges::find(own, number, &OwnAddress::number) == own.end())
      ways.push_back({number, door.port});
  }
  return ways;
}

std::vector<Presence> knock(const std::vector<const Door*>& doors,
                            std::chrono::milliseconds patience) {
  Answers answers(doors.size());
  std::vector<Knock> knocks;
  for (std::size_t i = 0; i < doors.size(); ++i) {
    for (const Address& address : ways_to(*doors[i])) {
      Presence answer{};
      if (auto one = start(i, address, answer)) {
        knocks.push_back(std::move(*one));
      } else {
        answers.add(i, answer);
      }
    }
  }
  const auto end = Clock::now() + patience;
  while (!knocks.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) break;
    collect(knocks, answers, left);
  }
  for (const Knock& one : knocks) answers.add(one.door, Presence::Silent);
  return answers.sum();
}

}  // namespace multitree::runtime
