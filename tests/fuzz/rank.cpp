// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a coordinator, or who has taken its place with the key, may say to a rank: the frames are
/// on their way before the rank asks for anything.
#include <poll.h>

#include <thread>
#include <vector>

#include "runtime/job/tcp_internal.hpp"
#include "sockets.hpp"
#include "topologies/error.hpp"

using namespace multitree;
using namespace multitree::runtime;

namespace {

constexpr const char* kToken = "a secret of fuzzers";
constexpr Deadline kPatience{300};

/// Says all of it to whoever comes, and closes once the rank has been silent.
void coordinate(const Socket& listener, fuzz::Bytes bytes) {
  pollfd event{listener.fd(), POLLIN, 0};
  ::poll(&event, 1, 1000);
  Channel channel(accept_from(listener), key_of(kToken), Channel::Side::Acceptor);
  if (!channel.open()) return;
  channel.send(FrameType::Welcome, {});
  while (!bytes.empty()) {
    const auto type = static_cast<FrameType>(bytes.byte());
    const JobNumber job = bytes.below(2) == 0 ? JobNumber{bytes.number()} : kFirstJob;
    channel.send(type, bytes.text(), job);
  }
  for (int words = 0; words < 6 && channel.fill() == Channel::Status::Open; ++words) {
    channel.wait(std::chrono::milliseconds(2));
    channel.flush();
    while (channel.next()) {
    }
  }
}

/// All that a rank may ask for; each may fail.
void ask(Bootstrap& job) {
  const std::vector<Seat> wanted = {Seat{0}};
  const std::vector<std::function<void()>> questions = {
      [&] { static_cast<void>(job.all_gather("blob", kPatience)); },
      [&] { static_cast<void>(job.open_book("entry", wanted, kPatience)->of(Seat{0})); },
      [&] { static_cast<void>(job.failure()); },
      [&] { static_cast<void>(job.dead_link()); },
      [&] { static_cast<void>(job.lost_seat()); },
      [&] { static_cast<void>(job.find_dead(wanted)); },
      [&] { static_cast<void>(job.shrink(kPatience)); },
  };
  for (const auto& question : questions) {
    fuzz::read(nullptr, 0, [&](std::string_view) { question(); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Socket listener = listen_at(0, kLoopback);
  std::thread coordinator([&] { coordinate(listener, fuzz::Bytes(data, size)); });
  fuzz::read(nullptr, 0, [&](std::string_view) {
    TcpOptions options;
    options.seat = Seat{1};
    options.size = 3;
    options.addresses = {{kLoopback, port_of(listener)}};
    options.token = kToken;
    options.coordinator_name = "the coordinator";
    options.deadline = kPatience;
    ask(*join_over_tcp(std::move(options)));
  });
  coordinator.join();
  return 0;
}
