// SPDX-License-Identifier: BSD-3-Clause
/// The published claim on BiGraphs: MULTITREE is not slower than HDRM, the algorithm that was made
/// for them, from 32 KiB up.
#include <gtest/gtest.h>

#include "simulation.hpp"

namespace multitree {
namespace {

using nic::Model;

class OnBiGraph : public testing::TestWithParam<const char*> {
 protected:
  static std::uint64_t cycles(const char* algorithm, std::uint64_t bytes, Model model) {
    return test::cycles_of({.topology = GetParam(), .algorithm = algorithm, .bytes = bytes}, model);
  }
};

TEST_P(OnBiGraph, MultitreeIsNotSlowerThanHdrm) {
  for (std::uint64_t bytes = 32 << 10; bytes <= 16 << 20; bytes *= 2) {
    EXPECT_LE(cycles("multitree", bytes, Model::Message), cycles("hdrm", bytes, Model::Message))
        << bytes;
  }
}

TEST_P(OnBiGraph, NeitherFlitByFlit) {
  for (const std::uint64_t bytes : {32 << 10, 64 << 10}) {
    EXPECT_LE(cycles("multitree", bytes, Model::Flit), cycles("hdrm", bytes, Model::Flit)) << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(, OnBiGraph, testing::Values("bigraph:2x4", "bigraph:2x8", "bigraph:4x8"));

}  // namespace
}  // namespace multitree
