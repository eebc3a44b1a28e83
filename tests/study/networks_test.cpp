// SPDX-License-Identifier: BSD-3-Clause
// The tables that are shipped, against what is published about the networks.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "study/systolic.hpp"
#include "study/workload.hpp"
#include "tests/paths.hpp"

namespace multitree::study {
namespace {

Workload network(const std::string& name) {
  return read_workloads(test::source_path("study/workloads/" + name + ".csv")).at(0);
}

struct Published {
  const char* name;
  std::size_t layers;
  double parameters;           ///< with biases and normalisation, which tables leave out
  double tolerance;            ///< of parameters, relative
  double multiplications = 0;  ///< of a forward pass; 0: none published for this input
};

class Networks : public testing::TestWithParam<Published> {};

TEST_P(Networks, HaveThePublishedSize) {
  const Published& published = GetParam();
  const Workload net = network(published.name);
  EXPECT_EQ(net.name, published.name);
  EXPECT_EQ(net.layers.size(), published.layers);
  EXPECT_NEAR(static_cast<double>(total_parameters(net)) / published.parameters, 1,
              published.tolerance);
  if (published.multiplications > 0) {
    EXPECT_NEAR(static_cast<double>(total_multiplications(net)) / published.multiplications, 1,
                0.01);
  }
}

TEST_P(Networks, TrainInFiniteTime) {
  const auto cycles = training_cycles(network(GetParam().name));
  EXPECT_TRUE(std::ranges::all_of(cycles, [](const LayerCycles& layer) {
    return layer.forward > 0 && layer.input_gradient > 0 && layer.weight_gradient > 0;
  }));
}

// Sources: study/workloads/README.md.
INSTANTIATE_TEST_SUITE_P(Shipped, Networks,
                         testing::Values(Published{"alexnet", 8, 61'100'840, 0.0002, 0.714e9},
                                         Published{"alphagozero", 44, 22.8e6, 0.001},
                                         Published{"fasterrcnn", 58, 29.03e6, 0.001},
                                         Published{"googlenet", 58, 6.8e6, 0.03, 1.58e9},
                                         Published{"ncf", 8, 31'832'577, 0.0001},
                                         Published{"resnet50", 54, 25'557'032, 0.0025, 4.09e9},
                                         Published{"transformer", 135, 65e6, 0.04}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(NetworkShapes, OfGoAreOneConvolutionNineteenBlocksAndTwoHeads) {
  const std::uint64_t block = 2 * 9 * 256 * 256;
  const std::uint64_t policy = 2 * 256 + 2 * 361 * 362;
  const std::uint64_t value = 256 + 361 * 256 + 256;
  EXPECT_EQ(total_parameters(network("alphagozero")), 9 * 17 * 256 + 19 * block + policy + value);
}

// Layers 1 to 43 are the same; the detector adds proposals and classifies regions with stage 5.
TEST(NetworkShapes, OfDetectionShareTheirBackbone) {
  const Workload detector = network("fasterrcnn");
  const Workload classifier = network("resnet50");
  for (std::size_t i = 0; i < 43; ++i) EXPECT_EQ(detector.layers[i], classifier.layers[i]);
  const std::uint64_t proposals = 9 * 1024 * 512 + 512 * 9 * (2 + 4);
  const std::uint64_t predictor = 2048 * 81 * (1 + 4);
  EXPECT_EQ(total_parameters(detector),
            total_parameters(classifier) - 2048 * 1000 + proposals + predictor);
  EXPECT_EQ(detector.layers.back().repeat, 64U);
}

TEST(NetworkShapes, OfTranslationCountTheirSharedEmbeddingOnce) {
  const Workload net = network("transformer");
  const std::uint64_t square = 512 * 512;
  EXPECT_EQ(total_parameters(net), 37000 * 512 + 6 * (4 + 8) * square + 6 * (8 + 8) * square);
  EXPECT_EQ(net.layers.front().parameters, 37000U * 512);
  EXPECT_EQ(net.layers.back().parameters, 0U);
  EXPECT_EQ(std::ranges::count(net.layers, 8U, &Layer::repeat), 2 * 18);
}

}  // namespace
}  // namespace multitree::study
