// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives on a fake device: every route, kind, type and operator, under random delays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "algorithms/registry.hpp"
#include "device_support.hpp"
#include "fake_device.hpp"
#include "random_schedule.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;

CommunicatorOptions cut_for(std::shared_ptr<const device::Device> device, std::size_t segment) {
  CommunicatorOptions options{.transport = "loopback"};
  options.segment_bytes = options.kernel_segment_bytes = segment;
  options.timeout = Deadline(20'000);
  options.device = std::move(device);
  return options;
}

/// A fake for each rank, each with delays of its own.
std::shared_ptr<const device::Device> fake_of(const Bootstrap& bootstrap, std::uint64_t seed,
                                              Reach reach, bool waits = true) {
  FakeOptions options = fake_options(reach, seed * 100 + index(bootstrap.seat()), bootstrap.seat());
  options.waits_for_values = waits;
  return make_fake_device(options);
}

class Routes : public ::testing::TestWithParam<Reach> {};

TEST_P(Routes, EveryCollectiveTypeAndOperator) {
  for (const std::uint32_t n : {1U, 2U, 4U}) {
    const Rank root{n / 2};
    run_ranks(n, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      const auto fake = fake_of(*bootstrap, n, GetParam());
      Communicator communicator(bootstrap, ring_schedules(n, root), cut_for(fake, 512));
      const OwnedStream stream(*fake);
      for (const Collective collective : all_collectives()) {
        const auto ops = all_reduce_ops().first(reduces(collective) ? all_reduce_ops().size() : 1);
        for (const DataType type : all_data_types().first(device::kTypes)) {
          for (const ReduceOp op : ops) {
            check_on_device(communicator, *fake, stream.get(), collective, root, 301, type, op,
                            op == ReduceOp::Max || type == DataType::Int64);
          }
        }
        for (const std::size_t count : {0, 1, 3, 2500}) {
          for (const bool in_place : {false, true}) {
            check_on_device(communicator, *fake, stream.get(), collective, root, count,
                            DataType::Int32, ReduceOp::Sum, in_place, count % 2 == 1);
          }
        }
      }
    });
  }
}

/// Schedules with swaps, overwritten copies and sums that merge in any order.
TEST_P(Routes, RandomSchedulesUnderRandomDelays) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    const std::uint32_t ranks = 2 + seed % 5;
    const Topology topology = make_topology("full:" + std::to_string(ranks));
    const Rank root{seed % ranks};
    std::vector<Schedule> schedules;
    for (const Collective collective : all_collectives()) {
      schedules.push_back(random_schedule(collective, topology, root, seed));
    }
    run_ranks(ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      const auto fake = fake_of(*bootstrap, seed, GetParam());
      Communicator communicator(bootstrap, schedules, cut_for(fake, seed % 2 == 0 ? 1024 : 128));
      const OwnedStream stream(*fake);
      for (const Collective collective : all_collectives()) {
        for (const std::size_t count : {1U, 700U, 5000U}) {
          check_on_device(communicator, *fake, stream.get(), collective, root, count,
                          count == 1 ? DataType::Float16 : DataType::Int64, ReduceOp::Sum,
                          (count + seed) % 3 == 0);
        }
      }
    });
  }
}

TEST_P(Routes, EveryAlgorithm) {
  for (const Algorithm& algorithm : algorithms()) {
    const Topology topology = make_topology("torus:2x3");
    if (algorithm.unsupported(topology)) continue;
    const Schedule schedule = make_schedule(algorithm.name, topology);
    run_ranks(schedule.ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      const auto fake = fake_of(*bootstrap, 3, GetParam());
      Communicator communicator(bootstrap, {schedule}, cut_for(fake, 256));
      const OwnedStream stream(*fake);
      check_on_device(communicator, *fake, stream.get(), Collective::AllReduce, Rank{0}, 3001,
                      DataType::Int32, ReduceOp::Sum, false);
    });
  }
}

/// A chain of collectives on one stream, each on the result of the one before, without any wait;
/// beside it another stream with its own chain, and collectives on host memory.
TEST_P(Routes, StreamsOrderCollectives) {
  constexpr std::uint32_t kRanks = 3;
  constexpr std::size_t kCount = 1000, kRounds = 6;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = fake_of(*bootstrap, 11, GetParam());
    Communicator communicator(bootstrap, ring_schedules(kRanks), cut_for(fake, 512));
    const OwnedStream a(*fake), b(*fake);
    const DeviceBuffer on_a(*fake, kCount * 8), on_b(*fake, kCount * 8), copy(*fake, kCount * 8);
    std::vector<std::int64_t> ones(kCount, 1), result(kCount), host(kCount);
    upload(*fake, on_a.data(), ones.data(), kCount * 8, a.get());
    upload(*fake, on_b.data(), ones.data(), kCount * 8, b.get());
    for (std::size_t round = 0; round < kRounds; ++round) {
      communicator.start_all_reduce(on_a.data(), on_a.data(), kCount, DataType::Int64,
                                    ReduceOp::Sum, Stream{a.get()});
      // The user's own work between two collectives, through another buffer.
      fake->copy(copy.data(), on_a.data(), kCount * 8, a.get());
      fake->copy(on_a.data(), copy.data(), kCount * 8, a.get());
      communicator.start_all_reduce(on_b.data(), on_b.data(), kCount, DataType::Int64,
                                    ReduceOp::Max, Stream{b.get()});
      host.assign(kCount, static_cast<std::int64_t>(round));
      communicator.all_reduce(host.data(), host.data(), kCount, DataType::Int64, ReduceOp::Sum);
      EXPECT_EQ(host[kCount - 1], static_cast<std::int64_t>(round * kRanks));
    }
    download(*fake, result.data(), on_a.data(), kCount * 8, a.get());
    EXPECT_EQ(result, std::vector<std::int64_t>(kCount, 729));  // 3^6
    download(*fake, result.data(), on_b.data(), kCount * 8, b.get());
    EXPECT_EQ(result, ones);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Routes, ::testing::ValuesIn(kReaches),
                         [](const auto& made) { return name_of(made.param); });

/// Which reductions are joined follows from the schedule: delays do not change a bit.
TEST(DeviceResults, DoNotDependOnDelays) {
  constexpr std::uint32_t kRanks = 5;
  constexpr std::size_t kCount = 777;
  const Schedule schedule =
      random_schedule(Collective::AllReduce, make_topology("full:5"), Rank{0}, 4);
  std::vector<std::uint16_t> first;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    std::vector<std::vector<std::uint16_t>> results(kRanks, std::vector<std::uint16_t>(kCount));
    run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      const auto fake = fake_of(*bootstrap, seed, seed % 2 == 0 ? Reach::Mapped : Reach::Staged);
      Communicator communicator(bootstrap, {schedule}, cut_for(fake, 200));
      Values values(DataType::Float16, kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        values.set(i, 0.1 * static_cast<double>((index(bootstrap->seat()) + 1) * (i % 37 + 1)));
      }
      const DeviceBuffer buffer(*fake, kCount * 2);
      upload(*fake, buffer.data(), values.data(), kCount * 2, nullptr);
      communicator.all_reduce(buffer.data(), buffer.data(), kCount, DataType::Float16,
                              ReduceOp::Sum);
      download(*fake, results[index(bootstrap->seat())].data(), buffer.data(), kCount * 2, nullptr);
    });
    if (first.empty()) first = results[0];
    for (const auto& result : results) EXPECT_EQ(result, first) << seed;
  }
}

/// Where messages carry the data, host and device memory may be mixed among ranks.
TEST(DeviceBuffers, MixWithHostBuffersOfOtherRanks) {
  constexpr std::uint32_t kRanks = 4;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const bool with = index(bootstrap->seat()) % 2 == 0;
    const auto fake = with ? fake_of(*bootstrap, 5, Reach::Staged) : nullptr;
    Communicator communicator(bootstrap, ring_schedules(kRanks), cut_for(fake, 600));
    for (const Collective collective : all_collectives()) {
      if (with) {
        check_on_device(communicator, *fake, nullptr, collective, Rank{0}, 1234, DataType::Float32,
                        ReduceOp::Sum, false);
      } else {
        communicator.barrier();  // as check_on_device()
        check_collective(communicator, collective, Rank{0}, 1234, DataType::Float32, ReduceOp::Sum,
                         false);
        communicator.barrier();
      }
    }
  });
}

TEST(DeviceBuffers, WorkWithoutHoldingStreams) {
  constexpr std::uint32_t kRanks = 2;
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = fake_of(*bootstrap, 5, Reach::Staged, false);
    Communicator communicator(bootstrap, ring_schedules(kRanks), cut_for(fake, 600));
    const OwnedStream stream(*fake);
    for (const Collective collective : all_collectives()) {
      check_on_device(communicator, *fake, stream.get(), collective, Rank{0}, 999,
                      DataType::BFloat16, ReduceOp::Max, true);
    }
  });
}

TEST(DeviceBuffers, WhatCannotBeServedIsRefused) {
  run_ranks(1, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto fake = make_fake_device({}), other = make_fake_device({});
    const DeviceBuffer mine(*fake, 64), others(*other, 64);
    std::vector<float> host(16);
    const auto message = [&](Communicator& c, const void* send, void* recv, bool stream) {
      try {
        stream ? c.start_all_reduce(send, recv, 16, DataType::Float32, ReduceOp::Sum, Stream{})
               : c.start_all_reduce(send, recv, 16, DataType::Float32, ReduceOp::Sum);
      } catch (const std::exception& error) {
        return std::string(error.what());
      }
      return std::string();
    };
    Communicator with(bootstrap, std::vector<Schedule>{}, cut_for(fake, 512));
    EXPECT_THAT(message(with, mine.data(), host.data(), false), HasSubstr("both be device memory"));
    EXPECT_THAT(message(with, others.data(), mine.data(), false), HasSubstr("lies on device 1"));
    EXPECT_THAT(message(with, mine.data(), host.data(), true), HasSubstr("pageable host memory"));
    Communicator without(bootstrap, std::vector<Schedule>{}, cut_for(nullptr, 512));
    EXPECT_THAT(message(without, host.data(), host.data(), true), HasSubstr("has no device"));
  });
}

}  // namespace
}  // namespace multitree::runtime::test
