// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a recorder keeps, and how clocks are compared.
#include "runtime/execution/recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "runtime/measure/clock_offsets.hpp"
#include "support.hpp"

namespace multitree::runtime {
namespace {

constexpr Deadline kDeadline{10'000};

TEST(Recorder, CountsAndKeepsEventsOnlyWhenStarted) {
  test::run_ranks(3, [](const std::shared_ptr<Bootstrap>& job) {
    CommunicatorOptions options;
    options.transport = "loopback";
    options.host_path = HostPath::Off;
    options.recorder = std::make_shared<Recorder>(1000);
    const Schedule ring = test::ring_schedule(Collective::AllReduce, 3);
    Communicator communicator(job, {ring}, options);
    std::vector<float> in(300, 1), out(300);
    const auto reduce = [&] {
      communicator.all_reduce(in.data(), out.data(), in.size(), DataType::Float32, ReduceOp::Sum);
    };
    Recorder& recorder = *options.recorder;
    reduce();
    EXPECT_TRUE(recorder.events().empty());
    recorder.start(Recorder::Mode::Count, ring.transfers.size());
    reduce();
    recorder.stop();
    EXPECT_TRUE(recorder.events().empty());
    std::uint64_t sent = 0;
    for (std::size_t t = 0; t < ring.transfers.size(); ++t) {
      const bool mine = seat_of(ring.transfers[t].src) == job->seat();
      EXPECT_EQ(recorder.sent()[t], mine ? 400U : 0U) << t;
      sent += recorder.sent()[t];
    }
    EXPECT_EQ(sent, 4U * 400U);
    recorder.start(Recorder::Mode::Events, ring.transfers.size());
    reduce();
    recorder.stop();
    reduce();
    const auto count = [&](Event::Kind kind) {
      return std::ranges::count(recorder.events(), kind, &Event::kind);
    };
    EXPECT_EQ(count(Event::Kind::Send), 4);
    EXPECT_EQ(count(Event::Kind::Receive), 4);
    EXPECT_EQ(count(Event::Kind::Reduce), 2);
    EXPECT_EQ(recorder.lost(), 0U);
    for (const Event& event : recorder.events()) {
      EXPECT_LE(event.begin_ns, event.end_ns);
      EXPECT_EQ(event.bytes, 400U);
      const Transfer& t = ring.transfers.at(event.transfer);
      const bool sends = event.kind == Event::Kind::Send;
      EXPECT_EQ(seat_of(sends ? t.src : t.dst), job->seat());
      EXPECT_EQ(sends ? t.dst : t.src, event.peer);
    }
  });
}

TEST(Recorder, WhatFindsNoRoomIsCounted) {
  Recorder recorder(2);
  recorder.start(Recorder::Mode::Events, 0);
  for (std::uint32_t i = 0; i < 5; ++i) recorder.add({.kind = Event::Kind::Send, .transfer = i});
  ASSERT_EQ(recorder.events().size(), 2U);
  EXPECT_EQ(recorder.events()[1].transfer, 1U);
  EXPECT_EQ(recorder.lost(), 3U);
  recorder.start(Recorder::Mode::Events, 0);
  EXPECT_TRUE(recorder.events().empty());
  EXPECT_EQ(recorder.lost(), 0U);
}

TEST(ClockOffsets, LieWithinTheirError) {
  std::mt19937_64 random(1);
  const auto some = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  for (const std::int64_t offset : {0L, 5'000'000'000L, -77'000'000'000L}) {
    std::vector<BarrierTimes> first, second;
    for (std::int64_t now = 1000, i = 0; i < 16; ++i) {
      const std::int64_t a = now + some(50'000), b = now + some(50'000);
      const std::int64_t release = std::max(a, b) + some(20'000);
      first.push_back({a, release + some(20'000)});
      second.push_back({b + offset, release + some(20'000) + offset});
      now = std::max(first.back().left, second.back().left - offset);
    }
    const ClockOffset found = offset_from_barriers(first, second);
    EXPECT_LE(std::abs(found.ns - offset), found.error_ns);
    EXPECT_LT(found.error_ns, 40'000);
  }
}

TEST(ClockOffsets, OfShiftedClocksAreFoundThroughTheBootstrap) {
  test::run_ranks(3, [](const std::shared_ptr<Bootstrap>& job) {
    const std::int64_t shift = -1'000'000'000'000LL * index(job->seat());
    const auto offsets =
        measure_offsets(*job, kDeadline, 8, [&] { return Recorder::now() + shift; });
    ASSERT_EQ(offsets.size(), 3U);
    for (std::int64_t r = 0; r < 3; ++r) {
      const ClockOffset& found = offsets[static_cast<std::size_t>(r)];
      EXPECT_LE(std::abs(found.ns + r * 1'000'000'000'000LL), found.error_ns) << r;
    }
    // Threads of a process have one clock.
    EXPECT_EQ(clock_offsets(*job, kDeadline), std::vector<ClockOffset>(3));
  });
}

}  // namespace
}  // namespace multitree::runtime
