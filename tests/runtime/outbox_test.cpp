// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who goes first where collectives share a connection.
#include "runtime/execution/outbox_internal.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"

namespace multitree::runtime::test {
namespace {

/// Of a slow network: one message of 100 bytes at a time.
constexpr TransportLimits kOneByOne{.window_bytes = 100, .window_messages = 1, .buffered = true};

/// A collective that notes its sends where all do.
struct Noting final : Sender {
  Noting(Outbox& outbox, std::string called, Turn turn, std::vector<std::string>& posts,
         Seat peer = 1_seat)
      : name(std::move(called)), posted(posts), line(outbox, peer, *this, turn) {}
  void post(std::uint32_t id) override { posted.push_back(name + std::to_string(id)); }

  std::string name;
  std::vector<std::string>& posted;
  Outbox::Line line;
};

using Names = std::vector<std::string>;

TEST(Outbox, GoesByClassThenByStartThenByTask) {
  Outbox outbox(kOneByOne);
  Names posted;
  Noting first(outbox, "a", {Urgency::Bulk, 0, 1}, posted);
  Noting second(outbox, "b", {Urgency::Bulk, 0, 2}, posted);
  Noting small(outbox, "s", {Urgency::Latency, 0, 3}, posted);
  second.line.add(0, 100);
  first.line.add(7, 100);
  first.line.add(3, 100);
  small.line.add(5, 100);
  second.line.left(0);
  small.line.left(5);
  first.line.left(3);
  first.line.left(7);
  EXPECT_EQ(posted, (Names{"b0", "s5", "a3", "a7"}));
}

TEST(Outbox, GoesByPriorityWithinAClass) {
  Outbox outbox(kOneByOne);
  Names posted;
  Noting back(outbox, "back", {Urgency::Bulk, 7, 1}, posted);
  Noting front(outbox, "front", {Urgency::Bulk, 0, 2}, posted);
  Noting small(outbox, "small", {Urgency::Latency, 9, 3}, posted);
  back.line.add(0, 100);
  back.line.add(1, 100);
  front.line.add(0, 100);
  small.line.add(0, 100);
  back.line.left(0);
  small.line.left(0);
  front.line.left(0);
  EXPECT_EQ(posted, (Names{"back0", "small0", "front0", "back1"}));
}

TEST(Outbox, CollectivesShareOneWindow) {
  Outbox outbox(kOneByOne);
  Names posted;
  Noting first(outbox, "a", {Urgency::Bulk, 0, 1}, posted);
  Noting second(outbox, "b", {Urgency::Bulk, 0, 2}, posted);
  first.line.add(0, 60);
  second.line.add(0, 40);
  second.line.add(1, 1);
  EXPECT_EQ(posted, (Names{"a0", "b0"}));
  first.line.left(0);
  EXPECT_EQ(posted, (Names{"a0", "b0", "b1"}));
}

TEST(Outbox, LongMessagesGoOneAtATime) {
  Outbox outbox(kOneByOne);
  Names posted;
  Noting one(outbox, "a", {}, posted);
  one.line.add(0, 5000);
  one.line.add(1, 5000);
  EXPECT_EQ(posted, Names{"a0"});
  one.line.left(0);
  EXPECT_EQ(posted, (Names{"a0", "a1"}));
}

/// Else all peers of a step would be sent to at a time, and senders meet at ports.
TEST(Outbox, PeersBehindOnePortTakeTurnsAsTheScheduleSays) {
  TransportLimits limits = kOneByOne;
  limits.one_port = true;
  Outbox outbox(limits);
  Names posted;
  Noting near(outbox, "n", {}, posted, 1_seat);
  Noting far(outbox, "f", {}, posted, 2_seat);
  near.line.add(0, 100);
  far.line.add(4, 100);
  near.line.add(3, 100);
  far.line.add(1, 100);
  EXPECT_EQ(posted, Names{"n0"});
  near.line.left(0);
  far.line.left(1);
  near.line.left(3);
  EXPECT_EQ(posted, (Names{"n0", "f1", "n3", "f4"}));
}

TEST(Outbox, APortGoesToASmallCollectiveFirst) {
  TransportLimits limits = kOneByOne;
  limits.one_port = true;
  Outbox outbox(limits);
  Names posted;
  Noting large(outbox, "l", {Urgency::Bulk, 0, 1}, posted, 1_seat);
  Noting small(outbox, "s", {Urgency::Latency, 0, 2}, posted, 2_seat);
  large.line.add(0, 100);
  large.line.add(1, 100);
  small.line.add(7, 100);
  large.line.left(0);
  EXPECT_EQ(posted, (Names{"l0", "s7"}));
}

/// Its receiver may ask for nothing else before.
TEST(Outbox, WithRendezvousTheLowestOfEachCollectiveGoes) {
  Outbox outbox({.window_bytes = 100, .window_messages = 1});
  Names posted;
  Noting first(outbox, "a", {Urgency::Latency, 0, 1}, posted);
  Noting second(outbox, "b", {Urgency::Bulk, 0, 2}, posted);
  first.line.add(4, 100);
  first.line.add(5, 100);
  second.line.add(9, 100);
  first.line.add(2, 100);
  EXPECT_EQ(posted, (Names{"a4", "b9", "a2"}));
}

TEST(Outbox, ALargeOneWaitsWhileASmallOneMoves) {
  Outbox outbox(kOneByOne);
  Names posted;
  Noting large(outbox, "l", {Urgency::Bulk, 0, 1}, posted);
  outbox.enter(Urgency::Latency);
  large.line.add(0, 100);
  EXPECT_TRUE(posted.empty());
  outbox.leave(Urgency::Latency);
  EXPECT_EQ(posted, Names{"l0"});
}

/// Another rank may wait for the large one before it starts the small one.
TEST(Outbox, ALargeOneGoesOnWhereTheSmallOneIsStuck) {
  Outbox outbox(kOneByOne);
  Names posted;
  Noting large(outbox, "l", {Urgency::Bulk, 0, 1}, posted);
  outbox.enter(Urgency::Latency);
  large.line.add(0, 100);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!outbox.resume() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(posted, Names{"l0"});
}

/// However many of them there are.
TEST(Outbox, SmallOnesDoNotHoldALargeOneBackForEver) {
  Outbox outbox(kOneByOne);
  Names posted;
  Noting large(outbox, "l", {Urgency::Bulk, 0, 1}, posted);
  outbox.enter(Urgency::Latency);
  large.line.add(0, 100);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!outbox.resume() && std::chrono::steady_clock::now() < until) {
    outbox.enter(Urgency::Latency);
    outbox.leave(Urgency::Latency);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(posted, Names{"l0"});
}

TEST(Outbox, WhatEndsInTheMiddleGivesItsRoomBack) {
  Outbox outbox(kOneByOne);
  Names posted;
  Noting second(outbox, "b", {Urgency::Bulk, 0, 2}, posted);
  {
    Noting first(outbox, "a", {Urgency::Bulk, 0, 1}, posted);
    first.line.add(0, 100);
    first.line.add(1, 100);
  }
  second.line.add(0, 100);
  EXPECT_EQ(posted, (Names{"a0", "b0"}));
}

}  // namespace
}  // namespace multitree::runtime::test
