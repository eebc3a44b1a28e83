// SPDX-License-Identifier: BSD-3-Clause
#include "study/systolic.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "topologies/error.hpp"

namespace multitree::study {
namespace {

const Accelerator kStreamed;
const Accelerator kDrained{.folds = Folds::Drained};

TEST(Products, OfOneFoldFillComputeAndEmptyTheArray) {
  const Gemm fold{.rows = 32, .columns = 32, .depth = 100};
  EXPECT_EQ(gemm_cycles(fold, kDrained), 2U * 32 + 32 + 100 - 2);
  EXPECT_EQ(gemm_cycles(fold, kStreamed), 2U * 32 + 32 + 100 - 2);
}

TEST(Products, PayForEveryFoldWhenDrained) {
  EXPECT_EQ(gemm_cycles({.rows = 65, .columns = 33, .depth = 10}, kDrained), 3U * 2 * (94 + 10));
  EXPECT_EQ(gemm_cycles({.rows = 1, .columns = 1, .depth = 1}, kDrained), 95U);
  EXPECT_EQ(gemm_cycles({.rows = 5, .columns = 9, .depth = 7},
                        {.rows = 4, .columns = 8, .folds = Folds::Drained}),
            2U * 2 * (2 * 4 + 8 + 7 - 2));
}

TEST(Products, StreamFoldsOneBehindTheOther) {
  EXPECT_EQ(gemm_cycles({.rows = 64, .columns = 96, .depth = 100}, kStreamed), 6U * 100 + 94);
  // A user's row of the recommendation network: one row and eight columns of the array.
  EXPECT_EQ(gemm_cycles({.rows = 1, .columns = 8, .depth = 138000}, kStreamed), 138008U);
}

// Outputs leave one row a cycle, so a shallow fold holds the next one up: 3 of 4 folds here, and
// the first of 33 rows there.
TEST(Products, WaitForOutputsOfShallowFolds) {
  EXPECT_EQ(gemm_cycles({.rows = 64, .columns = 64, .depth = 1}, kStreamed), 3U * 32 + 1 + 94);
  EXPECT_EQ(gemm_cycles({.rows = 33, .columns = 1, .depth = 10}, kStreamed), 32U + 10 + 63);
  EXPECT_EQ(gemm_cycles({.rows = 33, .columns = 64, .depth = 10}, kStreamed),
            32U + 10 + 32 + 10 + 94);
}

TEST(Products, OfNothingTakeNoTime) {
  EXPECT_EQ(gemm_cycles({}, kStreamed), 0U);
  EXPECT_EQ(gemm_cycles({}, kDrained), 0U);
}

TEST(Products, TakeAtLeastTheirMultiplicationsAndNoMoreWhenStreamed) {
  std::mt19937 random(5);
  std::uniform_int_distribution<std::uint64_t> size(1, 150);
  for (int round = 0; round < 2000; ++round) {
    const Gemm gemm{.rows = size(random), .columns = size(random), .depth = size(random)};
    const std::uint64_t streamed = gemm_cycles(gemm, kStreamed);
    ASSERT_LE(streamed, gemm_cycles(gemm, kDrained));
    ASSERT_GE(streamed * 32 * 32, volume(gemm));
    for (auto more : {&Gemm::rows, &Gemm::columns, &Gemm::depth}) {
      Gemm larger = gemm;
      ++(larger.*more);
      ASSERT_GE(gemm_cycles(larger, kStreamed), streamed);
    }
  }
}

// 5x5 pixels of 3 channels, 3x3 filters to 7 channels, stride 2: 2x2 output pixels.
TEST(Backward, IsTwoProducts) {
  const Layer layer = make_layer("conv", {.input_height = 5,
                                          .input_width = 5,
                                          .filter_height = 3,
                                          .filter_width = 3,
                                          .channels = 3,
                                          .filters = 7,
                                          .stride = 2});
  EXPECT_EQ(input_gradient(layer, InputGradient::Transposed),
            (Gemm{.rows = 25, .columns = 3, .depth = 9 * 7}));
  EXPECT_EQ(input_gradient(layer, InputGradient::Unfolded),
            (Gemm{.rows = 4, .columns = 27, .depth = 7}));
  EXPECT_EQ(weight_gradient(layer), (Gemm{.rows = 27, .columns = 7, .depth = 4}));
  EXPECT_EQ(volume(weight_gradient(layer)), volume(layer.forward));
  EXPECT_EQ(volume(input_gradient(layer, InputGradient::Unfolded)), volume(layer.forward));
}

TEST(Backward, OfLookupsIsNothing) {
  const Layer lookup{.name = "lookup",
                     .forward = {},
                     .input_pixels = 0,
                     .channels = 0,
                     .repeat = 1,
                     .parameters = 100};
  EXPECT_EQ(input_gradient(lookup, InputGradient::Transposed), Gemm{});
  EXPECT_EQ(input_gradient(lookup, InputGradient::Unfolded), Gemm{});
  EXPECT_EQ(weight_gradient(lookup), Gemm{});
}

// 1000 weights: 63 for each of 16 arrays, 2 cycles of 32 for each of the 16 gradients.
TEST(Aggregation, IsSharedByTheArrays) {
  EXPECT_EQ(aggregation_cycles(1000, {}), 2U * 16);
  EXPECT_EQ(aggregation_cycles(0, {}), 0U);
  EXPECT_EQ(aggregation_cycles(1000, {.arrays = 1}), 0U);
  EXPECT_EQ(aggregation_cycles(1000, {.rows = 8, .columns = 64}), 1U * 16);
}

TEST(TrainingCycles, AreThoseOfThePassesOfEveryLayer) {
  const Workload net{.name = "net",
                     .layers = {make_layer("a", {.channels = 40, .filters = 5}),
                                make_layer("b", {.channels = 5, .filters = 7}, 3)}};
  const auto cycles = training_cycles(net);
  ASSERT_EQ(cycles.size(), 2U);
  EXPECT_EQ(cycles[0].forward, 40U + 2 + 5 - 2);
  EXPECT_EQ(cycles[0].input_gradient, 5U + 5 + 2 + 32 - 2);  // 40 columns: two folds
  EXPECT_EQ(cycles[0].weight_gradient, 32U + 1 + 2 * 32 + 5 - 2);
  EXPECT_EQ(cycles[0].aggregation, 16U);
  EXPECT_EQ(cycles[1].forward, 3 * (5U + 2 + 7 - 2));
  EXPECT_EQ(total_cycles(cycles),
            cycles[0].forward + cycles[0].backward() + cycles[1].forward + cycles[1].backward());

  const auto without = training_cycles(net, {.samples = 2, .first_input_gradient = false});
  EXPECT_EQ(without[0].forward, 2 * cycles[0].forward);
  EXPECT_EQ(without[0].input_gradient, 0U);
  EXPECT_EQ(without[0].aggregation, cycles[0].aggregation);
  EXPECT_EQ(without[1].input_gradient, 2 * cycles[1].input_gradient);
}

TEST(TrainingCycles, SaturateInsteadOfOverflowing) {
  const Workload net{.name = "net",
                     .layers = {make_layer("a", {.channels = 1, .filters = 1}, 0xffffffff)}};
  Workload many = net;
  many.layers.assign(kMaxLayers, net.layers[0]);
  const auto cycles = training_cycles(
      many, {.rows = 256, .columns = 256, .samples = 1U << 16, .folds = Folds::Drained});
  EXPECT_EQ(total_cycles(cycles), std::numeric_limits<std::uint64_t>::max());
}

TEST(TrainingCycles, RefuseImpossibleAccelerators) {
  const Workload net;
  EXPECT_THROW(training_cycles(net, {.rows = 0}), Error);
  EXPECT_THROW(training_cycles(net, {.columns = 257}), Error);
  EXPECT_THROW(training_cycles(net, {.arrays = 0}), Error);
  try {
    training_cycles(net, {.samples = 0});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_STREQ(error.what(), "accelerator: samples: expected a number from 1 to 65536, found 0");
  }
}

/// Predicted over measured cycles.
double ratio(const std::string& table, double measured) {
  const Workload net = parse_workloads(table, "reduced.csv").at(0);
  return static_cast<double>(total_cycles(training_cycles(net))) / measured;
}

// The study's simulator was run on its own, reduced networks ("compute only", 64 ranks, mini-batch
// 1024, so one sample on each array); see docs/study.md for all four.
const std::string kTotals = "workload,layer,params,fwd_macs,out_elems\n";

TEST(StudySimulator, IsMetOnTheRecommendationNetwork) {
  EXPECT_NEAR(
      ratio(kTotals + "n,user1,1104000,1104000,8\nn,item1,1104000,1104000,8\n"
                      "n,user2,4416000,4416000,32\nn,item2,4416000,4416000,32\n"
                      "n,fc1,2048,2048,32\nn,fc2,512,512,16\nn,fc3,128,128,8\nn,fc4,16,16,1\n",
            1'795'003),
      1, 0.0005);
}

TEST(StudySimulator, IsMetOnTheTransformer) {
  std::string table = kTotals;
  const auto rows = [&](int count, const char* row) {
    for (int i = 0; i < count; ++i) table += row;
  };
  rows(2, "t,embedding,33708,17258496,17258496\n");
  rows(3 * 144, "t,projection,32768,32768,64\n");
  rows(144, "t,scores,64,4096,4096\n");
  rows(144, "t,values,64,4096,64\n");
  rows(145, "t,heads,262144,262144,512\n");
  rows(12, "t,ffn1,1048576,1048576,2048\n");
  rows(12, "t,ffn2,1048576,1048576,512\n");
  EXPECT_NEAR(ratio(table, 13'101'670), 1, 0.01);
}

// One residual block, without padding; only the shapes tell how large input gradients are.
TEST(StudySimulator, IsMetOnTheGoNetwork) {
  EXPECT_NEAR(ratio("Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, "
                    "Num Filter, Strides,\n"
                    "conv, 19, 19, 3, 3, 17, 256, 1,\n"
                    "block1, 19, 19, 3, 3, 256, 256, 1,\n"
                    "block2, 19, 19, 3, 3, 256, 256, 1,\n"
                    "value, 19, 19, 1, 1, 256, 1, 1,\n"
                    "value fc1, 1, 1, 1, 1, 361, 256, 1,\n"
                    "value fc2, 1, 1, 1, 1, 256, 1, 1,\n"
                    "policy, 19, 19, 1, 1, 256, 2, 1,\n"
                    "policy fc, 1, 1, 1, 1, 722, 362, 1,\n",
                    1'297'951),
              1, 0.002);
}

}  // namespace
}  // namespace multitree::study
