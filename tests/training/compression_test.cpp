// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Compressors on ranks that are threads: what they lose, that all ranks get the same bits, and
/// that nothing is lost for good.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"
#include "training/compression/compressor.hpp"
#include "training/compression/in_process.hpp"

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
  EXPECT_THROW(make_compressor("none?level=3"), Error);
}

}  // namespace
}  // namespace multitree::training
