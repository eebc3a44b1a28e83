// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Numbers that are none, found in memory and told to all ranks.
#include "runtime/kernels/finite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;

/// A type, and its bits for infinities, NaNs, and the numbers next to them.
struct Bits {
  DataType type;
  std::uint64_t inf, minus_inf, nan, minus_nan, largest, smallest;
};
constexpr Bits kBits[] = {
    {DataType::Float16, 0x7c00, 0xfc00, 0x7c01, 0xfe00, 0x7bff, 0x8001},
    {DataType::BFloat16, 0x7f80, 0xff80, 0x7f81, 0xffc0, 0x7f7f, 0x8001},
    {DataType::Float32, 0x7f800000, 0xff800000, 0x7f800001, 0xffc00000, 0x7f7fffff, 0x80000001},
    {DataType::Float64, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff0000000000001,
     0xfff8000000000000, 0x7fefffffffffffff, 0x8000000000000001},
};

TEST(Finite, FindsTheFirstAnywhere) {
  for (const Bits& bits : kBits) {
    const std::size_t size = size_of(bits.type);
    for (const std::size_t count : {0UL, 1UL, 7UL, 2048UL, 5001UL}) {
      std::vector<std::byte> memory(count * size + 1);
      std::byte* const data = memory.data() + 1;  // not aligned
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(data + i * size, i % 2 == 0 ? &bits.largest : &bits.smallest, size);
      }
      EXPECT_EQ(first_not_finite(data, count, bits.type), count);
      for (std::size_t at = count; at-- > 0;) {
        if (at % 512 > 1 && at + 1 != count) continue;
        std::memcpy(data + at * size, &bits.inf, size);
        EXPECT_EQ(first_not_finite(data, count, bits.type), at);
        for (const auto& [value, name] :
             {std::pair{bits.inf, "inf"}, std::pair{bits.minus_inf, "-inf"},
              std::pair{bits.nan, "nan"}, std::pair{bits.minus_nan, "nan"}}) {
          std::memcpy(data + at * size, &value, size);
          EXPECT_EQ(first_not_finite(data, count, bits.type), at);
          EXPECT_EQ(name_of_not_finite(data, at, bits.type), name);
        }
      }
    }
  }
}

TEST(Finite, IntegersAllAre) {
  const std::vector<std::uint64_t> ones(100, ~std::uint64_t{0});
  for (const DataType type : all_data_types()) {
    if (!is_integer(type)) continue;
    EXPECT_EQ(first_not_finite(ones.data(), 100, type), 100U);
  }
}

/// What three ranks are told of a call in which rank 1 has a NaN as its element 5.
std::vector<std::string> told_of(
    const std::function<void(Communicator&, std::vector<float>&)>& make,
    std::optional<bool> check) {
  std::vector<std::string> told;
  for (const auto& error : try_ranks(3, [&](const std::shared_ptr<Bootstrap>& job) {
         CommunicatorOptions options;
         options.transport = "loopback";
         options.timeout = Deadline(20'000);
         options.check_finite = check;
         Communicator communicator(job, ring_schedules(3, Rank{1}), options);
         std::vector<float> numbers(12, 1.0F);
         if (job->seat() == Seat{1}) numbers[5] = std::numeric_limits<float>::quiet_NaN();
         make(communicator, numbers);
         communicator.barrier();
       })) {
    told.push_back(message_of(error));
  }
  return told;
}

TEST(Finite, AllRanksAreToldWhoseInputHasANan) {
  for (const Collective collective :
       {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather, Collective::Reduce,
        Collective::Broadcast, Collective::Scatter}) {
    const std::size_t count =
        collective == Collective::ReduceScatter || collective == Collective::Scatter ? 4 : 12;
    const auto make = [&](Communicator& communicator, std::vector<float>& numbers) {
      std::vector<float> result(36);
      communicator.run({.collective = collective,
                        .send = numbers.data(),
                        .recv = result.data(),
                        .count = count,
                        .type = DataType::Float32});
    };
    for (const std::string& words : told_of(make, true)) {
      EXPECT_THAT(words, HasSubstr("the input of rank 1 has nan at element 5"));
      EXPECT_THAT(words, HasSubstr(std::string(to_string(collective)) + " #0 of "));
    }
    for (const std::string& words : told_of(make, false)) EXPECT_EQ(words, "");
  }
}

TEST(Finite, WhatIsStartedOrExchangedIsLookedThroughToo) {
  const auto start = [](Communicator& communicator, std::vector<float>& numbers) {
    communicator
        .start_all_reduce(numbers.data(), numbers.data(), 12, DataType::Float32, ReduceOp::Max)
        .wait();
  };
  const auto exchange = [](Communicator& communicator, std::vector<float>& numbers) {
    std::vector<float> result(12);
    communicator.run(ExchangeCall{.exchange = Exchange::AllToAll,
                                  .send = numbers.data(),
                                  .recv = result.data(),
                                  .type = DataType::Float32,
                                  .sent = Shares::equal(4, 3),
                                  .received = Shares::equal(4, 3)});
  };
  for (const auto& words : told_of(start, true)) {
    EXPECT_THAT(words, HasSubstr("allreduce #0 of 12 float, max"));
    EXPECT_THAT(words, HasSubstr("the input of rank 1 has nan at element 5"));
  }
  for (const auto& words : told_of(exchange, true)) {
    EXPECT_THAT(words, HasSubstr("the input of rank 1 has nan at element 5"));
  }
}

TEST(Finite, TheEnvironmentSays) {
  const auto make = [](Communicator& communicator, std::vector<float>& numbers) {
    communicator.all_reduce(numbers.data(), numbers.data(), 12, DataType::Float32, ReduceOp::Sum);
  };
  ::setenv("MULTITREE_CHECK_FINITE", "1", 1);
  for (const auto& words : told_of(make, std::nullopt)) EXPECT_THAT(words, HasSubstr("has nan"));
  ::setenv("MULTITREE_CHECK_FINITE", "yes", 1);
  for (const auto& words : told_of(make, std::nullopt)) {
    EXPECT_THAT(words, HasSubstr("MULTITREE_CHECK_FINITE: expected 0 or 1, found \"yes\""));
  }
  ::unsetenv("MULTITREE_CHECK_FINITE");
  for (const auto& words : told_of(make, std::nullopt)) EXPECT_EQ(words, "");
}

}  // namespace
}  // namespace multitree::runtime::test
