// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Joining a job, over a new connection to its coordinator or one that is there.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "runtime/job/build_internal.hpp"
#include "runtime/job/tcp_job_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr std::chrono::seconds kPatience{10};

}  // namespace

void Tcp::join(Clock::time_point end) {
  std::string error = "no address";
  while (true) {
    if (join_by_known_connection(end)) return;
    for (const Address& address : options_.addresses) {
      check_cancelled();
      const auto patience =
          std::clamp(until(end), std::chrono::milliseconds(1), std::chrono::milliseconds(2000));
      Connected connected = connect_to(address, patience);
      if (!connected.socket.open()) {
        error = fmt::format("{}: {}", words_of(address), connected.error);
        continue;
      }
      channel_ =
          JobLine(std::make_shared<Trunk>(std::move(connected.socket), key_of(options_.token)),
                  options_.job);
      if (say_hello(end)) return;
      channel_.close();
      error = fmt::format("{}: {}", words_of(address),
                          refused_.value_or("does not answer as a rendezvous"));
      // With several addresses it may be another host's, where an address exists on every host; but
      // whoever knows the token is ours.
      if (refused_ && (options_.addresses.size() == 1 || !stranger_)) {
        throw Error(ErrorCode::InvalidArgument,
                    fmt::format("rank {}: {} refused: {}", options_.seat, options_.coordinator_name,
                                *refused_));
      }
    }
    if (Clock::now() >= end) {
      throw Error(ErrorCode::Timeout,
                  fmt::format("rank {}: could not reach {} within {} ms ({})", options_.seat,
                              options_.coordinator_name, options_.deadline.count(), error));
    }
    if (const auto why = lost_before()) refuse(*why);  // it may be the coordinator
    // The coordinator's process may be starting still.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// False if whoever listens there does not speak our language.
bool Tcp::say_hello(Clock::time_point end) {
  Writer hello;
  hello.number(index(options_.seat)).number(options_.size);
  hello.number(own_build().format).text(own_build().version);
  // Something else may listen there and never answer: try again rather than wait to the end.
  const bool welcome =
      introduce(FrameType::Hello, hello.bytes(), std::min(end, Clock::now() + kPatience));
  if (!welcome) {
    failure_.clear();
    lost_seat_.reset();
    coordinator_left_ = false;
  }
  return welcome;
}

bool Tcp::join_by_known_connection(Clock::time_point end) {
  const auto trunk = options_.trunks->find(meeting_place());
  if (trunk == nullptr) return false;
  channel_ = JobLine(trunk, options_.job);
  if (say_hello(end)) return true;
  channel_.close();  // it may just have ended
  return false;
}

bool Tcp::introduce(FrameType type, const std::string& words, Clock::time_point end) {
  refused_.reset();
  welcome_ = elsewhere_ = stranger_ = false;
  channel_.send(type, words);
  while (Clock::now() < end && channel_.open()) {
    receive();
    if (welcome_) return true;
    if (refused_ || elsewhere_) break;
    check_cancelled();
    if (channel_.open()) channel_.wait(std::min(until(end), kLook));
  }
  return false;
}

}  // namespace multitree::runtime
