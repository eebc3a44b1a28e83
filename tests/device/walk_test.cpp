// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives as one kernel a rank: the protocol's source, run by threads on memory that is mapped
/// between fakes. Under the thread sanitizer this shows that its flags order what is read and
/// written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>

#include "algorithms/registry.hpp"
#include "device_support.hpp"
#include "fake_device.hpp"
#include "runtime/device/walk_steps_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Each rank has a fake of its own, which all others map.
std::shared_ptr<const device::Device> walking_fake(const Bootstrap& bootstrap, std::uint64_t seed,
                                                   std::uint32_t blocks = 2) {
  FakeOptions options =
      fake_options(Reach::Walked, seed * 100 + index(bootstrap.seat()), bootstrap.seat());
  options.walk_blocks = blocks;
  return make_fake_device(options);
}

CommunicatorOptions walking(std::shared_ptr<const device::Device> fake, std::size_t segment) {
  CommunicatorOptions options{.transport = "loopback"};
  options.segment_bytes = segment;
  options.timeout = Deadline(20'000);
  options.device = std::move(fake);
  return options;
}

/// Slices of no, one and several vectors, whichever the number of blocks.
TEST(Walk, AnyNumberOfBlocks) {
  for (const std::uint32_t blocks : {1U, 3U, 7U}) {
    run_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      const auto fake = walking_fake(*bootstrap, blocks, blocks);
      Communicator communicator(bootstrap, ring_schedules(3), walking(fake, 512));
      ASSERT_THAT(communicator.describe(), HasSubstr("one kernel"));
      for (const Collective collective : all_collectives()) {
        for (const std::size_t count : {1U, 50U, 333U}) {
          check_on_device(communicator, *fake, nullptr, collective, Rank{0}, count, DataType::Int8,
                          ReduceOp::Sum, false, true);
        }
      }
    });
  }
}

/// What a call of any size puts on the device: the list of steps, the kernel, the ends.
TEST(Walk, BudgetOfACall) {
  constexpr std::uint32_t kRanks = 8;
  const Schedule schedule = make_schedule("multitree", make_topology("full:8"));
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = walking_fake(*bootstrap, 9);
    Communicator communicator(bootstrap, {schedule}, walking(fake, 4096));
    const OwnedStream stream(*fake);
    for (const std::size_t bytes : {64U, 4096U, 1U << 20}) {
      const DeviceBuffer send(*fake, bytes), recv(*fake, bytes);
      for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Avg}) {
        const FakeCounts before = counts_of(*fake);
        communicator
            .start_all_reduce(send.data(), recv.data(), bytes / 4, DataType::Float32, op,
                              Stream{stream.get()})
            .wait();
        const FakeCounts after = counts_of(*fake);
        EXPECT_LE(after.kernels - before.kernels, op == ReduceOp::Avg ? 2U : 1U);
        EXPECT_LE(after.copies - before.copies, 1U);
        EXPECT_LE(after.records - before.records, 2U);
        EXPECT_EQ(after.event_waits, before.event_waits);
        // Nothing of the vector is copied, but the list of steps is.
        if (bytes == 1U << 20) {
          EXPECT_LT(after.copied_bytes - before.copied_bytes, bytes / 8);
        }
      }
    }
    communicator.barrier();
  });
}

/// Collectives of several streams run in the order of their calls, whichever stream comes first.
TEST(Walk, CallsFollowEachOtherInOneOrder) {
  constexpr std::uint32_t kRanks = 3;
  constexpr std::size_t kWalked = 3000;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = walking_fake(*bootstrap, 17);
    Communicator communicator(bootstrap, ring_schedules(kRanks), walking(fake, 512));
    const OwnedStream a(*fake), b(*fake);
    auto* flag = static_cast<std::uint32_t*>(fake->allocate_pinned(4));
    *flag = 0;
    // At every other rank the first stream is late.
    if (index(bootstrap->seat()) % 2 == 0) hold_stream(*fake, a.get(), flag);
    const std::vector<std::int32_t> ones(kWalked, 1), twos(kWalked, 2);
    const DeviceBuffer on_a(*fake, kWalked * 4), on_b(*fake, kWalked * 4);
    std::vector<Request> requests;
    upload(*fake, on_a.data(), ones.data(), kWalked * 4, b.get());
    upload(*fake, on_b.data(), twos.data(), kWalked * 4, b.get());
    const auto start = [&](const DeviceBuffer& buffer, const OwnedStream& stream) {
      requests.push_back(communicator.start_all_reduce(buffer.data(), buffer.data(), kWalked,
                                                       DataType::Int32, ReduceOp::Sum,
                                                       Stream{stream.get()}));
    };
    for (int k = 0; k < 3; ++k) {
      start(on_a, a);
      start(on_b, b);
    }
    std::atomic_ref(*flag).store(1, std::memory_order_release);
    for (Request& request : requests) request.wait();
    std::vector<std::int32_t> result(kWalked);
    download(*fake, result.data(), on_a.data(), kWalked * 4, a.get());
    EXPECT_EQ(result, std::vector<std::int32_t>(kWalked, 27));
    download(*fake, result.data(), on_b.data(), kWalked * 4, b.get());
    EXPECT_EQ(result, std::vector<std::int32_t>(kWalked, 54));
    communicator.barrier();
    fake->free_pinned(flag);
  });
}

TEST(Walk, IsLeftOutWhereADeviceCannot) {
  for (const bool shared_unit : {false, true}) {
    run_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      FakeOptions options =
          fake_options(shared_unit ? Reach::Mapped : Reach::Walked, 4, bootstrap->seat());
      options.walk_blocks = !shared_unit && bootstrap->seat() == Seat{1} ? 0 : 2;
      const auto fake = make_fake_device(options);
      Communicator communicator(bootstrap, ring_schedules(2), walking(fake, 512));
      EXPECT_THAT(communicator.describe(), Not(HasSubstr("one kernel")));
      check_on_device(communicator, *fake, nullptr, Collective::AllReduce, Rank{0}, 777,
                      DataType::Float64, ReduceOp::Sum, false, true);
    });
  }
}

/// Nothing of a call is taken for another's, and both ranks are told.
TEST(Walk, DifferentCallsAreNoticed) {
  std::atomic<int> told{0};
  try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = walking_fake(*bootstrap, 21);
    Communicator communicator(bootstrap, ring_schedules(2), walking(fake, 512));
    const std::vector<std::int32_t> sevens(1000, 7);
    const DeviceBuffer buffer(*fake, 4000);
    upload(*fake, buffer.data(), sevens.data(), 4000, nullptr);
    try {
      communicator.all_reduce(buffer.data(), buffer.data(), 1000, DataType::Int32,
                              bootstrap->seat() == Seat{0} ? ReduceOp::Sum : ReduceOp::Max);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("calls allreduce of 1000 int32, sum"));
      EXPECT_THAT(error.what(), HasSubstr("calls allreduce of 1000 int32, max"));
      ++told;
    }
    std::vector<std::int32_t> result(1000);
    download(*fake, result.data(), buffer.data(), 4000, nullptr);
    EXPECT_EQ(result, sevens);
  });
  EXPECT_EQ(told, 2);
}

TEST(WalkSteps, AreTheProgramInItsOrder) {
  const Schedule schedule = ring_schedule(Collective::Broadcast, 3);
  const Plan plan = make_plan(schedule, Rank{1});
  const Program program = compile(plan, schedule, chunk_ranges(schedule, 100), {4, 200});
  const device::WalkSteps walk = device::walk_steps(program, true, {0, 400});
  ASSERT_EQ(walk.steps.size(), program.tasks.size());  // every piece is received: none is kept
  std::vector<bool> written(program.pieces.size());
  for (std::size_t i = 0; i < walk.steps.size(); ++i) {
    EXPECT_EQ(walk.steps[i].begin, program.tasks[i].begin);
    EXPECT_EQ(walk.steps[i].fresh != 0, !written[program.tasks[i].slot]);
    if (walk.steps[i].action != device::WalkAction::Send) written[program.tasks[i].slot] = true;
  }
  EXPECT_TRUE(device::fits_walk(program, 200));
  EXPECT_FALSE(device::fits_walk(program, 8));
  // The root sends and receives nothing: all of its result is its input.
  const Plan root = make_plan(schedule, Rank{0});
  const Program roots = compile(root, schedule, chunk_ranges(schedule, 100), {4, 200});
  const device::WalkSteps kept = device::walk_steps(roots, true, {0, 400});
  EXPECT_EQ(kept.steps.size(), roots.tasks.size() + roots.pieces.size());
  EXPECT_EQ(kept.steps.back().action, device::WalkAction::Keep);
  EXPECT_EQ(device::walk_steps(roots, false, {0, 400}).steps.size(), roots.tasks.size());
}

TEST(WalkSteps, HaveOneMessageOfAChunkForAPeerInAStep) {
  Schedule schedule = ring_schedule(Collective::Broadcast, 2);
  const Transfer first = schedule.transfers.front();
  for (const Rank self : {first.src, first.dst}) {
    schedule.transfers.assign(1, first);
    const auto steps = [&] {
      const Plan plan = make_plan(schedule, self);
      const Program program = compile(plan, schedule, chunk_ranges(schedule, 8), {4, 64});
      device::walk_steps(program, false, {});
    };
    EXPECT_NO_THROW(steps());
    schedule.transfers.push_back(first);
    EXPECT_THROW(steps(), Error);
  }
}

}  // namespace
}  // namespace multitree::runtime::test
