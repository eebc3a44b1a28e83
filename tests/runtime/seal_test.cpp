// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Frames that were forged, replayed, exchanged, sent back or cut on their way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "meeting.hpp"
#include "runtime/job/channel_internal.hpp"

namespace multitree::runtime::test {
namespace {

using Side = Channel::Side;

/// Two ends of a connection, and between them somebody who passes on what he likes.
class Between {
 public:
  explicit Between(std::string_view token = "secret")
      : caller_(end(callers_), key_of("secret")),
        acceptor_(end(acceptors_), key_of(token), Side::Acceptor) {}

  [[nodiscard]] Channel& caller() { return caller_; }
  [[nodiscard]] Channel& acceptor() { return acceptor_; }
  /// What an end has said since it was asked last.
  std::string said_by(Side side) {
    (side == Side::Caller ? caller_ : acceptor_).flush();
    const Socket& socket = side == Side::Caller ? callers_ : acceptors_;
    std::string text(1 << 16, ' ');
    const ssize_t n = ::recv(socket.fd(), text.data(), text.size(), MSG_DONTWAIT);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  /// An end hears this. What it says of it.
  Channel::Status tell(Side side, std::string_view bytes) {
    const Socket& socket = side == Side::Caller ? callers_ : acceptors_;
    if (!bytes.empty()) {
      EXPECT_EQ(::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(bytes.size()));
    }
    return (side == Side::Caller ? caller_ : acceptor_).fill();
  }
  /// The words of both until they know each other, passed on as they are.
  std::vector<std::string> meet() {
    std::vector<std::string> words;
    for (const Side speaker : {Side::Acceptor, Side::Caller, Side::Acceptor}) {
      words.push_back(said_by(speaker));
      tell(speaker == Side::Caller ? Side::Acceptor : Side::Caller, words.back());
    }
    return words;
  }
  void hang_up() {
    callers_.close();
    acceptors_.close();
  }

 private:
  static Socket end(Socket& other) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    other = Socket(ends[0]);
    return Socket(ends[1]);
  }

  Socket callers_, acceptors_;  ///< the other ends, in the hands of whoever is between
  Channel caller_, acceptor_;
};

/// A frame by itself, as it is on the wire.
std::string frame_of(Between& wire, const std::string& payload) {
  wire.caller().send(FrameType::Gather, payload);
  return wire.said_by(Side::Caller);
}

/// All that the acceptor takes for said.
std::vector<std::string> heard(Between& wire) {
  std::vector<std::string> payloads;
  while (const auto frame = wire.acceptor().next()) payloads.push_back(frame->payload);
  return payloads;
}

TEST(Seals, LetFramesPass) {
  Between wire;
  wire.caller().send(FrameType::Hello, "early");  // waits until they know each other
  const auto words = wire.meet();
  EXPECT_EQ(words[0].size(), 28U);
  EXPECT_EQ(words[1].size(), 60U);
  EXPECT_EQ(words[2].size(), 32U);
  std::string all = wire.said_by(Side::Caller);
  for (const char* payload : {"", "one", "two"}) all += frame_of(wire, payload);
  // However it is cut.
  for (const char byte : all) {
    EXPECT_EQ(wire.tell(Side::Acceptor, {&byte, 1}), Channel::Status::Open);
  }
  EXPECT_THAT(heard(wire), ::testing::ElementsAre("early", "", "one", "two"));
  wire.acceptor().send(FrameType::Welcome, "answer");
  wire.tell(Side::Caller, wire.said_by(Side::Acceptor));
  EXPECT_EQ(wire.caller().next()->payload, "answer");
}

TEST(Seals, AnotherKeyIsRefused) {
  Between wire("another secret");
  wire.tell(Side::Caller, wire.said_by(Side::Acceptor));
  EXPECT_EQ(wire.tell(Side::Acceptor, wire.said_by(Side::Caller)), Channel::Status::Garbage);
  EXPECT_EQ(wire.tell(Side::Caller, wire.said_by(Side::Acceptor)), Channel::Status::Refused);
}

/// Every bit of what is said before the first frame and of a frame.
TEST(Seals, NoChangedBitPasses) {
  Between sample;
  const auto words = sample.meet();
  const std::size_t of_words = words[1].size();
  const std::size_t all = of_words + frame_of(sample, "payload").size();
  for (std::size_t bit = 0; bit < 8 * all; ++bit) {
    const auto flipped = [&](std::string text, std::size_t begin) {
      const std::size_t at = bit / 8 - begin;
      if (bit / 8 >= begin && at < text.size()) {
        text[at] = static_cast<char>(text[at] ^ (1 << bit % 8));
      }
      return text;
    };
    Between wire;
    wire.tell(Side::Caller, wire.said_by(Side::Acceptor));
    wire.tell(Side::Acceptor, flipped(wire.said_by(Side::Caller), 0));
    wire.tell(Side::Caller, wire.said_by(Side::Acceptor));
    wire.tell(Side::Acceptor, flipped(frame_of(wire, "payload"), of_words));
    EXPECT_THAT(heard(wire), ::testing::IsEmpty()) << "bit " << bit;
    // A length that grew waits for more, and then its code is wrong.
    wire.tell(Side::Acceptor, std::string(4096, '\0'));
    EXPECT_THAT(heard(wire), ::testing::IsEmpty()) << "bit " << bit;
  }
}

TEST(Seals, NoChangedBitOfTheAcceptorPasses) {
  for (std::size_t bit = 0; bit < 8 * (28 + 32); ++bit) {
    Between wire;
    std::string greeting = wire.said_by(Side::Acceptor);
    if (bit / 8 < 28) greeting[bit / 8] = static_cast<char>(greeting[bit / 8] ^ (1 << bit % 8));
    wire.tell(Side::Caller, greeting);
    wire.tell(Side::Acceptor, wire.said_by(Side::Caller));
    std::string verdict = wire.said_by(Side::Acceptor);
    if (bit / 8 >= 28 && !verdict.empty()) {
      verdict[bit / 8 - 28] = static_cast<char>(verdict[bit / 8 - 28] ^ (1 << bit % 8));
    }
    wire.tell(Side::Caller, verdict);
    EXPECT_FALSE(wire.caller().known()) << "bit " << bit;
  }
}

TEST(Seals, NothingIsHeardTwice) {
  Between wire;
  const auto words = wire.meet();
  const std::string frame = frame_of(wire, "once");
  wire.tell(Side::Acceptor, frame + frame);
  EXPECT_THAT(heard(wire), ::testing::ElementsAre("once"));
  EXPECT_EQ(wire.tell(Side::Acceptor, ""), Channel::Status::Garbage);
  // Nor by another coordinator of the same job.
  Between again;
  EXPECT_EQ(again.tell(Side::Acceptor, words[1]), Channel::Status::Garbage);
  EXPECT_EQ(again.tell(Side::Acceptor, frame), Channel::Status::Garbage);
  EXPECT_THAT(heard(again), ::testing::IsEmpty());
}

TEST(Seals, FramesKeepTheirOrderAndNoneIsLeftOut) {
  for (const bool swap : {true, false}) {
    Between wire;
    wire.meet();
    const std::string one = frame_of(wire, "one"), two = frame_of(wire, "two");
    wire.tell(Side::Acceptor, swap ? two + one : two);
    EXPECT_THAT(heard(wire), ::testing::IsEmpty());
    EXPECT_EQ(wire.tell(Side::Acceptor, ""), Channel::Status::Garbage);
  }
}

TEST(Seals, NobodyHearsHimself) {
  Between wire;
  wire.meet();
  wire.tell(Side::Caller, frame_of(wire, "mine"));
  EXPECT_FALSE(wire.caller().next().has_value());
  EXPECT_EQ(wire.tell(Side::Caller, ""), Channel::Status::Garbage);
  Between mirror;
  const std::string greeting = mirror.said_by(Side::Acceptor);
  EXPECT_EQ(mirror.tell(Side::Acceptor, greeting + std::string(32, '\0')),
            Channel::Status::Garbage);
}

/// A connection that ends in the middle of something.
TEST(Seals, WhatIsCutIsNotHeard) {
  Between sample;
  sample.meet();
  const std::size_t length = frame_of(sample, "whole").size();
  for (std::size_t cut = 0; cut <= length; ++cut) {
    Between wire;
    wire.meet();
    const std::string frame = frame_of(wire, "whole");
    EXPECT_EQ(wire.tell(Side::Acceptor, frame.substr(0, cut)), Channel::Status::Open);
    wire.hang_up();
    EXPECT_EQ(wire.acceptor().fill(), Channel::Status::Closed);
    EXPECT_EQ(heard(wire).size(), cut == length ? 1U : 0U);
  }
}

/// Of a stranger no more is kept than the words that he is to say.
TEST(Seals, StrangersAreReadToTheirFirstWordsOnly) {
  Between wire;
  EXPECT_EQ(wire.tell(Side::Acceptor, std::string(1 << 15, 'x')), Channel::Status::Garbage);
  EXPECT_EQ(wire.tell(Side::Acceptor, ""), Channel::Status::Garbage);
  EXPECT_THAT(heard(wire), ::testing::IsEmpty());
}

/// More of them than are heard at a time, before the first rank comes.
TEST_F(Meeting, DoesNotWaitForThoseWhoSayNothing) {
  std::vector<Socket> held;
  for (int i = 0; i < 300; ++i) held.push_back(call(coordinator_->port()));
  EXPECT_TRUE(std::ranges::all_of(held, &Socket::open));
  EXPECT_EQ(join().size(), 3U);
}

TEST_F(Meeting, GarbageChangesNothing) {
  const auto all = join();
  for (std::size_t i = 0; i < 3000; ++i) {
    const Socket one = call(coordinator_->port());
    const std::string garbage(i % 97, static_cast<char>(i));
    static_cast<void>(::send(one.fd(), garbage.data(), garbage.size(), MSG_NOSIGNAL));
  }
  for (const auto& one : all) EXPECT_EQ(one->failure(), std::nullopt);
  std::vector<std::future<void>> waiting;
  for (const auto& one : all) {
    waiting.push_back(std::async(std::launch::async, [&one] { one->barrier(Deadline(20'000)); }));
  }
  for (auto& one : waiting) one.get();
}

/// The process has none left when somebody comes, and some again when the ranks do.
TEST_F(Meeting, OutlivesAWantOfDescriptors) {
  std::vector<Socket> held;
  for (int i = 0; i < 8; ++i) held.push_back(call(coordinator_->port()));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  const Socket late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(coordinator_->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(late.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(join().size(), 3U);
}

}  // namespace
}  // namespace multitree::runtime::test
