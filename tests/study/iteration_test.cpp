// SPDX-License-Identifier: BSD-3-Clause
#include "study/iteration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace multitree::study {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

const AllReduceCycles kFree = [](std::uint64_t) { return std::uint64_t{0}; };
const AllReduceCycles kNever = [](std::uint64_t) { return kMost; };
/// 10 cycles to start and 2 bytes a cycle.
const AllReduceCycles kAffine = [](std::uint64_t bytes) { return 10 + bytes / 2; };

const std::vector<LayerTask> kThree{{.forward = 5, .backward = 7, .gradient_bytes = 40},
                                    {.forward = 11, .backward = 20, .gradient_bytes = 100},
                                    {.forward = 3, .backward = 6, .gradient_bytes = 20}};

TEST(Iterations, WithoutOverlapAddUp) {
  const IterationTime time = sequential_iteration(kThree, kAffine);
  EXPECT_EQ(time.forward, 19U);
  EXPECT_EQ(time.backward, 33U);
  EXPECT_EQ(time.communication, 10U + 160 / 2);
  EXPECT_EQ(time.total, 19U + 33 + 90);
  EXPECT_EQ(time.exposed(), 90U);
}

// Gradients are ready at 19 + 6 = 25, 45 and 52; their all-reduces take 20, 60 and 30 cycles: they
// run from 25 to 45, 45 to 105, and 105 to 135.
TEST(Iterations, OverlapLayerByLayer) {
  const IterationTime time = overlapped_iteration(kThree, kAffine);
  EXPECT_EQ(time.communication, 110U);
  EXPECT_EQ(time.total, 135U);
  EXPECT_EQ(time.exposed(), 135U - 52);
}

TEST(Iterations, OfFreeCommunicationCompute) {
  for (const auto& iteration : {sequential_iteration, overlapped_iteration}) {
    EXPECT_EQ(iteration(kThree, kFree).total, 52U);
    EXPECT_EQ(iteration(kThree, kFree).exposed(), 0U);
  }
}

TEST(Iterations, OfEndlessCommunicationNeverEnd) {
  for (const auto& iteration : {sequential_iteration, overlapped_iteration}) {
    EXPECT_EQ(iteration(kThree, kNever).total, kMost);
    EXPECT_EQ(iteration(kThree, kNever).communication, kMost);
    EXPECT_EQ(iteration(kThree, kNever).forward, 19U);
  }
}

TEST(Iterations, OfEndlessComputingExposeNothing) {
  const std::vector<LayerTask> endless{{.forward = kMost, .backward = kMost, .gradient_bytes = 1}};
  for (const auto& iteration : {sequential_iteration, overlapped_iteration}) {
    EXPECT_EQ(iteration(endless, kAffine).total, kMost);
    EXPECT_EQ(iteration(endless, kAffine).exposed(), 0U);
  }
}

TEST(Iterations, OfOneLayerHideNothing) {
  const std::vector<LayerTask> one{kThree[1]};
  EXPECT_EQ(overlapped_iteration(one, kAffine), sequential_iteration(one, kAffine));
  EXPECT_EQ(overlapped_iteration(one, kAffine).exposed(), 60U);
}

TEST(Iterations, OfNoLayersTakeNoTime) {
  EXPECT_EQ(sequential_iteration({}, kNever), IterationTime{});
  EXPECT_EQ(overlapped_iteration({}, kNever), IterationTime{});
}

TEST(Iterations, AskForNoAllReduceOfNothing) {
  const std::vector<LayerTask> none{{.forward = 5, .backward = 7, .gradient_bytes = 0}};
  EXPECT_EQ(sequential_iteration(none, kNever).total, 12U);
  EXPECT_EQ(overlapped_iteration(none, kNever).total, 12U);
}

// n equal layers of backward b whose all-reduces take c: the channel starts after one layer and
// then waits either for itself or for the next gradients: F + b + c + (n - 1) max(b, c).
TEST(Iterations, OfEqualLayersTakeTheLargerOfBackwardAndCommunication) {
  for (const std::uint64_t n : {1U, 2U, 5U, 50U}) {
    for (const std::uint64_t c : {1U, 6U, 7U, 8U, 100U}) {
      const std::vector<LayerTask> layers(n, {.forward = 3, .backward = 7, .gradient_bytes = 1});
      const auto constant = [c](std::uint64_t) { return c; };
      EXPECT_EQ(overlapped_iteration(layers, constant).total,
                3 * n + 7 + c + (n - 1) * std::max<std::uint64_t>(7, c));
    }
  }
}

/// The longest chain: all backward passes down to layer l, then all all-reduces from there on.
std::uint64_t longest_chain(const std::vector<LayerTask>& layers, const AllReduceCycles& cycles) {
  std::uint64_t forward = 0, backward = 0;
  for (const LayerTask& layer : layers) {
    forward += layer.forward;
    backward += layer.backward;
  }
  std::uint64_t longest = forward + backward, before = 0, after = 0;
  for (const LayerTask& layer : layers) {
    after += cycles(layer.gradient_bytes);
    longest = std::max(longest, forward + backward - before + after);
    before += layer.backward;
  }
  return longest;
}

TEST(Iterations, TakeTheLongestChain) {
  std::mt19937 random(17);
  std::uniform_int_distribution<std::uint64_t> number(1, 200);
  for (int round = 0; round < 500; ++round) {
    std::vector<LayerTask> layers(1 + round % 12);
    for (LayerTask& layer : layers) layer = {number(random), number(random), number(random)};
    const IterationTime time = overlapped_iteration(layers, kAffine);
    ASSERT_EQ(time.total, longest_chain(layers, kAffine)) << "round " << round;
    ASSERT_LE(time.exposed(), time.communication);
  }
}

TEST(Iterations, TakeTasksFromWorkloadsAndTheirCycles) {
  const Workload net{.name = "net",
                     .layers = {make_layer("a", {.channels = 3, .filters = 5}),
                                make_layer("b", {.channels = 5, .filters = 7})}};
  const std::vector<LayerCycles> cycles{
      {.forward = 1, .input_gradient = 2, .weight_gradient = 3, .aggregation = 4},
      {.forward = 10, .input_gradient = 20, .weight_gradient = 30, .aggregation = 40}};
  const std::vector<LayerTask> expected{{.forward = 1, .backward = 9, .gradient_bytes = 60},
                                        {.forward = 10, .backward = 90, .gradient_bytes = 140}};
  EXPECT_EQ(layer_tasks(net, cycles), expected);
  EXPECT_EQ(layer_tasks(net, cycles, 2)[1].gradient_bytes, 70U);
}

}  // namespace
}  // namespace multitree::study
