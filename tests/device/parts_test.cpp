// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The fake is as strict as it says; timelines, blocks and flags.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>

#include "device_support.hpp"
#include "fake_device.hpp"
#include "reduction_model.hpp"
#include "runtime/device/workspace_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using device::BlockPool;
using device::FlagPool;
using device::Timeline;
using ::testing::HasSubstr;

TEST(FakeDeviceDeathTest, TheHostCannotTouchDeviceMemory) {
  const auto fake = make_fake_device({});
  const DeviceBuffer buffer(*fake, 64);
  EXPECT_DEATH(std::memset(buffer.data(), 0, 64), "");
  EXPECT_DEATH(EXPECT_EQ(*reinterpret_cast<volatile char*>(buffer.data()), 0), "");
}

TEST(FakeDevice, SeesAccessesThatAreNotAllocated) {
  const auto failure = [](const auto& misuse) -> std::string {
    const auto fake = make_fake_device({});
    try {
      misuse(*fake);
      synchronize(*fake, nullptr);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(failure([](const device::Device& d) {
                auto* memory = static_cast<std::byte*>(d.allocate(256));
                void* pinned = d.allocate_pinned(512);
                d.copy(pinned, memory, 257, nullptr);
              }),
              HasSubstr("copy outside of allocated memory"));
  EXPECT_THAT(failure([](const device::Device& d) {
                void* memory = d.allocate(256);
                void* pinned = d.allocate_pinned(256);
                d.copy(pinned, memory, 256, nullptr);
                d.free(memory);  // too early
              }),
              HasSubstr("copy outside of allocated memory"));
  EXPECT_THAT(failure([](const device::Device& d) {
                std::vector<std::byte> pageable(256);
                d.copy(d.allocate(256), pageable.data(), 256, nullptr);
                synchronize(d, nullptr);
              }),
              HasSubstr("copy outside of allocated memory"));
}

TEST(FakeDevice, RunsLateAndOutOfOrderButStreamsInOrder) {
  FakeOptions options{.seed = 5};
  const auto fake = make_fake_device(options);
  const OwnedStream a(*fake), b(*fake);
  auto* words = static_cast<std::uint64_t*>(fake->allocate_pinned(64));
  std::memset(words, 0, 64);
  words[0] = 1;
  int late = 0, crossed = 0;
  for (int round = 0; round < 50; ++round) {
    words[1] = words[2] = words[3] = 0;
    fake->copy(words + 1, words, 8, a.get());
    fake->copy(words + 2, words + 1, 8, a.get());  // sees the copy before it
    fake->copy(words + 3, words + 2, 8, b.get());  // ordered with nothing
    late += words[1] == 0 ? 1 : 0;
    synchronize(*fake, a.get());
    EXPECT_EQ(words[2], 1U);
    synchronize(*fake, b.get());
    crossed += words[3] == 1 ? 1 : 0;
  }
  EXPECT_EQ(late, 50);
  EXPECT_GT(crossed, 0);
  EXPECT_LT(crossed, 50);
  fake->free_pinned(words);
}

TEST(Timelines, WaitForMarksOfOthers) {
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    FakeOptions options{.seed = seed};
    const auto fake = make_fake_device(options);
    Timeline a(*fake), b(*fake);
    auto* words = static_cast<std::uint64_t*>(fake->allocate_pinned(64));
    std::memset(words, 0, 64);
    words[0] = seed;
    fake->copy(words + 1, words, 8, a.stream());
    const std::uint64_t mark = a.mark();
    b.wait(a, mark);
    fake->copy(words + 2, words + 1, 8, b.stream());
    const std::uint64_t end = b.mark();
    while (!b.done(end)) {
      EXPECT_TRUE(words[2] == 0 || words[2] == seed);
      a.poll();
      b.poll();
    }
    EXPECT_EQ(words[2], seed);
    while (!a.idle()) a.poll();
    b.wait(a, mark);  // reached: nothing is put there
    EXPECT_TRUE(b.idle());
    fake->free_pinned(words);
  }
}

TEST(BlockPools, CutDistinctAlignedBlocksAndReuseThem) {
  const auto fake = make_fake_device({});
  BlockPool pool(*fake, BlockPool::Kind::Shared);
  std::vector<BlockPool::Block> blocks;
  std::set<std::pair<std::byte*, std::byte*>> ranges;
  for (const std::size_t bytes : {1UL, 256UL, 257UL, 100'000UL, 3'000'000UL, 5UL}) {
    for (int k = 0; k < 12; ++k) {
      const auto block = pool.take(bytes);
      EXPECT_GE(block.bytes, bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.memory) % 256, 0U);
      EXPECT_EQ(reinterpret_cast<std::byte*>(pool.handle(block).address) + pool.offset(block),
                block.memory);
      ranges.emplace(block.memory, block.memory + block.bytes);
      blocks.push_back(block);
    }
  }
  for (auto it = ranges.begin(); std::next(it) != ranges.end(); ++it) {
    EXPECT_LE(it->second, std::next(it)->first);
  }
  EXPECT_EQ(pool.taken(), blocks.size());
  const std::size_t arenas = pool.arenas();
  for (const auto& block : blocks) pool.give(block);
  for (std::size_t k = 0; k < 12; ++k) pool.give(pool.take(3'000'000));
  EXPECT_EQ(pool.arenas(), arenas);
  EXPECT_EQ(pool.taken(), 0U);
}

/// A word may be used again although a stream has not come to its old wait.
TEST(Flags, AreReusedBeforeTheirStreamsPass) {
  const auto fake = make_fake_device({});
  FlagPool flags(*fake);
  const OwnedStream stream(*fake);
  for (int k = 0; k < 1000; ++k) {
    const FlagPool::Flag flag = flags.take();
    fake->wait_value(stream.get(), flag.word, flag.value);
    flags.release(flag);
  }
  const FlagPool::Flag last = flags.take();
  fake->wait_value(stream.get(), last.word, last.value);
  Timeline probe(*fake);
  const device::Event event = fake->create_event();
  fake->record(event, stream.get());
  for (int k = 0; k < 20'000; ++k) EXPECT_FALSE(fake->query(event));
  flags.release(last);
  synchronize(*fake, stream.get());
  fake->destroy_event(event);
}

/// Without a driver the library loads all the same, and says that there is no device.
TEST(OpenCuda, GivesADeviceOrAReason) {
  std::string why;
  const auto device = device::open_cuda(0, why);
  EXPECT_EQ(device == nullptr, !why.empty());
#ifdef MULTITREE_CUDA_IS_BUILT
  EXPECT_THAT(why, ::testing::Not(HasSubstr("cannot open shared object file")));
#else
  EXPECT_THAT(why, HasSubstr("lies neither beside the program nor in ../lib"));
#endif
}

/// 16-bit sums are rounded once: 2048 + 1 + 1 in half is 2050, where rounding each gives 2048.
TEST(ReductionModel, RoundsOnce) {
  Values big(DataType::Float16, 1), one(DataType::Float16, 1), sum(DataType::Float16, 1);
  big.set(0, 2048);
  one.set(0, 1);
  device::Reduction r;
  r.result = sum.data();
  r.inputs = {big.data(), one.data(), one.data()};
  r.input_count = 3;
  r.count = 1;
  r.type = DataType::Float16;
  reduce_model(r);
  EXPECT_EQ(sum.get(0), 2050);
  r.input_count = 2;
  reduce_model(r);
  EXPECT_EQ(sum.get(0), 2048);
}

}  // namespace
}  // namespace multitree::runtime::test
