// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules that change while they are used: sums stay right, and all ranks change alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "algorithms/registry.hpp"
#include "runtime/tuning.hpp"
#include "tests/runtime/support.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime {
namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

CommunicatorOptions by_messages() {
  CommunicatorOptions options;
  options.transport = "loopback";
  options.host_path = HostPath::Off;
  return options;
}

/// Three algorithms that nothing tells apart.
PlansBySize three(const Topology& topology) {
  std::map<Collective, std::vector<SizedSpec>> candidates;
  std::vector<SizedSchedules> plans;
  for (const Collective collective : {Collective::AllReduce, Collective::Broadcast}) {
    candidates.emplace(
        collective,
        std::vector<SizedSpec>{
            {"ring", kAll, {{"ring", 1e-2}, {"multitree", 1e-2}, {"double-binary-tree", 1e-2}}}});
    plans.push_back(for_all_sizes(make_schedule("ring", topology, collective)));
  }
  PlansBySize all(std::move(plans));
  all.refining = refining_of(std::move(candidates), topology);
  return all;
}

bool all_were_tried(const Refined& refined) {
  return std::ranges::all_of(refined.rivals,
                             [](const Refined::Rival& rival) { return rival.looks != 0; });
}

TEST(Refiner, TriesAllAndSumsAreRightAllTheTime) {
  const Topology topology = make_topology("ring:4");
  std::mutex mutex;
  std::vector<std::vector<Refined>> found;
  test::run_ranks(4, [&](const std::shared_ptr<Bootstrap>& job) {
    Communicator communicator(job, three(topology), by_messages());
    EXPECT_TRUE(communicator.refined().empty());
    // How many calls that takes depends on what the first comparison took.
    for (int round = 0; round < 500'000; ++round) {
      // What is compared is the same everywhere, and so all ranks stop at once.
      const auto refined = communicator.refined();
      if (refined.size() == 2 && std::ranges::all_of(refined, all_were_tried)) break;
      for (const Collective collective : {Collective::AllReduce, Collective::Broadcast}) {
        test::check_collective(communicator, collective, Rank{0}, 64, DataType::Float32,
                               ReduceOp::Sum, false);
      }
    }
    // Those that do not wait run what was predicted, whatever is in use by now.
    float in = 1;
    float out = 0;
    communicator.start_all_reduce(&in, &out, 1, DataType::Float32, ReduceOp::Sum).wait();
    EXPECT_EQ(out, 4);
    const std::scoped_lock lock(mutex);
    found.push_back(communicator.refined());
  });
  ASSERT_EQ(found.size(), 4U);
  for (const std::vector<Refined>& of_rank : found) {
    ASSERT_EQ(of_rank.size(), 2U);
    for (std::size_t i = 0; i < of_rank.size(); ++i) {
      EXPECT_TRUE(all_were_tried(of_rank[i])) << of_rank[i].words();
      EXPECT_EQ(of_rank[i].words(), found.front()[i].words());
      EXPECT_NE(of_rank[i].words().find("looks"), std::string::npos) << of_rank[i].words();
    }
  }
}

TEST(Refiner, WithoutRivalsOrWithAnotherTypeOnTheWireNothingIsCompared) {
  const Topology topology = make_topology("ring:2");
  test::run_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    PlansBySize plans({for_all_sizes(make_schedule("ring", topology, Collective::AllReduce))});
    plans.refining =
        refining_of({{Collective::AllReduce, {{"ring", kAll, {{"ring", 1e-3}}}}}}, topology);
    Communicator communicator(job, std::move(plans), by_messages());
    test::check_collective(communicator, Collective::AllReduce, Rank{0}, 64, DataType::Float32,
                           ReduceOp::Sum, false);
    EXPECT_TRUE(communicator.refined().empty());
  });
}

/// Comparisons are calls of their own, which nobody has to repeat.
TEST(Refiner, ComparisonsDoNotCountAsCalls) {
  const Topology topology = make_topology("ring:3");
  test::try_ranks(3, [&](const std::shared_ptr<Bootstrap>& job) {
    auto communicator = std::make_unique<Communicator>(job, three(topology), by_messages());
    for (int call = 0; call < 100; ++call) {
      test::check_collective(*communicator, Collective::AllReduce, Rank{0}, 64, DataType::Float32,
                             ReduceOp::Sum, false);
    }
    if (job->seat() == Seat{2}) return communicator->abort("leaves");
    const auto left = communicator->shrink(
        [](std::span<const Seat> survivors) {
          const Topology rest = make_topology("ring:" + std::to_string(survivors.size()));
          return PlansBySize({for_all_sizes(make_schedule("ring", rest, Collective::AllReduce))});
        },
        Deadline{2'000});
    EXPECT_EQ(left->finished_before(), 100U);
    EXPECT_TRUE(left->refined().empty());
  });
}

/// Who makes another call when times are compared is told so, as with any other call.
TEST(Refiner, ARankThatDoesNotCompareIsNamed) {
  const Topology topology = make_topology("ring:2");
  const auto errors = test::try_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    CommunicatorOptions options = by_messages();
    options.timeout = Deadline{3'000};
    Communicator communicator(job, three(topology), options);
    // When times are first compared depends on how long calls take.
    for (int call = 0; call < 20'000; ++call) {
      // Calls that are not refined take no part in the round.
      if (call >= 20 && job->seat() == Seat{1}) {
        const auto in = static_cast<float>(test::input(ReduceOp::Sum, 1, 0));
        float out = 0;
        communicator.start_all_reduce(&in, &out, 1, DataType::Float32, ReduceOp::Sum).wait();
        continue;
      }
      test::check_collective(communicator, Collective::AllReduce, Rank{0}, 1, DataType::Float32,
                             ReduceOp::Sum, false);
    }
  });
  for (const std::exception_ptr& error : errors) {
    EXPECT_NE(test::message_of(error).find("calls allreduce of 5 uint64"), std::string::npos)
        << test::message_of(error);
  }
}

/// Times are compared by an all-reduce where no all-reduce is served.
TEST(Refiner, ABroadcastAloneIsRefined) {
  const Topology topology = make_topology("ring:3");
  test::run_ranks(3, [&](const std::shared_ptr<Bootstrap>& job) {
    PlansBySize plans({for_all_sizes(make_schedule("ring", topology, Collective::Broadcast))});
    plans.refining = refining_of(
        {{Collective::Broadcast, {{"ring", kAll, {{"ring", 1e-2}, {"multitree", 1e-2}}}}}},
        topology);
    Communicator communicator(job, std::move(plans), by_messages());
    // Where the first sums of times happen to take long, 100 calls compare nothing.
    const auto is_refined = [&] {
      const std::vector<Refined> all = communicator.refined();
      return !all.empty() && all.front().seconds != 0;
    };
    for (int call = 0; call < 10'000 && !is_refined(); ++call) {
      test::check_collective(communicator, Collective::Broadcast, Rank{0}, 64, DataType::Float32,
                             ReduceOp::Sum, false);
    }
    EXPECT_EQ(communicator.refined().size(), 1U);
    EXPECT_TRUE(is_refined());
  });
}

TEST(Refiner, AutoNamesRivals) {
  const Topology topology = make_topology("torus:2x2");
  test::run_ranks(4, [&](const std::shared_ptr<Bootstrap>& job) {
    AutoOptions wanted;
    wanted.measure = false;
    wanted.refine = true;
    const auto communicator = make_auto_communicator(job, topology, wanted, by_messages());
    for (const std::size_t count : {1U, 3U, 1000U, 100'000U}) {
      test::check_collective(*communicator, Collective::AllReduce, Rank{0}, count,
                             DataType::Float32, ReduceOp::Sum, false);
    }
    for (const Refined& refined : communicator->refined()) {
      EXPECT_EQ(refined.calls, 1U);
      EXPECT_NE(refined.words().find("as predicted"), std::string::npos) << refined.words();
    }
  });
}

}  // namespace
}  // namespace multitree::runtime
