// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Compressors on ranks that are threads: what they lose, that all ranks get the same bits, and
/// that nothing is lost for good.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "algorithms/registry.hpp"
#include "runtime/kernels/lossless.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"
#include "training/compression/compressor.hpp"
#include "training/compression/in_process.hpp"
#include "training/learners/data.hpp"
#include "training/learners/learner.hpp"

namespace multitree::training {
namespace {

using Vectors = std::vector<std::vector<float>>;  // by rank

Vectors random_vectors(std::uint32_t ranks, std::size_t count, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Vectors vectors(ranks, std::vector<float>(count));
  for (auto& vector : vectors) {
    for (float& number : vector) number = normal(random);
  }
  return vectors;
}

/// What every rank gets, which all must alike.
struct Outcome {
  std::vector<float> sums;
  Vectors errors;  ///< by rank
  Sent sent;       ///< of rank 0
};

Outcome compressed(std::string_view spec, Vectors vectors, std::uint32_t rounds = 1,
                   const Schedule* order = nullptr) {
  const auto ranks = static_cast<std::uint32_t>(vectors.size());
  Outcome outcome;
  outcome.errors.assign(ranks, std::vector<float>(vectors[0].size()));
  const Vectors inputs = vectors;
  run_together(
      ranks,
      [&](Exchange& exchange) {
        const auto compressor = make_compressor(spec);
        const std::uint32_t rank = exchange.rank();
        for (std::uint32_t i = 0; i < rounds; ++i) {
          vectors[rank] = inputs[rank];
          compressor->sum(vectors[rank], outcome.errors[rank], exchange);
        }
        if (rank == 0) outcome.sent = exchange.sent();
      },
      order);
  for (std::uint32_t r = 1; r < ranks; ++r) {
    EXPECT_EQ(std::memcmp(vectors[r].data(), vectors[0].data(), vectors[0].size() * sizeof(float)),
              0)
        << spec << ", rank " << r;
  }
  outcome.sums = vectors[0];
  return outcome;
}

std::vector<double> sums_of(const Vectors& vectors) {
  std::vector<double> sums(vectors[0].size());
  for (const auto& vector : vectors) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += vector[i];
  }
  return sums;
}

TEST(Compression, PlainSumsAreSums) {
  for (const std::uint32_t ranks : {1U, 2U, 5U}) {
    for (const std::size_t count : {0U, 1U, 63U, 64U, 1000U}) {
      const Vectors vectors = random_vectors(ranks, count);
      const Outcome outcome = compressed("none", vectors);
      const auto exact = sums_of(vectors);
      for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(outcome.sums[i], exact[i], 1e-5);
      EXPECT_EQ(outcome.sent.reduced, 4 * count);
    }
  }
}

TEST(Compression, SixteenBitsOnTheWireRoundOnceAHop) {
  const Topology torus = make_topology("torus:4x4");
  const Schedule order = make_schedule("multitree", torus, Collective::AllReduce);
  const Vectors vectors = random_vectors(16, 1001);
  const auto exact = sums_of(vectors);
  for (const std::string spec : {"bfloat16", "half"}) {
    const double unit = spec == "half" ? 0x1p-11 : 0x1p-8;
    const Outcome outcome = compressed(spec, vectors, 1, &order);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      double magnitude = 0;
      for (const auto& vector : vectors) magnitude += std::fabs(vector[i]);
      // 15 ways to the root, the result, and the errors that were fed back.
      EXPECT_NEAR(outcome.sums[i], exact[i], 3 * 6 * unit * magnitude);
    }
    EXPECT_EQ(outcome.sent.reduced, 2 * exact.size());
  }
}

double relative_error(const std::vector<float>& got, const std::vector<double>& exact) {
  double off = 0, all = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    off += (got[i] - exact[i]) * (got[i] - exact[i]);
    all += exact[i] * exact[i];
  }
  return std::sqrt(off / all);
}

TEST(Compression, AgreedScalesAreOffByHalfAStepARank) {
  for (const std::uint32_t ranks : {1U, 3U, 16U, 100U}) {
    const Vectors vectors = random_vectors(ranks, 1000);
    const auto exact = sums_of(vectors);
    for (const std::uint32_t bits : {8U, 16U}) {
      const Outcome outcome = compressed("int8?block=50&bits=" + std::to_string(bits), vectors);
      const std::uint32_t steps = ((1U << (bits - 1)) - 1) / ranks;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        double most = 0;
        for (const auto& vector : vectors) {
          for (std::size_t j = i / 50 * 50; j < i / 50 * 50 + 50; ++j) {
            most = std::max(most, std::fabs(double{vector[j]}));
          }
        }
        EXPECT_NEAR(outcome.sums[i], exact[i], ranks * (most / steps / 2) + 1e-4);
      }
      EXPECT_EQ(outcome.sent.reduced, 1000 * bits / 8 + 20 * sizeof(float));
    }
  }
}

TEST(Compression, AgreedScalesDoNotDependOnTheOrderOfSums) {
  const Topology torus = make_topology("torus:4x4");
  const Vectors vectors = random_vectors(16, 777);
  const Outcome star = compressed("int8", vectors);
  for (const char* algorithm : {"multitree", "ring"}) {
    const Schedule order = make_schedule(algorithm, torus, Collective::AllReduce);
    EXPECT_EQ(compressed("int8", vectors, 1, &order).sums, star.sums) << algorithm;
  }
}

TEST(Compression, MoreRanksThanTheBitsServeAreRefused) {
  EXPECT_THROW(compressed("int8", random_vectors(128, 3)), Error);
  EXPECT_NO_THROW(compressed("int8?bits=16", random_vectors(128, 3)));
}

/// Quantised anew at each hop, what counts is how many hops there are.
TEST(Compression, TreesLoseLessThanRingsWhereHopsRound) {
  const Topology torus = make_topology("torus:8x8");
  const Vectors vectors = random_vectors(64, 64 * 64 * 2);
  const auto exact = sums_of(vectors);
  const auto error_of = [&](const char* algorithm) {
    const Schedule order = make_schedule(algorithm, torus, Collective::AllReduce);
    std::vector<float> sums;
    Vectors own = vectors;
    run_together(
        64,
        [&](Exchange& exchange) {
          make_compressor("int8?form=hop")->sum(own[exchange.rank()], {}, exchange);
        },
        &order);
    return relative_error(own[5], exact);
  };
  const double ring = error_of("ring"), trees = error_of("multitree");
  RecordProperty("ring", std::to_string(ring));
  RecordProperty("trees", std::to_string(trees));
  EXPECT_LT(trees, 0.4 * ring) << trees << " of " << ring;
}

TEST(Compression, SignsAreWhatMostRanksSay) {
  const Outcome outcome = compressed("sign", {{1, -2, 3, 0}, {1, -2, -3, 0}, {-4, 2, -3, 0}});
  const float magnitudes = 1.5F + 1.5F + 2.25F;
  EXPECT_EQ(outcome.sums, (std::vector<float>{magnitudes, -magnitudes, -magnitudes, magnitudes}));
  EXPECT_EQ(outcome.errors[0], (std::vector<float>{-0.5F, -0.5F, 1.5F, -1.5F}));
  EXPECT_EQ(compressed("sign", {{1}, {-1}}).sums, (std::vector<float>{0}));
  const Outcome sixteen = compressed("sign", random_vectors(16, 6000));
  EXPECT_EQ(sixteen.sent.reduced, 6000 / 6 * 4 + 4U);  // 5 bits each, 6 in a word
}

TEST(Compression, TheLargestTravelWithTheirPlaces) {
  const Outcome outcome =
      compressed("top-k?share=0.25", {{1, -5, 2, 3, 0, 0, 0, 9}, {1, 1, 8, 1, 1, 1, 1, -8}});
  EXPECT_EQ(outcome.sums, (std::vector<float>{0, -5, 8, 0, 0, 0, 0, 1}));
  EXPECT_EQ(outcome.errors[0], (std::vector<float>{1, 0, 2, 3, 0, 0, 0, 0}));
  EXPECT_EQ(outcome.sent.gathered, 16U);
}

TEST(Compression, DrawnPlacesAreTheSameEverywhereAndRightInTheMean) {
  Vectors vectors(3, std::vector<float>(100, 1));
  std::vector<double> mean(100);
  run_together(3, [&](Exchange& exchange) {
    const auto compressor = make_compressor("random-k?share=0.1");
    for (int round = 0; round < 2000; ++round) {
      std::vector<float> numbers = vectors[exchange.rank()];
      compressor->sum(numbers, {}, exchange);
      EXPECT_EQ(std::ranges::count_if(numbers, [](float n) { return n != 0; }), 10);
      if (exchange.rank() != 0) continue;
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += numbers[i] / 2000.0;
    }
  });
  for (const double number : mean) EXPECT_NEAR(number, 3, 1);
}

TEST(Compression, MatricesOfLowRankAreFoundExactly) {
  Vectors vectors(4, std::vector<float>(50 * 50));
  for (std::uint32_t r = 0; r < 4; ++r) {
    for (std::size_t i = 0; i < 2500; ++i) {
      const std::size_t line = i / 50;
      const auto row = static_cast<float>(line), column = static_cast<float>(i % 50);
      vectors[r][i] = std::sin(row + 1) * column + static_cast<float>(r) * std::cos(row);
    }
  }
  const Outcome outcome = compressed("powersgd?rank=2", vectors, 1);
  EXPECT_LT(relative_error(outcome.sums, sums_of(vectors)), 1e-5);
  EXPECT_EQ(outcome.sent.reduced, 2 * 100 * sizeof(float));
}

/// Whatever is not told is told later: after some rounds with the same vectors all that was told,
/// and what is left, are all that there was.
TEST(Compression, NothingIsLostForGood) {
  constexpr std::uint32_t kRounds = 5;
  for (const std::string spec : {"none", "int8", "int8?bits=16", "top-k?share=0.05",
                                 "random-k?share=0.05", "powersgd?rank=1"}) {
    for (const std::size_t count : {1U, 2U, 999U}) {
      const Vectors vectors = random_vectors(4, count);
      std::vector<double> told(count);
      Vectors errors(4, std::vector<float>(count));
      run_together(4, [&](Exchange& exchange) {
        const auto compressor = make_compressor(spec);
        for (std::uint32_t round = 0; round < kRounds; ++round) {
          std::vector<float> numbers = vectors[exchange.rank()];
          compressor->sum(numbers, errors[exchange.rank()], exchange);
          if (exchange.rank() != 0) continue;
          for (std::size_t i = 0; i < count; ++i) told[i] += numbers[i];
        }
      });
      const auto exact = sums_of(vectors), left = sums_of(errors);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_NEAR(told[i] + left[i], kRounds * exact[i], 2e-3) << spec << " " << count;
      }
    }
  }
}

TEST(Compression, EveryWayTakesOddSizesZerosAndWhatIsNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Compression& row : compressions()) {
    const std::string spec(row.name);
    for (const std::uint32_t ranks : {1U, 3U}) {
      for (const std::size_t count : {0U, 1U, 65U, 257U}) {
        const Outcome zeros = compressed(spec, Vectors(ranks, std::vector<float>(count)), 2);
        EXPECT_EQ(zeros.sums, std::vector<float>(count)) << spec;
        compressed(spec, random_vectors(ranks, count), 3);
      }
    }
    // The largest always travel, others may be drawn; then nothing finite may come out.
    Vectors odd(3, std::vector<float>(300, 1));
    odd[1][7] = nan;
    const Outcome outcome = compressed(spec, odd);
    if (spec != "random-k") {
      EXPECT_TRUE(std::isnan(outcome.sums[7])) << spec;
    }
  }
}

/// Bytes that gradients take as messages: of a layer, 60 KiB at most.
template <typename Number>
double packed_bytes(const training::Learner& learner, const std::vector<Number>& gradients) {
  runtime::LosslessCodec codec;
  std::vector<std::byte> message(61'440);
  double bytes = 0;
  for (std::size_t l = 0; l < learner.layers(); ++l) {
    const std::size_t end = learner.begin(l) + learner.layer(l).parameters();
    for (std::size_t at = learner.begin(l); at < end; at += message.size() / sizeof(Number)) {
      const std::size_t count = std::min(end - at, message.size() / sizeof(Number));
      bytes += static_cast<double>(
          codec.encode(message.data(), gradients.data() + at, count, sizeof(Number)));
    }
  }
  return bytes;
}

/// Of bfloat16 the upper halves of the same gradients.
TEST(Compression, LosslessPacksGradientsOfTraining) {
  const struct {
    std::string name;
    bool sequence;
  } cases[] = {{"mlp?hidden=64", false},
               {"lenet5", false},
               {"logistic", false},
               {"transformer?width=32&blocks=1&heads=2", true}};
  for (const auto& one : cases) {
    const auto data =
        one.sequence ? make_sequences(16, 16, 3) : make_clusters(16, 10, 3, Shards::Mixed);
    const auto learner = make_learner(one.name, data->shape(), 7);
    double halves = 0, floats = 0, numbers = 0;
    for (std::uint64_t step = 0; step < 12; ++step) {
      learner->show(data->batch(step, 0, 1, 16));
      for (std::size_t l = 0; l < learner->layers(); ++l) learner->forward(l);
      for (std::size_t l = learner->layers(); l-- > 0;) learner->backward(l);
      const std::vector<float> gradients(learner->gradients().begin(), learner->gradients().end());
      std::vector<std::uint16_t> upper;
      for (const float number : gradients) {
        upper.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16));
      }
      halves += packed_bytes(*learner, upper);
      floats += packed_bytes(*learner, gradients);
      numbers += static_cast<double>(gradients.size());
      for (std::size_t l = 0; l < learner->layers(); ++l) learner->step(l, {}, 1);
    }
    EXPECT_LT(halves / (2 * numbers), 0.75) << one.name;
    EXPECT_LT(floats / (4 * numbers), 0.87) << one.name;
    RecordProperty(one.name + " bfloat16", std::to_string(halves / (2 * numbers)));
    RecordProperty(one.name + " float", std::to_string(floats / (4 * numbers)));
  }
}

TEST(Compression, LosslessSumsArePlainSums) {
  const Vectors vectors = random_vectors(3, 5000);
  const Outcome outcome = compressed("lossless", vectors);
  EXPECT_EQ(outcome.sums, compressed("none", vectors).sums);
  EXPECT_LT(outcome.sent.reduced, 5000 * 4 * 0.87);
}

/// Half a last place at each of three ranks, at the largest of a block's, and in what is fed back.
TEST(Compression, EightBitFloatsAreAsNearAsTheirBits) {
  const Vectors vectors = random_vectors(3, 5000);
  const auto exact = sums_of(vectors);
  const double fine = relative_error(compressed("fp8", vectors).sums, exact);
  const double coarse = relative_error(compressed("fp8?format=e5m2", vectors).sums, exact);
  EXPECT_LT(fine, 0x1p-4);
  EXPECT_LT(coarse, 0x1p-3);
  EXPECT_LT(fine, coarse);
}

TEST(Compression, ErrorsOfAnotherLengthAreRefused) {
  const auto wrong = [](Exchange& exchange) {
    std::vector<float> numbers(4), error(3);
    make_compressor("top-k")->sum(numbers, error, exchange);
  };
  EXPECT_THROW(run_together(2, wrong), Error);
}

TEST(Compression, RanksThatDoDifferentThingsAreTold) {
  const auto differ = [](Exchange& exchange) {
    std::vector<float> numbers(exchange.rank() == 1 ? 3 : 4);
    exchange.sum(numbers);
  };
  EXPECT_THROW(run_together(3, differ), Error);
  const auto ends = [](Exchange& exchange) {
    std::vector<float> numbers(4);
    if (exchange.rank() != 1) exchange.sum(numbers);
  };
  EXPECT_THROW(run_together(3, ends), Error);
  const auto fails = [](Exchange& exchange) {
    if (exchange.rank() == 2) throw Error(ErrorCode::Io, "no more");
    std::vector<float> numbers(4);
    exchange.sum(numbers);
  };
  try {
    run_together(3, fails);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no more");
  }
}

TEST(Compression, UnknownNamesListTheOthers) {
  EXPECT_THROW(make_compressor("gzip"), Error);
  for (const char* spec :
       {"none?level=3", "int8?form=best", "int8?bits=12", "top-k?share=0", "top-k?share=2",
        "fp8?format=e3m4", "random-k?share=x", "powersgd?rank=0"}) {
    EXPECT_THROW(make_compressor(spec), Error) << spec;
  }
}

}  // namespace
}  // namespace multitree::training
