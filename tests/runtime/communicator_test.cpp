// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives over threads: every collective, type, operator, size and way of passing buffers.
#include "runtime/communicator.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

CommunicatorOptions over(const std::string& transport, std::size_t segment_bytes = 1024) {
  CommunicatorOptions options;
  options.transport = transport;
  options.segment_bytes = segment_bytes;
  return options;
}

CommunicatorOptions loopback(std::size_t segment_bytes = 1024) {
  return over("loopback", segment_bytes);
}

/// A transport, and how many ranks.
class RingOfRanks : public ::testing::TestWithParam<std::tuple<std::string, std::uint32_t>> {};

TEST_P(RingOfRanks, EveryCollectiveTypeOperatorAndSize) {
  const std::string transport = std::get<0>(GetParam());
  const std::uint32_t n = std::get<1>(GetParam());
  const Rank root{n / 2};
  run_ranks(n, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, ring_schedules(n, root), over(transport, 256));
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

/// What has no schedule from the beginning gets one when it is called, of whatever root, and once.
TEST(Plans, AreMadeOnDemandForEveryRoot) {
  constexpr std::uint32_t kRanks = 5;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    PlansBySize plans({{{ring_schedule(Collective::AllReduce, kRanks)}}});
    std::uint32_t made = 0;
    plans.on_demand = [&](Collective collective, Rank root) {
      ++made;
      return for_all_sizes(ring_schedule(collective, kRanks, root));
    };
    Communicator communicator(bootstrap, plans, loopback());
    const std::uint32_t self = index(communicator.rank());
    for (int round = 0; round < 2; ++round) {
      for (std::uint32_t r = 0; r < kRanks; ++r) {
        const Rank root{r};
        std::int32_t value = self == r ? static_cast<std::int32_t>(100 + r) : -1, sum = -1;
        communicator.run(
            {Collective::Broadcast, &value, &value, 1, DataType::Int32, ReduceOp::Sum, root});
        EXPECT_EQ(value, 100 + static_cast<std::int32_t>(r));
        const auto mine = static_cast<std::int32_t>(self);
        communicator.run(
            {Collective::Reduce, &mine, &sum, 1, DataType::Int32, ReduceOp::Sum, root});
        EXPECT_EQ(sum, self == r ? 10 : -1);
      }
      EXPECT_EQ(made, 2 * kRanks);
    }
    EXPECT_THROW(communicator.run({Collective::Broadcast, &made, &made, 1, DataType::Int32,
                                   ReduceOp::Sum, Rank{kRanks}}),
                 Error);
  });
}

/// A schedule that moves nothing leaves every rank with its own input: that shows which one ran.
TEST(Plans, RunTheScheduleForTheSize) {
  constexpr std::uint32_t kRanks = 3;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const Schedule ring = ring_schedule(Collective::AllReduce, kRanks);
    Schedule nothing = ring;
    nothing.transfers.clear();
    nothing.routes.clear();
    const PlansBySize plans({{{nothing, 64}, {ring}}});
    Communicator communicator(bootstrap, plans, loopback());
    for (const std::size_t count : {1, 16, 17, 1000}) {
      std::vector<std::int32_t> data(count, 1);
      communicator.all_reduce(data.data(), data.data(), count, DataType::Int32, ReduceOp::Sum);
      EXPECT_EQ(data.front(), count * 4 <= 64 ? 1 : 3) << count;
    }
  });
}

/// The size of a gathering is that of all shards.
TEST(Plans, CountTheWholeVector) {
  constexpr std::uint32_t kRanks = 4;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const Schedule ring = ring_schedule(Collective::AllGather, kRanks);
    Schedule nothing = ring;
    nothing.transfers.clear();
    nothing.routes.clear();
    Communicator communicator(bootstrap, PlansBySize({{{nothing, 64}, {ring}}}), loopback());
    for (const std::size_t count : {4, 5}) {
      std::vector<std::int32_t> all(count * kRanks, 0);
      const std::vector<std::int32_t> own(count, 7);
      communicator.all_gather(own.data(), all.data(), count, DataType::Int32);
      EXPECT_EQ(std::count(all.begin(), all.end(), 7), count == 4 ? 4 : 20);
    }
  });
}

TEST_P(RingOfRanks, LargeMessagesInManySegments) {
  const std::string transport = std::get<0>(GetParam());
  const std::uint32_t n = std::get<1>(GetParam());
  run_ranks(n, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    for (const std::size_t segment : {1UL, 16384UL, 1UL << 22}) {
      Communicator communicator(bootstrap, ring_schedules(n), over(transport, segment));
      const std::size_t count = segment == 1 ? 1000 : 200'003;
      for (const Collective collective : all_collectives()) {
        check_collective(communicator, collective, Rank{0}, count, DataType::Float32, ReduceOp::Sum,
                         false);
      }
    }
  });
}

TEST_P(RingOfRanks, SeveralOutstandingAtOnce) {
  const std::string transport = std::get<0>(GetParam());
  const std::uint32_t n = std::get<1>(GetParam());
  run_ranks(n, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, ring_schedules(n), over(transport));
    constexpr std::size_t kCount = 5000;
    std::vector<Values> data;
    for (std::size_t k = 0; k < 6; ++k) {
      data.emplace_back(DataType::Int32, kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        data[k].set(i, input(ReduceOp::Sum, index(bootstrap->seat()), i + k));
      }
    }
    std::vector<Request> requests;
    for (Values& one : data) {
      requests.push_back(communicator.start_all_reduce(one.data(), one.data(), kCount,
                                                       DataType::Int32, ReduceOp::Sum));
    }
    // Each rank finishes them in another order, by test() and by wait(), and drops one.
    requests[0] = Request();
    for (std::size_t k = 0; k < 5; ++k) {
      Request& request = requests[1 + (k + index(bootstrap->seat())) % 5];
      if (k % 2 == 0) request.wait();
      while (!request.test()) {
      }
    }
    communicator.barrier();
    for (std::size_t k = 0; k < 6; ++k) {
      for (std::size_t i = 0; i < kCount; ++i) {
        if (data[k].get(i) != expected(DataType::Int32, ReduceOp::Sum, n, i + k)) {
          throw std::runtime_error("wrong sum");
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingOfRanks,
                         ::testing::Combine(::testing::Values("loopback", "tcp"),
                                            ::testing::Range(1U, 9U)),
                         [](const auto& one) {
                           return fmt::format("{}{}", std::get<0>(one.param),
                                              std::get<1>(one.param));
                         });

/// Several reductions into one rank in one step, and an exchange of one chunk in one step.
Schedule star_and_exchange() {
  Schedule schedule;
  schedule.ranks = 4;
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 1)};
  for (const std::uint32_t leaf : {1, 2, 3})
    schedule.add(0, Op::Reduce, 0, Rank{leaf}, Rank{0}, {});
  schedule.add(1, Op::Copy, 0, Rank{0}, Rank{1}, {});
  schedule.add(2, Op::Copy, 0, Rank{0}, Rank{2}, {});
  schedule.add(2, Op::Copy, 0, Rank{1}, Rank{0}, {});
  schedule.add(2, Op::Copy, 0, Rank{0}, Rank{1}, {});
  schedule.add(3, Op::Copy, 0, Rank{1}, Rank{3}, {});
  schedule.canonicalize();
  return schedule;
}

TEST(Communicator, AccumulatesInListOrderWhateverArrivesFirst) {
  // In float, 1e8 + 1 = 1e8: the result tells the order (0 + 1) + 2) + 3.
  const std::vector<float> inputs{1e8F, 1.0F, -1e8F, 3.0F};
  float want = inputs[0];
  for (const std::size_t r : {1, 2, 3}) want += inputs[r];
  for (int round = 0; round < 20; ++round) {
    run_ranks(4, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      const std::uint32_t rank = index(bootstrap->seat());
      Communicator communicator(bootstrap, {star_and_exchange()}, loopback());
      // The later in the list, the earlier here.
      std::this_thread::sleep_for(std::chrono::milliseconds(rank == 0 ? 0 : 4 - rank));
      std::vector<float> data(10'000, inputs[rank]);
      communicator.all_reduce(data.data(), data.data(), data.size(), DataType::Float32,
                              ReduceOp::Sum);
      for (const float x : data) {
        if (x != want) throw std::runtime_error("another order");
      }
    });
  }
}

class OfTransport : public ::testing::TestWithParam<std::string> {};

TEST_P(OfTransport, DeadRankIsNamedWithinTheTimeout) {
  CommunicatorOptions options = over(GetParam());
  options.timeout = Deadline(300);
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = try_ranks(4, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, ring_schedules(4), options);
    std::vector<float> data(100'000, 1.0F);
    communicator.barrier();  // all have met
    if (bootstrap->seat() == Seat{2}) throw std::runtime_error("stumbled");
    communicator.all_reduce(data.data(), data.data(), data.size(), DataType::Float32,
                            ReduceOp::Sum);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  for (const std::size_t r : {0, 1, 3}) {
    EXPECT_THAT(message_of(errors[r]), HasSubstr("rank 2 gave up: left by an exception"));
    EXPECT_THAT(
        message_of(errors[r]),
        ::testing::MatchesRegex(
            "rank [0-9]: allreduce #0 of 100000 float, sum.*: .* was waiting to (send|receive) "
            "chunk [0-9] segment [0-9]+ (to|from) rank [0-9] at step [0-9]"));
  }
}

TEST_P(OfTransport, SilentRankIsATimeout) {
  CommunicatorOptions options = over(GetParam());
  options.timeout = Deadline(300);
  std::latch rank_0_is_done(1);
  const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, ring_schedules(2), options);
    std::vector<float> data(100, 1.0F);
    if (bootstrap->seat() == Seat{1}) return rank_0_is_done.wait();
    try {
      communicator.all_reduce(data.data(), data.data(), data.size(), DataType::Float32,
                              ReduceOp::Sum);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Timeout);
      EXPECT_THAT(error.what(),
                  StartsWith("rank 0: allreduce #0: no progress for 300 ms while waiting to "
                             "receive chunk 0 segment 0 from rank 1 at step 0; rank 1 does not "
                             "answer: it computes or is stopped, while rank 0 waits for it in "
                             "allreduce #0 of 100 float, sum"));
      EXPECT_THROW(communicator.barrier(), Error);
      rank_0_is_done.count_down();
      throw;
    }
    rank_0_is_done.count_down();
  });
  EXPECT_NE(errors[0], nullptr);
}

INSTANTIATE_TEST_SUITE_P(Communicator, OfTransport, ::testing::Values("loopback", "tcp"),
                         [](const auto& one) { return one.param; });

TEST(Communicator, RefusesWrongArguments) {
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto refuses = [&](const auto& call, const std::string& message) {
      EXPECT_THAT(call, ::testing::ThrowsMessage<Error>(HasSubstr(message)));
    };
    refuses([&] { Communicator(bootstrap, {ring_schedule(Collective::AllReduce, 3)}, loopback()); },
            "allreduce schedule \"ring by hand\" is for 3 ranks, but the job has 2");
    refuses(
        [&] {
          Communicator(bootstrap, {star_and_exchange(), star_and_exchange()}, loopback());
        },
        "is for 4 ranks");
    CommunicatorOptions carrier_pigeon;
    carrier_pigeon.transport = "pigeon";
    carrier_pigeon.host_path = HostPath::Off;  // which needs no transport
    refuses([&] { Communicator(bootstrap, {}, carrier_pigeon); },
            "unknown transport \"pigeon\"; one of: auto loopback tcp ucx");
    const std::vector<Schedule> some{ring_schedule(Collective::AllReduce, 2),
                                     ring_schedule(Collective::ReduceScatter, 2)};
    Communicator c(bootstrap, some, loopback());
    std::vector<float> data(100);
    float* p = data.data();
    const auto sum = ReduceOp::Sum;
    refuses([&] { c.all_reduce(nullptr, p, 10, DataType::Float32, sum); }, "send is null");
    refuses([&] { c.all_reduce(p, nullptr, 10, DataType::Float32, sum); }, "recv is null");
    refuses([&] { c.all_reduce(p, p + 5, 10, DataType::Float32, sum); }, "overlap");
    refuses([&] { c.reduce_scatter(p, p + 3, 10, DataType::Float32, sum); }, "overlap");
    refuses([&] { c.all_gather(p, p, 10, DataType::Float32); }, "no allgather schedule");
    refuses([&] { c.all_reduce(p, p, SIZE_MAX / 2, DataType::Float32, sum); }, "address space");
    // None of this has spoilt it.
    check_collective(c, Collective::AllReduce, Rank{0}, 33, DataType::Float32, sum, false);
    c.all_reduce(nullptr, nullptr, 0, DataType::Float32, sum);
  });
}

TEST(Communicator, OneRankNeedsNoSchedule) {
  Communicator communicator(make_in_process_bootstraps(1)[0], {});
  for (const Collective collective : all_collectives()) {
    check_collective(communicator, collective, Rank{0}, 100, DataType::Int32, ReduceOp::Avg, false);
  }
}

PlansBySize rings_for(std::span<const Seat> survivors) {
  std::vector<SizedSchedules> plans;
  for (Schedule& schedule : ring_schedules(static_cast<std::uint32_t>(survivors.size()))) {
    plans.push_back(for_all_sizes(std::move(schedule)));
  }
  return PlansBySize(std::move(plans));
}

class Shrink : public ::testing::TestWithParam<std::string> {};

/// Ranks leave one after the other in the middle of an all-reduce, until one is left.
TEST_P(Shrink, GoesOnWithTheSurvivors) {
  constexpr std::uint32_t kRanks = 5;
  constexpr std::size_t kCount = 3000;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const std::uint32_t self = index(bootstrap->seat());
    auto communicator =
        std::make_unique<Communicator>(bootstrap, ring_schedules(kRanks), over(GetParam()));
    for (std::uint32_t left = kRanks; left > 1; --left) {
      check_collective(*communicator, Collective::AllReduce, Rank{0}, kCount, DataType::Float32,
                       ReduceOp::Sum, true);
      // Who leaves must not be noticed before the others are through with this.
      communicator->barrier();
      // Of the first job, ranks 4, 3, 2, 1 leave in this order.
      try {
        if (self == left - 1) throw std::runtime_error("enough");
        std::vector<float> data(kCount, 1.0F);
        communicator->all_reduce(data.data(), data.data(), kCount, DataType::Float32,
                                 ReduceOp::Sum);
        throw std::logic_error("an all-reduce without one of its ranks has ended");
      } catch (const std::runtime_error& error) {
        if (self == left - 1) {
          communicator->bootstrap()->report_failure("enough");
          return;
        }
        EXPECT_THAT(error.what(), HasSubstr(fmt::format("rank {}", left - 1)));
      }
      communicator = communicator->shrink(rings_for, Deadline(10'000));
      EXPECT_EQ(communicator->size(), left - 1);
      EXPECT_EQ(index(communicator->rank()), self);
    }
    check_collective(*communicator, Collective::AllReduce, Rank{0}, kCount, DataType::Float32,
                     ReduceOp::Sum, false);
  });
}

/// Nobody failed: what is outstanding ends well, and the old communicator says what it is.
TEST_P(Shrink, WithoutAFailureKeepsEverybody) {
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator before(bootstrap, ring_schedules(3), over(GetParam()));
    std::vector<std::int32_t> data(2000, 1);
    const Request request = before.start_all_reduce(data.data(), data.data(), data.size(),
                                                    DataType::Int32, ReduceOp::Sum);
    const auto after = before.shrink(rings_for, Deadline(10'000));
    EXPECT_EQ(after->size(), 3U);
    EXPECT_EQ(std::count(data.begin(), data.end(), 3), 2000);
    check_collective(*after, Collective::AllGather, Rank{0}, 11, DataType::Int32, ReduceOp::Sum,
                     false);
    EXPECT_THAT([&] { before.barrier(); },
                ::testing::ThrowsMessage<Error>(HasSubstr("it was shrunk to another")));
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, Shrink, ::testing::Values("loopback", "tcp"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace multitree::runtime::test
