// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives that were recorded into graphs: replayed, among other calls, and when a peer fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

#include "device_support.hpp"
#include "fake_device.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kRecorded = 1000;

/// A rank that records and replays sums of its numbers, in place.
class Recorder {
 public:
  Recorder(const std::shared_ptr<Bootstrap>& bootstrap, std::uint64_t seed)
      : fake_(walking_fake(*bootstrap, seed)),
        communicator_(bootstrap, ring_schedules(bootstrap->size()), walking(fake_, 512)),
        stream_(*fake_) {}

  [[nodiscard]] const device::Device& fake() const { return *fake_; }
  [[nodiscard]] Communicator& communicator() { return communicator_; }
  [[nodiscard]] device::Stream stream() const { return stream_.get(); }

  std::shared_ptr<FakeGraph> record(Collective collective, const DeviceBuffer& send,
                                    const DeviceBuffer& recv, std::size_t count,
                                    ReduceOp op = ReduceOp::Sum) {
    begin_capture(*fake_, stream());
    Request request = start_on(communicator_, collective, send.data(), recv.data(), count,
                               DataType::Int32, op, stream());
    auto graph = end_capture(*fake_, stream());
    EXPECT_TRUE(request.test());
    EXPECT_LE(items_of(*graph), kItemsOfAWalk);
    return graph;
  }
  void replay(const FakeGraph& graph) {
    launch(*fake_, graph, stream());
    synchronize(*fake_, stream());
  }
  void fill(const DeviceBuffer& buffer, std::int32_t value) {
    const std::vector<std::int32_t> values(kRecorded, value);
    upload(*fake_, buffer.data(), values.data(), kRecorded * 4, stream());
  }
  std::vector<std::int32_t> read(const DeviceBuffer& buffer, std::size_t count = kRecorded) {
    std::vector<std::int32_t> values(count);
    download(*fake_, values.data(), buffer.data(), count * 4, stream());
    return values;
  }

 private:
  std::shared_ptr<const device::Device> fake_;
  Communicator communicator_;
  OwnedStream stream_;
};

/// Only kernels are recorded, and what was recorded runs as often as it is launched.
TEST(WalkGraph, RunsAgainAndAgain) {
  constexpr std::uint32_t kRanks = 3;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Recorder rank(bootstrap, 31);
    const auto& fake = rank.fake();
    const DeviceBuffer sums(fake, kRecorded * 4), shards(fake, kRecorded * 4);
    rank.fill(sums, 1);
    const FakeCounts before = counts_of(fake);
    begin_capture(fake, rank.stream());
    Request all = start_on(rank.communicator(), Collective::AllReduce, sums.data(), sums.data(),
                           kRecorded, DataType::Int32, ReduceOp::Sum, rank.stream());
    Request scattered = start_on(rank.communicator(), Collective::ReduceScatter, sums.data(),
                                 shards.data(), 300, DataType::Int32, ReduceOp::Sum, rank.stream());
    const auto graph = end_capture(fake, rank.stream());
    EXPECT_TRUE(all.test());
    EXPECT_TRUE(scattered.test());
    EXPECT_EQ(counts_of(fake).kernels - before.kernels, 2U);
    EXPECT_EQ(items_of(*graph), 2 * kItemsOfAWalk);
    std::int32_t want = 1;
    for (int replay = 0; replay < 5; ++replay) {
      rank.replay(*graph);
      want *= 3;
      EXPECT_EQ(rank.read(sums), std::vector<std::int32_t>(kRecorded, want)) << replay;
      EXPECT_EQ(rank.read(shards, 300), std::vector<std::int32_t>(300, 3 * want)) << replay;
    }
    rank.communicator().barrier();
  });
}

/// All kinds, some of them with work, an average among them; several graphs in any order, and calls
/// of all kinds between, on other streams and without one.
TEST(WalkGraph, RunsAmongOtherCalls) {
  constexpr std::uint32_t kRanks = 4;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Recorder rank(bootstrap, 37);
    const auto& fake = rank.fake();
    const OwnedStream other(fake);
    const auto self = static_cast<std::int32_t>(index(bootstrap->seat()));
    const DeviceBuffer from(fake, kRecorded * 4), to(fake, kRanks * kRecorded * 4);
    std::vector<std::shared_ptr<FakeGraph>> graphs;
    for (const Collective collective : all_collectives()) {
      const bool shards = receives_shard(collective);
      graphs.push_back(rank.record(collective, from, to, shards ? kRecorded / kRanks : kRecorded,
                                   shards ? ReduceOp::Avg : ReduceOp::Sum));
    }
    for (std::size_t round = 0; round < 12; ++round) {
      const std::size_t which = (round * 3 + round / 5) % graphs.size();
      const Collective collective = all_collectives()[which];
      const auto scale = static_cast<std::int32_t>(4 * round + 4);
      rank.fill(from, scale * (self + 1));
      rank.replay(*graphs[which]);
      if (receives(collective, Rank{index(bootstrap->seat())}, Rank{0})) {
        const std::int32_t sum = 10 * scale;
        const std::int32_t want = !reduces(collective)         ? scale
                                  : receives_shard(collective) ? sum / 4
                                                               : sum;
        EXPECT_EQ(rank.read(to, 1).front(), want) << round << to_string(collective);
        EXPECT_EQ(rank.read(to, kRecorded / kRanks).back(), want) << round;
      }
      for (const Collective between : all_collectives()) {
        check_on_device(rank.communicator(), fake, round % 2 == 0 ? other.get() : rank.stream(),
                        between, Rank{0}, 100 * round + 77, DataType::Float32, ReduceOp::Sum,
                        round % 3 == 0, round % 4 == 1);
      }
    }
  });
}

TEST(WalkGraph, MessagesCannotBePartOfOne) {
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = make_fake_device(fake_options(Reach::Mapped, 5, bootstrap->seat()));
    Communicator communicator(bootstrap, ring_schedules(2), walking(fake, 512));
    const OwnedStream stream(*fake);
    const DeviceBuffer buffer(*fake, 400);
    begin_capture(*fake, stream.get());
    EXPECT_THAT(
        [&] {
          communicator.start_all_reduce(buffer.data(), buffer.data(), 100, DataType::Int32,
                                        ReduceOp::Sum, Stream{stream.get()});
        },
        ::testing::ThrowsMessage<Error>(HasSubstr("not all ranks map each other's devices")));
    EXPECT_EQ(items_of(*end_capture(*fake, stream.get())), 0U);
    communicator.barrier();
  });
}

void await_failure_of(const Communicator& communicator) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (communicator.failure().empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
}

/// A replay that waits for a peer which does something else instead ends, and the rank is told.
void check_replay_ends(const std::function<void(Communicator&)>& instead, const char* words) {
  try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Recorder rank(bootstrap, 41);
    const DeviceBuffer sums(rank.fake(), kRecorded * 4);
    rank.fill(sums, 1);
    const auto graph = rank.record(Collective::AllReduce, sums, sums, kRecorded);
    for (int replay = 0; replay < 2; ++replay) rank.replay(*graph);
    EXPECT_EQ(rank.read(sums), std::vector<std::int32_t>(kRecorded, 4));
    rank.communicator().barrier();
    if (bootstrap->seat() == Seat{1}) return instead(rank.communicator());
    rank.replay(*graph);
    await_failure_of(rank.communicator());
    EXPECT_THAT(rank.communicator().failure(), HasSubstr(words));
    EXPECT_THROW(rank.communicator().barrier(), Error);
  });
}

TEST(WalkGraph, EndsWhenAPeerAborts) {
  check_replay_ends([](Communicator& c) { c.abort("enough"); }, "rank 1 gave up: enough");
}

TEST(WalkGraph, EndsWhenAPeerDies) {
  check_replay_ends([](Communicator&) { throw std::runtime_error("this rank dies"); }, "rank 1");
}

TEST(WalkGraph, EndsWhenTheRankAbortsItself) {
  try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Recorder rank(bootstrap, 43);
    const DeviceBuffer sums(rank.fake(), kRecorded * 4);
    const auto graph = rank.record(Collective::AllReduce, sums, sums, kRecorded);
    rank.communicator().barrier();
    if (bootstrap->seat() == Seat{1}) return await_failure_of(rank.communicator());
    launch(rank.fake(), *graph, rank.stream());
    rank.communicator().abort("enough");
    synchronize(rank.fake(), rank.stream());
  });
}

/// Graphs have to be launched in one order by all.
TEST(WalkGraph, DifferentReplaysAreNoticed) {
  try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Recorder rank(bootstrap, 47);
    const DeviceBuffer sums(rank.fake(), kRecorded * 4);
    rank.fill(sums, 7);
    const auto first = rank.record(Collective::AllReduce, sums, sums, kRecorded);
    const auto second = rank.record(Collective::AllReduce, sums, sums, kRecorded, ReduceOp::Max);
    rank.communicator().barrier();
    rank.replay(bootstrap->seat() == Seat{0} ? *first : *second);
    await_failure_of(rank.communicator());
    EXPECT_THAT(rank.communicator().failure(),
                HasSubstr("which sends what belongs to another call"));
    EXPECT_EQ(rank.read(sums), std::vector<std::int32_t>(kRecorded, 7));
  });
}

}  // namespace
}  // namespace multitree::runtime::test
