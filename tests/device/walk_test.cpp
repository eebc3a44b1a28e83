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
  using device::WalkAction;
  using device::WalkMemory;
  const Schedule schedule = ring_schedule(Collective::Broadcast, 3);
  const Plan plan = make_plan(schedule, Rank{1});
  const Program program = compile(plan, schedule, chunk_ranges(schedule, 100), {4, 200});
  const device::WalkSteps walk = device::walk_steps(program, {{0, 400}}, 2);
  ASSERT_EQ(walk.steps.size(), program.tasks.size());  // every piece is received: none is kept
  EXPECT_EQ(walk.work_bytes, 0U);
  for (std::size_t i = 0; i < walk.steps.size(); ++i) {
    const device::WalkStep& step = walk.steps[i];
    const device::WalkSpot& spot = step.action == WalkAction::Send ? step.from : step.to;
    EXPECT_EQ(spot.offset, program.tasks[i].begin);
    EXPECT_EQ(spot.memory, WalkMemory::Output);
  }
  EXPECT_TRUE(device::fits_walk(program, 200));
  EXPECT_FALSE(device::fits_walk(program, 8));
  // The root sends and receives nothing: all of its result is its input.
  const Plan root = make_plan(schedule, Rank{0});
  const Program roots = compile(root, schedule, chunk_ranges(schedule, 100), {4, 200});
  const device::WalkSteps kept = device::walk_steps(roots, {{0, 400}}, 2);
  EXPECT_EQ(kept.steps.size(), roots.tasks.size() + roots.pieces.size());
  EXPECT_EQ(kept.steps.back().action, WalkAction::Keep);
  EXPECT_EQ(kept.steps.front().from.memory, WalkMemory::Input);
  EXPECT_EQ(device::walk_steps(roots, {{0, 0}}, 2).steps.size(), roots.tasks.size());
}

TEST(WalkSteps, AveragesAreMadeAtTheEnd) {
  const Schedule schedule = ring_schedule(Collective::AllReduce, 4);
  const Plan plan = make_plan(schedule, Rank{2});
  const Program program = compile(plan, schedule, chunk_ranges(schedule, 100), {4, 64});
  const device::WalkSteps walk = device::walk_steps(program, {{0, 400}, 0, 4}, 2);
  ASSERT_EQ(walk.steps.size(), program.tasks.size() + program.pieces.size());
  for (std::size_t i = program.tasks.size(); i < walk.steps.size(); ++i) {
    EXPECT_EQ(walk.steps[i].action, device::WalkAction::Divide);
  }
}

/// Not the whole vector but what is on its way.
TEST(WalkSteps, AReduceScatterNeedsWorkForWhatIsUnderWay) {
  constexpr std::uint32_t kRanks = 16;
  constexpr std::uint64_t kShard = 1 << 16;
  const Schedule schedule = ring_schedule(Collective::ReduceScatter, kRanks);
  const Plan plan = make_plan(schedule, Rank{5});
  const Program program =
      compile(plan, schedule, chunk_ranges(schedule, kRanks * kShard / 4), {4, kShard});
  const device::WalkSteps walk = device::walk_steps(program, {{5 * kShard, 6 * kShard}}, 4);
  EXPECT_LE(4 * walk.work_bytes, 2 * kShard + 4096);
  // Who only sends needs nothing.
  const Schedule reduce = ring_schedule(Collective::Reduce, kRanks);
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    const Plan own = make_plan(reduce, Rank{r});
    const Program part = compile(own, reduce, chunk_ranges(reduce, kShard), {4, 4096});
    if (part.receives) continue;
    EXPECT_EQ(device::walk_steps(part, {}, 4).work_bytes, 0U);
  }
}

TEST(WalkSteps, HaveOneMessageOfAChunkForAPeerInAStep) {
  Schedule schedule = ring_schedule(Collective::Broadcast, 2);
  const Transfer first = schedule.transfers.front();
  for (const Rank self : {first.src, first.dst}) {
    schedule.transfers.assign(1, first);
    const auto steps = [&] {
      const Plan plan = make_plan(schedule, self);
      const Program program = compile(plan, schedule, chunk_ranges(schedule, 8), {4, 64});
      device::walk_steps(program, {}, 2);
    };
    EXPECT_NO_THROW(steps());
    schedule.transfers.push_back(first);
    EXPECT_THROW(steps(), Error);
  }
}

}  // namespace
}  // namespace multitree::runtime::test
