// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Jobs whose coordinator is the test, and processes spelt out byte by byte.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/job/build_internal.hpp"
#include "runtime/job/tcp_internal.hpp"
#include "support.hpp"

namespace multitree::runtime::test {

/// A job whose coordinator is this test.
class Meeting : public ::testing::Test {
 protected:
  [[nodiscard]] TcpOptions options(std::uint32_t number, Deadline deadline = Deadline(5000)) const {
    TcpOptions result;
    result.seat = Seat{number};
    result.size = 3;
    result.addresses = {{"127.0.0.1", coordinator_->port()}};
    result.token = "secret";
    result.description = "test";
    result.coordinator_name = "the launcher";
    result.deadline = deadline;
    return result;
  }

  /// All three, joined.
  [[nodiscard]] std::vector<std::shared_ptr<Bootstrap>> join() const {
    std::vector<std::future<std::shared_ptr<Bootstrap>>> joining;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      joining.push_back(
          std::async(std::launch::async, [this, rank] { return join_over_tcp(options(rank)); }));
    }
    std::vector<std::shared_ptr<Bootstrap>> all;
    for (auto& one : joining) all.push_back(one.get());
    return all;
  }

  static std::string await_failure_of(Bootstrap& bootstrap) {
    for (int i = 0; i < 5000; ++i) {
      if (const auto failure = bootstrap.failure()) return *failure;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return "no failure";
  }

  std::unique_ptr<Coordinator> coordinator_ =
      std::make_unique<Coordinator>(listen_at(0, kLoopback), 3, "secret");
};

inline std::string await_failure_of_one(Bootstrap& bootstrap) {
  return bootstrap.failure().value_or("no failure");
}

inline Socket call(std::uint16_t port) {
  return connect_to({"127.0.0.1", port}, std::chrono::seconds(1)).socket;
}

/// A connection of somebody who knows the token and has not said yet who it is.
inline Channel newcomer(std::uint16_t port, std::string_view token = "secret") {
  return {call(port), key_of(token)};
}

/// What the coordinator answers before it hangs up.
inline std::string answer(Channel& channel) {
  while (true) {
    const Channel::Status status = channel.fill();
    if (const auto frame = channel.next()) return frame->payload;
    if (status == Channel::Status::Refused) return kWrongToken;
    if (status != Channel::Status::Open) return "closed";
    channel.wait(std::chrono::seconds(5));
  }
}

/// A rank spelt out byte by byte, which can therefore die: it ends without a goodbye.
inline Channel raw_rank(std::uint16_t port, std::uint32_t rank, std::uint32_t size,
                        std::string_view token, const Build& build = own_build()) {
  Channel channel = newcomer(port, token);
  Writer hello;
  hello.number(rank).number(size).number(build.format).text(build.version);
  channel.send(FrameType::Hello, hello.bytes());
  // Both ends say who they are before; what is sent from here on leaves at once.
  // Nobody waits once they have: the answer may have been taken in along with the last word.
  while (channel.fill() == Channel::Status::Open && !channel.known()) {
    channel.wait(std::chrono::seconds(5));
  }
  return channel;
}

/// All of `jobs` shrink at once, and are there before one asks; null for those that failed.
inline std::vector<Shrunk> shrink_all(const std::vector<std::shared_ptr<Bootstrap>>& jobs,
                                      Deadline deadline) {
  const auto here = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(jobs.size()));
  std::vector<std::future<Shrunk>> shrinking;
  for (const auto& job : jobs) {
    shrinking.push_back(std::async(std::launch::async, [job, deadline, here] {
      here->arrive_and_wait();
      return job->shrink(deadline);
    }));
  }
  std::vector<Shrunk> all;
  for (auto& one : shrinking) all.push_back(one.get());
  return all;
}

}  // namespace multitree::runtime::test
