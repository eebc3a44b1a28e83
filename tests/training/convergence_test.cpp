// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trials of convergence: the same bits on every run, and update rules that agree where they must.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "topologies/error.hpp"
#include "topologies/registry.hpp"
#include "training/compression/compressor.hpp"
#include "training/convergence/trial.hpp"
#include "training/network_costs.hpp"
#include "training/policies.hpp"

namespace multitree::training {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Curve curve_of(const std::string& policy, const std::string& compression = "none",
               Shards shards = Shards::Mixed) {
  const Trial trial{.learner = "logistic",
                    .policy = policy,
                    .compression = compression,
                    .ranks = 8,
                    .iterations = 200,
                    .points = 10,
                    .steps = {.rate = 0.05F, .momentum = 0}};
  return run_trial(trial, *make_clusters(8, 10, 1, shards, 0.25F),
                   *make_clusters(8, 10, 1, Shards::Mixed, 0.25F));
}

TEST(Convergence, IsTheSameOnEveryRun) {
  for (const char* policy : {"bsp", "cocod?every=5"}) {
    EXPECT_EQ(curve_of(policy).losses, curve_of(policy).losses) << policy;
  }
}

TEST(Convergence, HasTheValuesOfTheStudy) {
  const Curve base = curve_of("bsp");
  ASSERT_EQ(base.losses.size(), 11U);
  EXPECT_NEAR(base.losses.front(), 2.681, 0.002);
  EXPECT_NEAR(base.losses.back(), 1.290, 0.01);
  // With mixed shards all stay within a percent.
  for (const char* policy : {"pipe-sgd", "local-sgd", "cocod?every=1", "cocod", "cocod?every=10"}) {
    EXPECT_NEAR(curve_of(policy).losses.back() / base.losses.back(), 1, 0.01) << policy;
  }
  // With sorted ones the longer ranks go on alone, the farther they fall behind.
  const double sorted = curve_of("bsp", "none", Shards::Sorted).losses.back();
  const double five = curve_of("cocod", "none", Shards::Sorted).losses.back();
  const double ten = curve_of("cocod?every=10", "none", Shards::Sorted).losses.back();
  EXPECT_GT(five, 1.02 * sorted);
  EXPECT_GT(ten, 1.02 * five);
}

/// Without momentum the mean of parameters after one step each is the step with the mean gradient.
TEST(Convergence, OfAveragingEachTimeIsSynchronous) {
  const Curve base = curve_of("bsp"), each = curve_of("local-sgd?every=1");
  for (std::size_t p = 0; p < base.losses.size(); ++p) {
    EXPECT_NEAR(each.losses[p], base.losses[p], 1e-4) << p;
  }
}

/// An outer step by the mean itself is local SGD.
TEST(Convergence, OfDiLoCoIsLocalSgdWithoutItsOuterStep) {
  EXPECT_EQ(curve_of("diloco?every=5&rate=1&momentum=0").losses, curve_of("local-sgd").losses);
  EXPECT_NE(curve_of("diloco?every=5").losses, curve_of("local-sgd").losses);
}

/// DiLoCo as published, AdamW within ranks and Nesterov's momentum between them: a small version of
/// what docs/training.md has of a character model.
TEST(Convergence, OfDiLoCoWithAdamWIsThatOfDdpForAHundredthOfTheBytes) {
  const auto data = make_sequences(16, 16, 1);
  Trial trial{.learner = "transformer?width=16&blocks=1&heads=2",
              .ranks = 4,
              .iterations = 1000,
              .points = 20,
              .batch = 4,
              .steps = {.rate = 0.003F, .momentum = 0.9F, .adamw = AdamW{}}};
  const Curve ddp = run_trial(trial, *data, *data);
  const std::string policy = "diloco?every=100";
  trial.policy = policy;
  const Curve diloco = run_trial(trial, *data, *data);
  EXPECT_EQ(ddp.sent.reduced, 100 * diloco.sent.reduced);
  // A point is the loss of 8,192 tokens, so the last two of both.
  const auto last = [](const Curve& curve) { return (curve.losses[19] + curve.losses[20]) / 2; };
  EXPECT_LT(last(diloco), 1.005 * last(ddp));

  const double step = 50, goal = last(ddp);
  const double times = iterations_to(diloco, goal, step) / iterations_to(ddp, goal, step);
  const Costs costs = network_costs(make_topology("ring:4?bw=10Mbit/s&lat=50us"),
                                    "allreduce-optimal", nic::Model::Message);
  const Model model{.name = "transformer",
                    .layers = {{"all", 0.15e-3, 0.3e-3, {ddp.sent.reduced / 1000}}}};
  const double seconds = simulate("ddp", model, costs).seconds;
  EXPECT_GT(seconds / (simulate(policy, model, costs).seconds * times), 20);
}

TEST(Convergence, SendsWhatThePolicySends) {
  const std::uint64_t all = curve_of("bsp").sent.reduced;
  EXPECT_EQ(all, 200U * 4 * (64 * 10 + 10));
  EXPECT_EQ(curve_of("local-sgd").sent.reduced, all / 5);
  EXPECT_EQ(curve_of("bsp", "bfloat16").sent.reduced, all / 2);
}

/// With what they cannot tell added the next time, none loses much.
TEST(Convergence, OfEveryCompressorIsNear) {
  const double base = curve_of("bsp").losses.back();
  for (const Compression& one : compressions()) {
    const double loss = curve_of("bsp", std::string(one.name)).losses.back();
    EXPECT_TRUE(std::isfinite(loss)) << one.name;
    EXPECT_LT(loss, 1.5 * base) << one.name;
  }
}

TEST(Convergence, IterationsAreCountedBetweenPoints) {
  const Curve curve{.losses = {4, 2, 1}, .sent = {}};
  EXPECT_DOUBLE_EQ(iterations_to(curve, 5, 10), 0);
  EXPECT_DOUBLE_EQ(iterations_to(curve, 3, 10), 5);
  EXPECT_DOUBLE_EQ(iterations_to(curve, 1, 10), 20);
  EXPECT_TRUE(std::isinf(iterations_to(curve, 0.5, 10)));
}

TEST(Convergence, RefusesPointsThatDoNotDivide) {
  const auto data = make_clusters(8, 10, 1, Shards::Mixed);
  EXPECT_THAT(
      [&] { run_trial({.learner = "logistic", .iterations = 10, .points = 3}, *data, *data); },
      ThrowsMessage<Error>(HasSubstr("points that divide the 10 iterations")));
}

}  // namespace
}  // namespace multitree::training
