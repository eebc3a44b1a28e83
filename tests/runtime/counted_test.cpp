// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduces that go on without ranks that are late: the reliable bits where nobody is, the same
/// bits on all ranks in any case, and never less than the budget leaves.
#include "runtime/counted/counted_sums.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "algorithms/registry.hpp"
#include "tests/runtime/foretold.hpp"
#include "tests/runtime/support.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime {
namespace {

using ::testing::HasSubstr;
using Sums = std::vector<std::vector<float>>;  // by sum

Schedule all_reduce(const std::string& network, const std::string& algorithm) {
  return make_schedule(algorithm, make_topology(network), Collective::AllReduce);
}

std::vector<float> own_of(std::uint32_t rank, std::uint64_t sum, std::size_t numbers) {
  std::mt19937 random(17 * rank + 1000 * static_cast<unsigned>(sum) + 1);
  std::vector<float> values(numbers);
  for (float& value : values) value = static_cast<float>(random()) * 0x1p-30F - 2;
  return values;
}

/// By the definition of a schedule, at rank 0.
std::vector<float> replayed_sum(const Schedule& schedule, std::uint64_t sum, std::size_t numbers) {
  Sums values;
  for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
    values.push_back(own_of(rank, sum, numbers));
  }
  const std::vector<ElementRange> ranges = chunk_ranges(schedule, numbers);
  for (std::uint32_t step = 0; step < schedule.num_steps(); ++step) {
    const Sums before = values;
    for (const Transfer& transfer : schedule.transfers) {
      if (transfer.step != step) continue;
      const ElementRange& range = ranges[transfer.chunk];
      for (std::uint64_t i = range.begin; i < range.begin + range.count; ++i) {
        float& to = values[index(transfer.dst)][i];
        const float from = before[index(transfer.src)][i];
        to = transfer.op == Op::Reduce ? to + from : from;
      }
    }
  }
  return values[0];
}

struct Network {
  std::string topology, algorithm;
};

class CountedAllReduceOf : public ::testing::TestWithParam<Network> {};

TEST_P(CountedAllReduceOf, RanksInTimeIsTheReliableOne) {
  const Schedule schedule = all_reduce(GetParam().topology, GetParam().algorithm);
  const std::array<std::size_t, 4> tensors = {1, 40, 0, 5003};
  constexpr std::uint64_t kSums = 5;
  std::vector<Sums> expected;
  for (const std::size_t numbers : tensors) {
    Sums& of_tensor = expected.emplace_back();
    for (std::uint64_t sum = 0; sum < kSums; ++sum) {
      of_tensor.push_back(replayed_sum(schedule, sum, numbers));
    }
  }
  test::run_ranks(schedule.ranks, [&](const std::shared_ptr<Bootstrap>& job) {
    // Long enough that nobody is late.
    const LossBounds bounds{.budget = 0.5, .deadline = Deadline(20'000)};
    CountedAllReduce all_reduce(job, schedule, tensors, bounds, "loopback");
    for (std::uint64_t sum = 0; sum < kSums; ++sum) {
      for (std::size_t t = 0; t < tensors.size(); ++t) {
        all_reduce.contribute(t, own_of(index(job->seat()), sum, tensors[t]));
      }
      for (std::size_t t = tensors.size(); t-- > 0;) {
        std::vector<float> result(tensors[t]);
        const LossCount count = all_reduce.wait(t, result);
        EXPECT_EQ(count.lost, 0U);
        EXPECT_EQ(result, expected[t][sum]);
      }
    }
    all_reduce.finish();
  });
}

INSTANTIATE_TEST_SUITE_P(Networks, CountedAllReduceOf,
                         ::testing::Values(Network{"torus:4x2", "multitree"},
                                           Network{"mesh:3x3", "allreduce-optimal"},
                                           Network{"ring:4", "ring"}, Network{"ring:1", "ring"},
                                           Network{"full:2", "multitree"}),
                         [](const auto& one) { return "Network" + std::to_string(one.index); });

/// What rank 0 has sent before it is lost counts, though rank 1 hears of the loss first.
TEST(CountedAllReduce, IsOverWhoeverIsLostBehindIt) {
  const Schedule schedule = all_reduce("full:2", "multitree");
  const std::array<std::size_t, 1> tensors = {40};
  std::promise<void> waits, gone;
  auto is_gone = gone.get_future().share();
  test::run_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    const bool ends = job->seat() == Seat{0};
    bool in_wait = false, told = false;
    const auto foretold = [&]() -> std::optional<std::string> {
      if (ends || !in_wait) return std::nullopt;
      if (!std::exchange(told, true)) {
        waits.set_value();
        is_gone.wait();
      }
      return "rank 0 died";
    };
    const LossBounds bounds{.budget = 0.5, .deadline = Deadline(20'000)};
    CountedAllReduce sums(std::make_shared<test::Foretold>(job, foretold), schedule, tensors,
                          bounds, "loopback");
    std::vector<float> result(tensors[0]);
    if (ends) waits.get_future().wait();
    in_wait = true;
    sums.contribute(0, own_of(index(job->seat()), 0, tensors[0]));
    sums.wait(0, result);
    if (ends) gone.set_value();
    EXPECT_EQ(result, replayed_sum(schedule, 0, tensors[0]));
  });
}

/// Whoever is late, at random: all ranks have the same bits, and each number its contributions.
TEST(CountedAllReduce, OfLateRanksKeepsItsBudget) {
  const Schedule schedule = all_reduce("torus:4x2", "multitree");
  constexpr std::size_t kNumbers = 997;
  constexpr std::uint64_t kSums = 30;
  std::mutex mutex;
  std::vector<Sums> results(schedule.ranks);
  std::uint64_t lost = 0, late = 0;
  test::run_ranks(schedule.ranks, [&](const std::shared_ptr<Bootstrap>& job) {
    const std::array<std::size_t, 1> tensors = {kNumbers};
    const LossBounds bounds{.budget = 0.25, .deadline = Deadline(4)};
    CountedAllReduce all_reduce(job, schedule, tensors, bounds, "loopback");
    std::mt19937 random(index(job->seat()));
    Sums own;
    std::uint64_t missing = 0;
    for (std::uint64_t sum = 0; sum < kSums; ++sum) {
      if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(random() % 12));
      // One number a contribution: what is missing shows.
      all_reduce.contribute(0, std::vector<float>(kNumbers, 1.0F));
      const LossCount count = all_reduce.wait(0, own.emplace_back(kNumbers));
      EXPECT_GE(count.least_count, 6U);
      EXPECT_LE(count.lost, 2 * kNumbers);
      missing += count.lost;
      for (const float value : own.back()) EXPECT_NEAR(value, 8, 1e-5);
    }
    all_reduce.finish();
    const std::scoped_lock lock(mutex);
    results[index(job->seat())] = std::move(own);
    lost = missing;  // the same at all ranks, as results are
    late += all_reduce.late();
  });
  for (const Sums& rank : results) EXPECT_EQ(rank, results[0]);
  EXPECT_GT(lost, 0U);
  EXPECT_GT(late, 0U);
}

/// Sums of different ranks' numbers: bits differ by who is late, and not by who asks.
TEST(CountedAllReduce, GoesOnWithoutAStraggler) {
  const Schedule schedule = all_reduce("mesh:2x2", "multitree");
  constexpr std::size_t kNumbers = 4096;
  std::mutex mutex;
  std::vector<Sums> results(4);
  test::run_ranks(4, [&](const std::shared_ptr<Bootstrap>& job) {
    const std::array<std::size_t, 1> tensors = {kNumbers};
    const LossBounds bounds{.budget = 0.25, .deadline = Deadline(10)};
    CountedAllReduce all_reduce(job, schedule, tensors, bounds, "loopback");
    const bool straggles = job->seat() == Seat{3};
    Sums own;
    for (std::uint64_t sum = 0; sum < 3; ++sum) {
      if (straggles && sum == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      all_reduce.contribute(0, own_of(index(job->seat()), sum, kNumbers));
      const LossCount count = all_reduce.wait(0, own.emplace_back(kNumbers));
      if (sum == 1) {
        EXPECT_EQ(count.least_count, 3U);
        EXPECT_EQ(count.lost, kNumbers);
      }
    }
    all_reduce.finish();
    const std::scoped_lock lock(mutex);
    results[index(job->seat())] = std::move(own);
  });
  for (const Sums& rank : results) EXPECT_EQ(rank, results[0]);
  // The mean of the other three.
  for (std::size_t i = 0; i < kNumbers; ++i) {
    float sum = 0;
    for (std::uint32_t rank = 0; rank < 3; ++rank) sum += own_of(rank, 1, kNumbers)[i];
    ASSERT_NEAR(results[0][1][i], sum * 4 / 3, 1e-4);
    if (i > 8) break;  // own_of() is slow
  }
}

TEST(CountedAllReduce, WaitsForMoreThanTheBudget) {
  const Schedule schedule = all_reduce("mesh:2x2", "multitree");
  test::run_ranks(4, [&](const std::shared_ptr<Bootstrap>& job) {
    const std::array<std::size_t, 1> tensors = {100};
    // Less than one of four: nobody may be missing.
    CountedAllReduce all_reduce(job, schedule, tensors, {.budget = 0.2, .deadline = Deadline(1)},
                                "loopback");
    if (job->seat() == Seat{2}) std::this_thread::sleep_for(std::chrono::milliseconds(60));
    const std::uint32_t rank = index(job->seat());
    all_reduce.contribute(0, own_of(rank, 0, 100));
    std::vector<float> sum(100);
    EXPECT_EQ(all_reduce.wait(0, sum).lost, 0U);
    all_reduce.finish();
  });
}

TEST(CountedAllReduce, SaysWhatItWaitedFor) {
  const Schedule schedule = all_reduce("full:2", "multitree");
  const auto errors = test::try_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    const std::array<std::size_t, 1> tensors = {10};
    CountedAllReduce all_reduce(job, schedule, tensors, {.timeout = Deadline(200)}, "loopback");
    if (job->seat() == Seat{1}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      return;
    }
    all_reduce.contribute(0, std::vector<float>(10));
    std::vector<float> sum(10);
    all_reduce.wait(0, sum);
  });
  EXPECT_THAT(test::message_of(errors[0]),
              HasSubstr("rank 0: waited 200 ms for the sum of tensor 0: 1 of "));
}

/// Sums of another tensor, which go on without rank 0, come to it all the time.
TEST(CountedAllReduce, WaitsNoLongerWhereMessagesComeAllTheTime) {
  const Schedule schedule = all_reduce("full:3", "multitree");
  constexpr std::chrono::seconds kTraffic{8}, kSoon{4};
  std::atomic<bool> over{false};
  const auto errors = test::try_ranks(3, [&](const std::shared_ptr<Bootstrap>& job) {
    const std::array<std::size_t, 2> tensors = {9, 9};
    const LossBounds bounds{
        .budget = 0.5, .deadline = Deadline(1), .timeout = Deadline(1000), .most_behind = 100'000};
    CountedAllReduce all_reduce(job, schedule, tensors, bounds, "loopback");
    std::vector<float> sum(9);
    const auto begin = std::chrono::steady_clock::now();
    const auto time = [&] { return std::chrono::steady_clock::now() - begin; };
    if (job->seat() == Seat{0}) {
      all_reduce.contribute(0, sum);
      try {
        all_reduce.wait(0, sum);  // of which the other two know nothing
      } catch (const Error&) {
        over = true;
        EXPECT_LT(time(), kSoon);
        throw;
      }
    }
    while (!over && time() < kTraffic) {
      all_reduce.contribute(1, sum);
      all_reduce.wait(1, sum);
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  });
  EXPECT_THAT(test::message_of(errors[0]), HasSubstr("waited 1000 ms for the sum of tensor 0"));
}

TEST(CountedAllReduce, RefusesWhatItCannotDo) {
  const auto refuses = [](const Schedule& schedule, const LossBounds& bounds,
                          const std::string& words) {
    const auto errors = test::try_ranks(schedule.ranks, [&](const std::shared_ptr<Bootstrap>& job) {
      const std::array<std::size_t, 1> tensors = {10};
      const CountedAllReduce all_reduce(job, schedule, tensors, bounds, "loopback");
    });
    EXPECT_THAT(test::message_of(errors[0]), HasSubstr(words));
  };
  refuses(all_reduce("full:4", "recursive-doubling"), {}, "by trees");
  refuses(make_schedule("ring", make_topology("ring:3"), Collective::AllGather), {}, "all-reduce");
  refuses(all_reduce("ring:3", "ring"), {.budget = 1}, "from 0 to below 1");
  refuses(all_reduce("ring:3", "ring"), {.deadline = Deadline(-1)}, "a deadline of 0 ms or more");
}

}  // namespace
}  // namespace multitree::runtime
