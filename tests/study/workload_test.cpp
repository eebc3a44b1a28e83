// SPDX-License-Identifier: BSD-3-Clause
#include "study/workload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topologies/error.hpp"

namespace multitree::study {
namespace {

// ResNet-50's first convolution: 7x7 with stride 2 over 224 + 2 * 3 pixels, and the last, odd one
// is not reached.
TEST(Layers, AreProductsOfOutputPixelsFiltersAndWindows) {
  const Layer layer = make_layer("conv1", {.input_height = 230,
                                           .input_width = 230,
                                           .filter_height = 7,
                                           .filter_width = 7,
                                           .channels = 3,
                                           .filters = 64,
                                           .stride = 2});
  EXPECT_EQ(layer.forward, (Gemm{.rows = 112 * 112, .columns = 64, .depth = 7 * 7 * 3}));
  EXPECT_EQ(volume(layer.forward), 118013952U);
  EXPECT_EQ(layer.parameters, 9408U);
  EXPECT_EQ(layer.input_pixels, 230U * 230);
  EXPECT_EQ(layer.channels, 3U);
}

TEST(Layers, RoundDownWhereTheStrideDoesNotFit) {
  const Layer layer = make_layer("l", {.input_height = 6,
                                       .input_width = 5,
                                       .filter_height = 3,
                                       .filter_width = 2,
                                       .channels = 1,
                                       .filters = 1,
                                       .stride = 2});
  EXPECT_EQ(layer.forward.rows, 2U * 2);
}

TEST(Layers, FullyConnectedAreOnePixel) {
  const Layer layer = make_layer("fc", {.channels = 2048, .filters = 1000});
  EXPECT_EQ(layer.forward, (Gemm{.rows = 1, .columns = 1000, .depth = 2048}));
}

TEST(Layers, RefuseWhatSumsCannotHold) {
  const std::uint64_t side = std::uint64_t{1} << 20;
  EXPECT_NO_THROW(make_layer("fc", {.channels = side, .filters = side}));
  EXPECT_THROW(make_layer("fc", {.channels = side, .filters = side + 1}), Error);
  EXPECT_THROW(make_layer("fc", {.channels = side, .filters = side}, 2), Error);
  EXPECT_THROW(make_layer("fc", {.channels = 0xffffffff, .filters = 0xffffffff}), Error);
}

TEST(Workloads, SumParametersOnceAndMultiplicationsAsOftenAsRun) {
  const Workload net{.name = "net",
                     .layers = {make_layer("a", {.channels = 3, .filters = 5}),
                                make_layer("b", {.channels = 5, .filters = 7}, 4)}};
  EXPECT_EQ(total_parameters(net), 15U + 35);
  EXPECT_EQ(total_multiplications(net), 15U + 4 * 35);
}

}  // namespace
}  // namespace multitree::study
