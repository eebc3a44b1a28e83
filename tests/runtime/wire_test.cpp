// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Floats that travel as fewer bytes: what arrives, the same bits everywhere, and how much is lost.
#include "runtime/kernels/wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "algorithms/registry.hpp"
#include "runtime/kernels/kernels_internal.hpp"
#include "support.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr WireType kRounding[] = {WireType::Float16, WireType::BFloat16, WireType::Int8,
                                  WireType::Float8E4M3, WireType::Float8E5M2};

bool is_scaled(WireType wire) { return wire != WireType::Float16 && wire != WireType::BFloat16; }

/// Half of the last place, of a number or of the largest of a block.
double unit_of(WireType wire) {
  constexpr double kUnits[] = {0, 0x1p-11, 0x1p-8, 0x1p-6, 0x1p-4, 0x1p-3};
  return kUnits[static_cast<std::size_t>(wire)];
}

std::vector<float> random_floats(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float& number : numbers) number = normal(random);
  return numbers;
}

std::vector<float> rounded(WireType wire, std::vector<float> numbers) {
  round_to(wire, numbers.data(), numbers.size());
  return numbers;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(WireTypes, HaveTheSizesThatAreSaid) {
  EXPECT_EQ(wire_bytes(WireType::AsIs, 100), 400U);
  EXPECT_EQ(wire_bytes(WireType::BFloat16, 101), 202U);
  EXPECT_EQ(wire_bytes(WireType::Int8, 0), 0U);
  EXPECT_EQ(wire_bytes(WireType::Int8, 64), 65U);
  EXPECT_EQ(wire_bytes(WireType::Int8, 65), 67U);
  EXPECT_EQ(wire_bytes(WireType::Float8E4M3, 65), 67U);
  EXPECT_EQ(wire_bytes(WireType::Lossless, 65), 260U);
}

TEST(WireTypes, LoseNoMoreThanTheirLastPlace) {
  const std::vector<float> numbers = random_floats(1, 1001);
  for (const WireType wire : kRounding) {
    const std::vector<float> got = rounded(wire, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      float most = 0;
      const std::size_t begin = i / 64 * 64;
      for (std::size_t j = begin; j < std::min(begin + 64, numbers.size()); ++j) {
        most = std::max(most, std::fabs(numbers[j]));
      }
      // What is too small for an exponent of its own, relative to the largest of its block.
      constexpr double kSmall[] = {0, 0x1p-25, 0, 1.0 / 127, 0x1p-16, 0x1p-30};
      const double small = kSmall[static_cast<std::size_t>(wire)] * (is_scaled(wire) ? most : 1);
      const double bound =
          small + (wire == WireType::Int8 ? 0 : std::fabs(numbers[i]) * unit_of(wire));
      EXPECT_LE(std::fabs(got[i] - numbers[i]), bound) << to_string(wire) << " " << i;
    }
  }
}

TEST(WireTypes, RoundOnceHoweverOftenTheyArePassedOn) {
  std::mt19937_64 random(3);
  for (const WireType wire : kRounding) {
    for (int round = 0; round < 200; ++round) {
      std::vector<float> numbers = random_floats(random(), 1 + random() % 200);
      const float scale = std::ldexp(1.0F, static_cast<int>(random() % 60) - 30);
      for (float& number : numbers) number *= scale;
      const std::vector<float> once = rounded(wire, numbers);
      EXPECT_TRUE(same_bits(rounded(wire, once), once)) << to_string(wire);
    }
  }
}

TEST(WireTypes, KeepWhatIsNotANumberFromPassingForOne) {
  for (const float odd : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    for (const WireType wire : kRounding) {
      const std::vector<float> got = rounded(wire, {1, odd, 2});
      EXPECT_FALSE(std::isfinite(got[1])) << to_string(wire);
      if (is_scaled(wire)) {
        EXPECT_TRUE(std::isnan(got[0]));
      } else {
        EXPECT_EQ(got[0], 1);
      }
    }
  }
  EXPECT_EQ(rounded(WireType::Int8, {0, -0.0F, 0}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(rounded(WireType::Int8, {127, -127, 3}), (std::vector<float>{127, -127, 3}));
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(rounded(WireType::Int8, {tiny, -tiny}), (std::vector<float>{0, 0}));
}

TEST(WireTypes, HaveTheSameBitsOnEveryProcessor) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 100; ++round) {
    std::vector<float> numbers(random() % 300);
    for (float& number : numbers) {
      const auto bits = static_cast<std::uint32_t>(random());
      std::memcpy(&number, &bits, sizeof bits);
    }
    for (const WireType wire : kRounding) {
      const auto row = static_cast<std::size_t>(wire) - 1;
      std::vector<std::byte> first;
      std::vector<float> back;
      for (const kernels::Set* set : kernels::usable()) {
        std::vector<std::byte> bytes(wire_bytes(wire, numbers.size()));
        set->wire[row].encode(bytes.data(), numbers.data(), numbers.size());
        std::vector<float> decoded(numbers.size());
        set->wire[row].decode(decoded.data(), bytes.data(), numbers.size());
        if (set == kernels::usable().front()) {
          first = bytes;
          back = decoded;
        }
        EXPECT_EQ(bytes, first) << set->name << " " << to_string(wire);
        EXPECT_TRUE(same_bits(decoded, back)) << set->name << " " << to_string(wire);
      }
    }
  }
}

CommunicatorOptions loopback() {
  CommunicatorOptions options;
  options.transport = "loopback";
  options.host_path = HostPath::Off;
  options.timeout = Deadline(20'000);
  options.segment_bytes = 2048;
  return options;
}

/// One call at every rank of a network; results by rank.
std::vector<std::vector<float>> results_of(const Schedule& schedule, Call call, bool in_place,
                                           const std::vector<std::vector<float>>& inputs,
                                           std::size_t received) {
  std::vector<std::vector<float>> results(schedule.ranks);
  run_ranks(schedule.ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const std::uint32_t rank = index(bootstrap->seat());
    Communicator communicator(bootstrap, std::vector<Schedule>{schedule}, loopback());
    std::vector<float> send = inputs[rank], recv(received, -1);
    Call own = call;
    own.send = send.data();
    own.recv = in_place ? send.data() : recv.data();
    communicator.run(own);
    if (!in_place) {
      EXPECT_EQ(send, inputs[rank]);
    }
    results[rank] = in_place ? send : recv;
  });
  return results;
}

double relative_error(const std::vector<float>& got,
                      const std::vector<std::vector<float>>& inputs) {
  double off = 0, all = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double exact = 0;
    for (const auto& input : inputs) exact += input[i];
    off += (got[i] - exact) * (got[i] - exact);
    all += exact * exact;
  }
  return std::sqrt(off / all);
}

TEST(Wire, AllReduceHasTheSameBitsAtEveryRank) {
  const struct {
    const char *network, *algorithm;
  } cases[] = {{"torus:3x3", "multitree"},
               {"torus:3x3", "ring"},
               {"mesh:2x3", "allreduce-optimal"},
               {"full:2", "double-binary-tree"},
               {"torus:4x2", "halving-doubling"}};
  for (const auto& one : cases) {
    const Topology network = make_topology(one.network);
    const Schedule schedule = make_schedule(one.algorithm, network, Collective::AllReduce);
    for (const std::size_t count : {1U, 7U, 64U, 5000U}) {
      std::vector<std::vector<float>> inputs;
      for (std::uint32_t r = 0; r < schedule.ranks; ++r) {
        inputs.push_back(random_floats(r + 1, count));
      }
      for (const WireType wire : kRounding) {
        for (const bool in_place : {false, true}) {
          const Call call{.collective = Collective::AllReduce,
                          .count = count,
                          .type = DataType::Float32,
                          .wire = wire};
          const auto results = results_of(schedule, call, in_place, inputs, count);
          for (const auto& result : results) EXPECT_TRUE(same_bits(result, results[0]));
          if (count > 64) {
            EXPECT_LT(relative_error(results[0], inputs), 3 * unit_of(wire))
                << one.network << " " << one.algorithm << " " << to_string(wire);
          }
        }
      }
    }
  }
}

/// What rank 0 gets of each collective, with numbers that rounding leaves as they are.
TEST(Wire, EveryCollectiveMovesWhatItShould) {
  const Topology network = make_topology("torus:2x3");
  const std::uint32_t ranks = network.num_ranks();
  for (const Collective collective :
       {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather,
        Collective::Broadcast, Collective::Reduce}) {
    const Schedule schedule = make_schedule("multitree", network, collective);
    run_ranks(ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      Communicator communicator(bootstrap, std::vector<Schedule>{schedule}, loopback());
      const std::uint32_t rank = index(bootstrap->seat());
      constexpr std::size_t kCount = 1000;
      std::vector<float> send(kCount * ranks, static_cast<float>(rank)), recv(kCount * ranks, -1);
      communicator.run({.collective = collective,
                        .send = send.data(),
                        .recv = recv.data(),
                        .count = kCount,
                        .type = DataType::Float32,
                        .wire = WireType::Int8});
      const bool everywhere = collective != Collective::Reduce;
      const float sum = collective == Collective::Broadcast || collective == Collective::AllGather
                            ? 0
                            : 0.5F * static_cast<float>(ranks * (ranks - 1));
      if (rank == 0 || everywhere) {
        EXPECT_EQ(recv[1], sum) << to_string(collective);
      }
      if (collective == Collective::AllGather) {
        EXPECT_EQ(recv[5 * kCount], 5);
      }
    });
  }
}

TEST(Wire, OneRankRoundsNothing) {
  run_ranks(1, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, loopback());
    float number = 1.2345678F, got = 0;
    communicator.run({.collective = Collective::AllReduce,
                      .send = &number,
                      .recv = &got,
                      .count = 1,
                      .type = DataType::Float32,
                      .wire = WireType::BFloat16});
    EXPECT_EQ(got, number);
  });
}

TEST(Wire, WhatCannotBeRoundedIsSaidWithWhy) {
  const Topology network = make_topology("hypercube:2");
  const auto calling = [&](const char* algorithm, DataType type, WireType of_rank_1) {
    const Schedule schedule = make_schedule(algorithm, network, Collective::AllReduce);
    const auto errors = try_ranks(4, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      Communicator communicator(bootstrap, std::vector<Schedule>{schedule}, loopback());
      std::vector<std::byte> data(4096);
      const bool other = bootstrap->seat() == 1_seat;
      communicator.run({.collective = Collective::AllReduce,
                        .send = data.data(),
                        .recv = data.data(),
                        .count = 512,
                        .type = type,
                        .wire = other ? of_rank_1 : WireType::Int8});
    });
    return message_of(errors[0]);
  };
  EXPECT_THAT(calling("recursive-doubling", DataType::Float32, WireType::Int8),
              ::testing::HasSubstr("sums each chunk at one rank"));
  EXPECT_THAT(calling("ring", DataType::Float64, WireType::Int8),
              ::testing::HasSubstr("expected float in host memory, found double"));
  EXPECT_THAT(calling("ring", DataType::Float32, WireType::BFloat16),
              ::testing::HasSubstr("on the wire"));
}

}  // namespace
}  // namespace multitree::runtime::test
