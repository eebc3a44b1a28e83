// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Floats as fewer bits with nothing lost: the same bits back, never more bytes, and what is
/// damaged is refused or decoded within its bounds.
#include "runtime/kernels/lossless.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "algorithms/registry.hpp"
#include "support.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

using Bytes = std::vector<std::byte>;

/// Elements as gradients are: normal, of several sizes, some of them 0.
Bytes gradients(std::uint64_t seed, std::size_t count, std::size_t width) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Bytes bytes(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    const double number = random() % 16 == 0 ? 0 : normal(random) * (i % 1000 < 300 ? 1e-3 : 1e-5);
    const auto single = static_cast<float>(number);
    const auto upper = static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, single) >> 16);
    const void* from = width == 8   ? static_cast<const void*>(&number)
                       : width == 4 ? static_cast<const void*>(&single)
                                    : &upper;
    std::memcpy(bytes.data() + i * width, from, width);
  }
  return bytes;
}

Bytes noise(std::uint64_t seed, std::size_t bytes) {
  std::mt19937_64 random(seed);
  Bytes all(bytes);
  for (std::byte& byte : all) byte = static_cast<std::byte>(random());
  return all;
}

Bytes packed(const Bytes& bytes, std::size_t width) {
  Bytes to(bytes.size());
  to.resize(LosslessCodec().encode(to.data(), bytes.data(), bytes.size() / width, width));
  return to;
}

Bytes unpacked(const Bytes& message, std::size_t count, std::size_t width) {
  Bytes to(count * width);
  LosslessCodec().decode(to.data(), count, width, message.data(), message.size());
  return to;
}

TEST(Lossless, GivesTheSameBitsBack) {
  for (const std::size_t width : {2U, 4U, 8U}) {
    for (const std::size_t count :
         {0U, 1U, 63U, 64U, 65U, 255U, 256U, 257U, 1023U, 8191U, 8193U, 70001U}) {
      for (const Bytes& bytes :
           {gradients(count, count, width), noise(count, count * width), Bytes(count * width)}) {
        const Bytes message = packed(bytes, width);
        EXPECT_LE(message.size(), bytes.size());
        EXPECT_EQ(unpacked(message, count, width), bytes) << width << " " << count;
      }
    }
  }
}

/// Two exponents, all exponents, and weights for which codes would be longer than there is room
/// for.
TEST(Lossless, CodesAnyExponents) {
  for (const unsigned symbols : {2U, 3U, 17U, 256U}) {
    for (const bool steep : {false, true}) {
      std::mt19937_64 random(symbols);
      std::vector<std::uint16_t> words(20'000);
      for (std::uint16_t& word : words) {
        unsigned symbol = static_cast<unsigned>(random() % symbols);
        if (steep)
          symbol =
              std::min(symbols - 1, static_cast<unsigned>(__builtin_ctzll(random() | 1ULL << 40)));
        word = static_cast<std::uint16_t>(symbol << 7 | (random() & 0x807fU));
      }
      Bytes bytes(2 * words.size());
      std::memcpy(bytes.data(), words.data(), bytes.size());
      const Bytes message = packed(bytes, 2);
      EXPECT_EQ(unpacked(message, words.size(), 2), bytes);
      if (symbols < 200 || steep) {
        EXPECT_LT(message.size(), bytes.size() * 9 / 10);
      }
    }
  }
}

TEST(Lossless, PacksGradientsAndLeavesNoiseAlone) {
  EXPECT_LT(packed(gradients(1, 100'000, 2), 2).size(), 200'000 * 0.75);
  EXPECT_LT(packed(gradients(1, 100'000, 4), 4).size(), 400'000 * 0.87);
  EXPECT_EQ(packed(noise(1, 400'000), 4).size(), 400'000U);
  EXPECT_EQ(packed(Bytes(4000), 4).size(), 3002U);
}

/// With a byte changed, cut off or added: an error, or other numbers, as codes that are damaged may
/// still be codes (checksums are for that); nothing is read or written
/// outside (which the address sanitizer sees).
TEST(Lossless, WhatIsDamagedIsRefusedOrStaysWithinBounds) {
  std::mt19937_64 random(11);
  std::size_t refused = 0, rounds = 0;
  for (const std::size_t width : {2U, 4U}) {
    for (const std::size_t count : {64U, 300U, 3000U}) {
      const Bytes message = packed(gradients(7, count, width), width);
      const std::size_t rest = count * (width - 1);
      for (int round = 0; round < 1000; ++round, ++rounds) {
        Bytes bad = message;
        const std::size_t at = rest + random() % (message.size() - rest);
        if (round % 10 == 0) {
          bad.resize(at);
        } else if (round % 10 == 1) {
          bad.insert(bad.begin() + static_cast<std::ptrdiff_t>(at), std::byte{7});
        } else {
          bad[at] ^= static_cast<std::byte>(1 + random() % 255);
        }
        try {
          EXPECT_EQ(unpacked(bad, count, width).size(), count * width);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::Transport);
          EXPECT_THAT(error.what(), ::testing::HasSubstr("packed floats are malformed"));
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, rounds / 4);
}

TEST(Lossless, SaysWhatIsWrong) {
  const auto message_of_decoding = [](Bytes message, std::size_t count) {
    try {
      unpacked(message, count, 2);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Bytes message = packed(gradients(3, 1000, 2), 2);
  EXPECT_THAT(message_of_decoding(Bytes(100), 1000), ::testing::HasSubstr("found 100"));
  EXPECT_THAT(message_of_decoding(Bytes(3000), 1000), ::testing::HasSubstr("found 3000"));
  Bytes swapped = message;
  std::swap(swapped[1000], swapped[1001]);
  EXPECT_THAT(message_of_decoding(swapped, 1000), ::testing::HasSubstr("expected symbols from"));
  Bytes lengths = message;
  lengths[1002] ^= std::byte{1};
  EXPECT_THAT(message_of_decoding(lengths, 1000),
              ::testing::HasSubstr("lengths of codes that fill 2048"));
  Bytes cut = message;
  cut.pop_back();
  EXPECT_THAT(message_of_decoding(cut, 1000), ::testing::HasSubstr("end with their stream"));
}

CommunicatorOptions loopback(bool checksums) {
  CommunicatorOptions options;
  options.transport = "loopback";
  options.host_path = HostPath::Off;
  options.timeout = Deadline(20'000);
  options.segment_bytes = 16'384;
  options.checksums = checksums;
  return options;
}

/// Every rank's result of sums of gradients.
std::vector<Bytes> sums_of(const Schedule& schedule, DataType type, WireType wire, bool checksums) {
  std::vector<Bytes> results(schedule.ranks);
  run_ranks(schedule.ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const std::uint32_t rank = index(bootstrap->seat());
    Communicator communicator(bootstrap, std::vector<Schedule>{schedule}, loopback(checksums));
    constexpr std::size_t kCount = 40'001;
    Bytes data = gradients(rank + 1, kCount, size_of(type));
    communicator.run({.collective = schedule.collective,
                      .send = data.data(),
                      .recv = data.data(),
                      .count = kCount,
                      .type = type,
                      .wire = wire});
    results[rank] = data;
  });
  return results;
}

TEST(Lossless, AllReduceHasTheBitsThatItHasWithout) {
  for (const char* algorithm : {"ring", "multitree", "recursive-doubling", "allreduce-optimal"}) {
    const Schedule schedule =
        make_schedule(algorithm, make_topology("hypercube:2"), Collective::AllReduce);
    for (const DataType type : {DataType::Float32, DataType::BFloat16, DataType::Float64}) {
      const std::vector<Bytes> plain = sums_of(schedule, type, WireType::AsIs, false);
      for (const bool checksums : {false, true}) {
        EXPECT_EQ(sums_of(schedule, type, WireType::Lossless, checksums), plain)
            << algorithm << " " << to_string(type);
      }
    }
  }
}

TEST(Lossless, IsForFloats) {
  const Schedule schedule = make_schedule("ring", make_topology("ring:2"), Collective::AllReduce);
  const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{schedule}, loopback(false));
    std::vector<std::int32_t> data(100);
    communicator.run({.collective = Collective::AllReduce,
                      .send = data.data(),
                      .recv = data.data(),
                      .count = 100,
                      .type = DataType::Int32,
                      .wire = WireType::Lossless});
  });
  EXPECT_THAT(message_of(errors[0]),
              ::testing::HasSubstr("expected floats in host memory, found int32"));
}

}  // namespace
}  // namespace multitree::runtime::test
