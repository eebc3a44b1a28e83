// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives through the memory of one host, by threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <tuple>

#include "host_model.hpp"
#include "runtime/communicator.hpp"
#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;

CommunicatorOptions on_host(Rank root = Rank{0}) {
  CommunicatorOptions options;
  options.host_path = HostPath::Required;
  options.transport = "loopback";
  options.root = root;
  return options;
}

/// Ranks, and whether they lend each other their memory.
class HostRanks : public ::testing::TestWithParam<std::tuple<std::uint32_t, bool>> {
 protected:
  void SetUp() override {
    ::setenv("MULTITREE_PEER_MEMORY", std::get<1>(GetParam()) ? "1" : "0", 1);
  }
  void TearDown() override { ::unsetenv("MULTITREE_PEER_MEMORY"); }
  static std::uint32_t ranks() { return std::get<0>(GetParam()); }
};

TEST_P(HostRanks, EveryCollectiveTypeOperatorAndSize) {
  const std::uint32_t n = ranks();
  const Rank root{n == 1 ? 0 : n / 2};
  run_ranks(n, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, on_host(root));
    EXPECT_EQ(communicator.on_one_host(), n > 1);
    for (const Collective collective : all_collectives()) {
      const auto ops = all_reduce_ops().first(reduces(collective) ? all_reduce_ops().size() : 1);
      for (const DataType type : all_data_types()) {
        for (const ReduceOp op : ops) {
          for (const std::size_t count : {0, 1, 3, 17, 1501}) {
            check_collective(communicator, collective, root, count, type, op, false);
            check_collective(communicator, collective, root, count, type, op, true);
          }
        }
      }
    }
  });
}

TEST_P(HostRanks, RandomCallsHaveTheBitsOfRankOrder) {
  const std::uint32_t n = ranks();
  const Rank root{n - 1};
  run_ranks(n, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, on_host(root));
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      // Up to several pieces of the areas (256 KiB); less often as there are more ranks.
      const std::size_t most = seed % 6 == 0 ? (std::size_t{4} << 20) / n : 40'000;
      check_random_call(communicator, root, {seed * 100 + n, most});
    }
  });
}

/// Who only sends does not wait for who only receives, and is not taken for a later call.
TEST_P(HostRanks, RootsAreAhead) {
  constexpr int kCalls = 300;
  run_ranks(ranks(), [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, on_host());
    const auto n = static_cast<int>(bootstrap->size());
    const auto me = static_cast<int>(index(bootstrap->seat()));
    for (int call = 0; call < kCalls; ++call) {
      // Some on cards, some larger; in between a rank is late.
      std::vector<std::int32_t> data(call % 50 == 49 ? 70'000 : 1 + call % 900, call + me);
      if (me == call % 7 && call % 20 == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (call % 3 == 0) {
        communicator.reduce(data.data(), data.data(), data.size(), DataType::Int32, ReduceOp::Sum);
        if (me == 0) {
          ASSERT_EQ(data.back(), n * call + n * (n - 1) / 2) << call;
        }
      } else {
        communicator.broadcast(data.data(), data.data(), data.size(), DataType::Int32);
        ASSERT_EQ(data.front(), call);
        ASSERT_EQ(data.back(), call);
      }
    }
  });
}

TEST_P(HostRanks, EachCallHasItsRoot) {
  run_ranks(ranks(), [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, on_host());
    if (bootstrap->size() == 1) return;  // its only root is 0
    for (std::uint32_t root = 0; root < bootstrap->size(); ++root) {
      std::uint32_t value = index(bootstrap->seat());
      Call call{Collective::Broadcast, &value, &value, 1, DataType::Int32};
      call.root = Rank{root};
      communicator.run(call);
      ASSERT_EQ(value, root);
    }
    Call call{Collective::Broadcast, nullptr, nullptr, 0, DataType::Int32};
    call.root = Rank{bootstrap->size()};
    EXPECT_THROW(communicator.run(call), Error);
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, HostRanks,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5, 8, 16, 19),
                                            ::testing::Bool()));

TEST(Host, RequestsRunInTheirOrder) {
  constexpr std::uint32_t kRanks = 4;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, on_host());
    std::vector<std::vector<std::int32_t>> data;
    std::vector<Request> requests;
    for (int i = 0; i < 12; ++i) data.emplace_back(i % 3 == 0 ? 200'000 : 10 + i, i + 1);
    for (auto& one : data) {
      requests.push_back(communicator.start_all_reduce(one.data(), one.data(), one.size(),
                                                       DataType::Int32, ReduceOp::Sum));
    }
    // Waited for in another order at every rank, one by test(), one dropped.
    while (!requests[3 + index(bootstrap->seat())].test()) std::this_thread::yield();
    requests[index(bootstrap->seat())] = Request();
    for (std::size_t i = requests.size(); i-- > 0;) requests[i].wait();
    for (int i = 0; i < 12; ++i) {
      for (const std::int32_t x : data[static_cast<std::size_t>(i)]) ASSERT_EQ(x, 4 * (i + 1));
    }
  });
}

TEST(Host, SchedulesThatWereAskedForRunAsMessages) {
  constexpr std::uint32_t kRanks = 3;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    CommunicatorOptions options;
    options.transport = "loopback";
    const auto schedules = ring_schedules(kRanks);
    EXPECT_FALSE(Communicator(bootstrap, schedules, options).on_one_host());
    EXPECT_TRUE(Communicator(bootstrap, std::vector<Schedule>{}, options).on_one_host());
    const std::vector<SizedSchedules> plan{for_all_sizes(schedules[0])};
    EXPECT_FALSE(Communicator(bootstrap, PlansBySize(plan), options).on_one_host());
    EXPECT_TRUE(Communicator(bootstrap, PlansBySize(plan, true), options).on_one_host());
    options.host_path = HostPath::Off;
    EXPECT_FALSE(Communicator(bootstrap, PlansBySize(plan, true), options).on_one_host());
    options.host_path = HostPath::Required;
    EXPECT_TRUE(Communicator(bootstrap, schedules, options).on_one_host());
  });
}

TEST(Host, RanksThatCallDifferentThingsAreTold) {
  const auto errors = try_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, on_host());
    std::vector<float> data(10 + index(bootstrap->seat()) / 2);
    communicator.all_reduce(data.data(), data.data(), data.size(), DataType::Float32,
                            ReduceOp::Sum);
  });
  for (const auto& error : errors) {
    EXPECT_THAT(message_of(error), HasSubstr("calls allreduce of 10 float, sum"));
    EXPECT_THAT(message_of(error), HasSubstr("calls allreduce of 11 float, sum"));
  }
}

/// Of three the first leaves: who was 2 is 1, and the root still.
TEST(Host, TheRootFollowsItsProcess) {
  run_ranks(3, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator before(bootstrap, std::vector<Schedule>{}, on_host(Rank{2}));
    before.barrier();
    if (bootstrap->seat() == Seat{0}) return bootstrap->report_failure("enough");
    const auto without = [](std::span<const Seat>) {
      return PlansBySize(std::vector<SizedSchedules>{});
    };
    const auto after = before.shrink(without, Deadline(10'000));
    check_collective(*after, Collective::Broadcast, Rank{1}, 100, DataType::Int32, ReduceOp::Sum,
                     false);
  });
}

TEST(Host, SilentRankIsATimeoutThatNamesIt) {
  const auto errors = try_ranks(4, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    CommunicatorOptions options = on_host();
    options.timeout = Deadline(300);
    Communicator communicator(bootstrap, std::vector<Schedule>{}, options);
    if (bootstrap->seat() == Seat{2}) {
      while (!bootstrap->failure()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      throw std::runtime_error("silent");
    }
    std::vector<float> data(100'000);
    communicator.all_reduce(data.data(), data.data(), data.size(), DataType::Float32,
                            ReduceOp::Sum);
  });
  for (const std::uint32_t r : {0U, 1U, 3U}) {
    EXPECT_THAT(message_of(errors[r]), HasSubstr("waiting in shared memory for rank 2 at part 0"));
  }
}

TEST(Host, MemoryComesAndGoes) {
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, on_host());
    std::vector<void*> all;
    for (std::size_t i = 0; i < 20; ++i) {
      all.push_back(communicator.allocate(1000 * (i + index(bootstrap->seat()))));
    }
    for (void* one : all) communicator.deallocate(one);
    int other = 0;
    EXPECT_THROW(communicator.deallocate(&other), Error);
    EXPECT_THROW(communicator.deallocate(all[0]), Error);
    // Too much for one is an error for all, and nothing else changes.
    const std::size_t absurd = std::size_t{1} << 55;
    EXPECT_THROW(communicator.allocate(bootstrap->seat() == Seat{1} ? absurd : 64), Error);
    auto* data = static_cast<std::int32_t*>(communicator.allocate(4 * 50'000));
    for (int i = 0; i < 50'000; ++i) data[i] = i;
    communicator.all_reduce(data, data, 50'000, DataType::Int32, ReduceOp::Sum);
    for (int i = 0; i < 50'000; ++i) ASSERT_EQ(data[i], 3 * i);
  });
}

}  // namespace
}  // namespace multitree::runtime::test
