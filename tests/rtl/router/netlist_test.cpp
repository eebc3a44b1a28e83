// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What yosys makes of mt_router does what is simulated, in every cycle.
#include <gtest/gtest.h>

#include <cstdint>

#include "Vrouter_direct1.h"
#include "Vrouter_netlist.h"
#include "router_bench.hpp"

namespace multitree::rtl {
namespace {

TEST(RouterNetlist, TakesTheSameCycles) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto simulated = worms_with_ways<Shape<Vrouter_direct1, 3, 3, 4, 8>>(seed);
    const auto netlist = worms_with_ways<Shape<Vrouter_netlist, 3, 3, 4, 8>>(seed);
    ASSERT_TRUE(simulated == netlist && !testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace multitree::rtl
