// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exact sums between ranks: every way of summing gives the same bits.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "exact_support.hpp"
#include "runtime/communicator.hpp"
#include "support.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

/// A way in which ranks may sum: an algorithm's schedules, or without messages.
std::unique_ptr<Communicator> open(const std::string& way,
                                   const std::shared_ptr<Bootstrap>& bootstrap) {
  CommunicatorOptions options;
  options.transport = "loopback";
  const std::uint32_t ranks = bootstrap->size();
  if (way == "host") {
    options.host_path = HostPath::Required;
    return std::make_unique<Communicator>(bootstrap, std::vector<Schedule>{}, options);
  }
  const Topology network = make_topology(fmt::format("full:{}", ranks));
  std::vector<Schedule> schedules;
  for (const Collective collective :
       {Collective::AllReduce, Collective::ReduceScatter, Collective::Reduce}) {
    schedules.push_back(make_schedule(way, network, collective, Rank{0}));
  }
  return std::make_unique<Communicator>(bootstrap, std::move(schedules), options);
}

constexpr std::size_t kShard = 1003;

/// All results of all ranks, by what was called.
using Results = std::map<std::string, Bytes>;

Results results_of(const std::string& way, std::uint32_t ranks) {
  std::vector<Results> by_rank(ranks);
  run_ranks(ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto communicator = open(way, bootstrap);
    const std::uint32_t rank = index(communicator->rank());
    Results& results = by_rank[rank];
    for (const DataType type : kFloats) {
      for (const Summing summing : kExact) {
        const std::size_t width = size_of(type);
        const Bytes input = mixed_input(rank, type, kShard * ranks, 18);
        const auto call = [&](Collective collective, const Bytes& send, Bytes& recv, ReduceOp op) {
          Call made{collective,  send.data(),
                    recv.data(), kShard * (is_sharded(collective) ? 1 : ranks),
                    type,        op};
          made.summing = summing;
          return made;
        };
        const auto name = [&](const std::string& what) {
          return fmt::format("{} {} {}", what, to_string(type), to_string(summing));
        };
        Bytes sum(input.size()), mean = input, shard(kShard * width), root(input.size());
        communicator->run(call(Collective::AllReduce, input, sum, ReduceOp::Sum));
        // In place, and with another call that is started before it ends.
        Request request =
            communicator->start(call(Collective::AllReduce, mean, mean, ReduceOp::Avg));
        communicator->run(call(Collective::ReduceScatter, input, shard, ReduceOp::Sum));
        request.wait();
        Bytes inside = input;
        Call in_place = call(Collective::ReduceScatter, inside, inside, ReduceOp::Sum);
        in_place.recv = inside.data() + rank * shard.size();
        const Prepared prepared = communicator->prepare(in_place);
        communicator->start(prepared).wait();
        EXPECT_TRUE(std::equal(shard.begin(), shard.end(), inside.begin() + rank * shard.size()));
        {
          const Request dropped =
              communicator->start(call(Collective::Reduce, input, root, ReduceOp::Sum));
        }
        EXPECT_EQ(input, mixed_input(rank, type, kShard * ranks, 18));
        results[name("sum")] = sum;
        results[name("mean")] = mean;
        results[name("shard")] = shard;
        EXPECT_EQ(root, rank == 0 ? sum : Bytes(root.size()));
      }
    }
  });
  Results all = by_rank[0];
  for (std::uint32_t r = 1; r < ranks; ++r) {
    for (const auto& [name, bytes] : by_rank[r]) {
      if (name.starts_with("shard")) {
        all[name].insert(all[name].end(), bytes.begin(), bytes.end());
      } else {
        EXPECT_EQ(bytes, all[name]) << name << " of rank " << r;
      }
    }
  }
  return all;
}

TEST(ExactSums, AreTheSameBitsInEveryOrder) {
  for (const std::uint32_t ranks : {1U, 3U, 4U, 5U}) {
    const Results expected = results_of("ring", ranks);
    for (const DataType type : kFloats) {
      std::vector<Bytes> inputs;
      for (std::uint32_t r = 0; r < ranks; ++r)
        inputs.push_back(mixed_input(r, type, kShard * ranks, 18));
      for (const Summing summing : kExact) {
        const std::string name = fmt::format("sum {} {}", to_string(type), to_string(summing));
        EXPECT_EQ(expected.at(name), sum_by_definition(inputs, type, summing)) << name;
        if (summing == Summing::Elements) {
          // In blocks a shard has blocks of its own.
          EXPECT_EQ(expected.at("shard" + name.substr(3)), expected.at(name));
        }
      }
    }
    for (const std::string way : {"recursive-doubling", "multitree", "halving-doubling", "host"}) {
      EXPECT_TRUE(results_of(way, ranks) == expected) << way << " " << ranks;
    }
  }
}

/// Ranks that bring nothing change nothing.
TEST(ExactSums, DoNotDependOnTheNumberOfRanks) {
  Bytes sums[2];
  for (const std::uint32_t ranks : {3U, 6U}) {
    run_ranks(ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      const auto communicator = open("multitree", bootstrap);
      const std::uint32_t rank = index(communicator->rank());
      const Bytes input =
          rank < 3 ? mixed_input(rank, DataType::Float32, 999, 40) : Bytes(999 * sizeof(float));
      Bytes sum(input.size());
      Call call{Collective::AllReduce, input.data(), sum.data(), 999, DataType::Float32};
      call.summing = Summing::Blocks;
      communicator->run(call);
      if (rank == 0) sums[ranks / 6] = sum;
    });
  }
  EXPECT_EQ(sums[0], sums[1]);
}

TEST(ExactSums, LeaveIntegersAndOtherOperatorsAsTheyAre) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto communicator = open("ring", bootstrap);
    for (const DataType type : {DataType::Int32, DataType::Float32}) {
      check_collective(*communicator, Collective::AllReduce, Rank{0}, 100, type, ReduceOp::Max,
                       false);
    }
    std::int32_t value = 5;
    Call call{Collective::AllReduce, &value, &value, 1, DataType::Int32};
    call.summing = Summing::Elements;
    communicator->run(call);
    EXPECT_EQ(value, 10);
    float empty = 1;
    call = {Collective::AllReduce, &empty, &empty, 0, DataType::Float32};
    call.summing = Summing::Elements;
    communicator->run(call);
    EXPECT_EQ(empty, 1);
  });
}

TEST(ExactSums, RefuseWhatTheyCannotBe) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto communicator = open("ring", bootstrap);
    float value = 5;
    Call call{Collective::AllReduce, &value, &value, 1, DataType::Float32};
    call.summing = Summing::Elements;
    call.wire = WireType::Float16;
    try {
      communicator->run(call);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("allreduce with exact sums: expected host "
                                                     "memory and numbers as they are on the wire, "
                                                     "found half"));
    }
    call.wire = WireType::AsIs;
    communicator->run(call);
    EXPECT_EQ(value, 10);
  });
}

/// After an exact sum, what has finished is counted in the user's calls.
TEST(ExactSums, CountAsOneCall) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto communicator = open("ring", bootstrap);
    float value = 1;
    Call call{Collective::AllReduce, &value, &value, 1, DataType::Float32};
    call.summing = Summing::Elements;
    for (int i = 0; i < 3; ++i) communicator->run(call);
    const std::uint32_t ranks = bootstrap->size();
    const auto next = communicator->shrink(
        [ranks](std::span<const Seat>) {
          std::vector<SizedSchedules> plans;
          plans.push_back(for_all_sizes(ring_schedule(Collective::AllReduce, ranks)));
          return PlansBySize(std::move(plans));
        },
        Deadline(10'000));
    EXPECT_EQ(next->finished_before(), 3U);
  });
}

}  // namespace
}  // namespace multitree::runtime::test
