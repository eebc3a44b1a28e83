// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What one kernel a collective puts on a device, counted: launches, events, copies, bytes, memory.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>

#include "algorithms/registry.hpp"
#include "device_support.hpp"
#include "fake_device.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

constexpr std::uint32_t kEight = 8;

/// Of one call at one rank: events before and behind the kernel, which waits for that of the call
/// before. Copies are those of the list of steps: once for each kind of call.
struct Budget {
  std::size_t bytes;  ///< of the whole vector
  std::uint64_t kernels, records, event_waits, first_copies, later_copies;
};
constexpr std::array kBudgets{
    Budget{0, 1, 2, 1, 1, 0},         Budget{64, 1, 2, 1, 1, 0},
    Budget{512, 1, 2, 1, 1, 0},       Budget{4096, 1, 2, 1, 1, 0},
    Budget{64U << 10, 1, 2, 1, 1, 0}, Budget{256U << 10, 1, 2, 1, 1, 0},
    Budget{1U << 20, 1, 2, 1, 1, 0},  Budget{4U << 20, 1, 2, 1, 1, 0},
};

FakeCounts operator-(FakeCounts after, const FakeCounts& before) {
  after.copies -= before.copies;
  after.copied_bytes -= before.copied_bytes;
  after.kernels -= before.kernels;
  after.records -= before.records;
  after.event_waits -= before.event_waits;
  after.sent_bytes -= before.sent_bytes;
  after.allocated_bytes -= before.allocated_bytes;
  return after;
}

/// Elements of a rank's part, or of all where ranks have no parts, for a whole of `bytes`.
std::size_t count_of(Collective collective, std::size_t bytes) {
  const bool shards = receives_shard(collective) || sends_shard(collective);
  return bytes / 4 / (shards ? kEight : 1);
}

/// Bytes that all ranks together have to send at least; in a chain, through which a shard goes as
/// far as it has to, where shards are the root's.
std::uint64_t least_sent(Collective collective, std::uint64_t whole) {
  switch (collective) {
    case Collective::AllReduce:
      return 2 * (kEight - 1) * whole;
    case Collective::Gather:
    case Collective::Scatter:
      return (kEight - 1) * whole / 2;
    default:
      return (kEight - 1) * whole;
  }
}

TEST(WalkBudget, OfACallOfAnySize) {
  for (const Budget& budget : kBudgets) {
    run_ranks(kEight, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      const auto fake = walking_fake(*bootstrap, 9);
      Communicator communicator(bootstrap, ring_schedules(kEight), walking(fake, 256 << 10));
      const OwnedStream stream(*fake);
      const DeviceBuffer send(*fake, budget.bytes), recv(*fake, budget.bytes);
      for (const Collective collective : all_collectives()) {
        for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Avg}) {
          for (const std::uint64_t most_copies : {budget.first_copies, budget.later_copies}) {
            const FakeCounts before = counts_of(*fake);
            start_on(communicator, collective, send.data(), recv.data(),
                     count_of(collective, budget.bytes), DataType::Float32, op, stream.get())
                .wait();
            const FakeCounts used = counts_of(*fake) - before;
            const std::string what = std::string(to_string(collective)) + " of " +
                                     std::to_string(budget.bytes) + " bytes";
            EXPECT_LE(used.kernels, budget.kernels) << what;
            EXPECT_LE(used.records, budget.records) << what;
            EXPECT_LE(used.event_waits, budget.event_waits) << what;
            EXPECT_LE(used.copies, most_copies) << what;
          }
        }
      }
      communicator.barrier();
    });
  }
}

/// In place, to keep the memory of eight fakes small. Every rank puts in its number and one.
void count_large(Collective collective, std::size_t whole) {
  std::atomic<std::uint64_t> sent{0}, copied{0};
  run_ranks(kEight, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const std::uint32_t self = index(bootstrap->seat());
    FakeOptions options = fake_options(Reach::Walked, self, bootstrap->seat());
    options.bytes = whole + (64U << 20);
    const auto fake = make_fake_device(options);
    Communicator communicator(bootstrap, ring_schedules(kEight), walking(fake, 256 << 10));
    const OwnedStream stream(*fake);
    const DeviceBuffer buffer(*fake, whole);
    constexpr std::size_t kFilled = 1U << 20;
    const std::vector<std::int32_t> ones(kFilled / 4, static_cast<std::int32_t>(self + 1));
    for (std::size_t at = 0; at < whole; at += kFilled) {
      upload(*fake, buffer.data() + at, ones.data(), kFilled, stream.get());
    }
    const std::size_t own = whole / kEight * self;
    const FakeCounts before = counts_of(*fake);
    start_on(communicator, collective, buffer.data() + (sends_shard(collective) ? own : 0),
             buffer.data() + (receives_shard(collective) ? own : 0), count_of(collective, whole),
             DataType::Int32, ReduceOp::Sum, stream.get())
        .wait();
    const FakeCounts used = counts_of(*fake) - before;
    EXPECT_LE(used.kernels, 4U);
    EXPECT_LE(used.records + used.event_waits, 8U);
    EXPECT_LE(used.copies, 1U);
    EXPECT_LE(used.allocated_bytes, whole / 8) << to_string(collective);
    sent += used.sent_bytes;
    copied += used.copied_bytes;
    const bool has_result = receives(collective, Rank{self}, Rank{0});
    const std::size_t begin = receives_shard(collective) ? own : 0;
    const std::size_t end = receives_shard(collective) ? own + whole / kEight : whole;
    for (std::size_t at = begin; has_result && at < end; at += kFilled) {
      const std::uint32_t source =
          sends_shard(collective) ? static_cast<std::uint32_t>(at / (whole / kEight)) : 0;
      const std::int32_t want = reduces(collective) ? 36 : static_cast<std::int32_t>(source + 1);
      std::vector<std::int32_t> found(kFilled / 4);
      download(*fake, found.data(), buffer.data() + at, kFilled, stream.get());
      EXPECT_EQ(found, std::vector<std::int32_t>(kFilled / 4, want)) << at;
    }
    communicator.barrier();
  });
  EXPECT_EQ(sent, least_sent(collective, whole)) << to_string(collective);
  EXPECT_LE(copied, sent / 100) << to_string(collective);  // lists of steps
}

TEST(WalkBudget, OfSixtyFourMebibytes) {
  for (const Collective collective : all_collectives()) count_large(collective, 64U << 20);
}

/// Trees keep more partial sums at a time than a ring, but never a vector.
TEST(WalkBudget, OfTrees) {
  constexpr std::size_t kBytes = 8U << 20;
  const Schedule schedule = make_schedule("multitree", make_topology("full:8"));
  std::atomic<std::uint64_t> sent{0};
  run_ranks(kEight, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = walking_fake(*bootstrap, 9);
    Communicator communicator(bootstrap, {schedule}, walking(fake, 64 << 10));
    const OwnedStream stream(*fake);
    const DeviceBuffer send(*fake, kBytes), recv(*fake, kBytes);
    for (int round = 0; round < 3; ++round) {
      const FakeCounts before = counts_of(*fake);
      Request request =
          communicator.start_all_reduce(send.data(), recv.data(), kBytes / 4, DataType::Float32,
                                        ReduceOp::Avg, Stream{stream.get()});
      EXPECT_EQ((counts_of(*fake) - before).kernels, 1U) << "the host has more to do";
      request.wait();
      const FakeCounts used = counts_of(*fake) - before;
      EXPECT_EQ(used.kernels, 1U);
      EXPECT_EQ(used.records, 2U);
      EXPECT_EQ(used.copies, round == 0 ? 1U : 0U);
      if (round == 0) sent += used.sent_bytes;
    }
    communicator.barrier();
  });
  EXPECT_EQ(sent, least_sent(Collective::AllReduce, kBytes));
}

}  // namespace
}  // namespace multitree::runtime::test
