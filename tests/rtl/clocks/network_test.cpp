// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduces of whole networks whose links have a clock of their own: sums are right at every
/// ratio, and equal clocks cost no more than the way across them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "Vclocks_fattree_2x2.h"
#include "Vclocks_retry_ring_3.h"
#include "Vclocks_torus_2x2.h"
#include "algorithms/registry.hpp"
#include "nic/program/program.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/sim/run.hpp"
#include "rtl/sim/top.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint64_t kMostCycles = 400'000;

/// A collective and what comes of it, computed once.
struct Prepared {
  Prepared(const std::string& network, std::uint64_t bytes)
      : topology(make_topology(network)),
        schedule(make_schedule("multitree", topology, multitree::Collective::AllReduce)) {
    parameters = hardware_parameters({}, schedule, HardwareType::Fp32);
    elements = nic::padded_elements(bytes, parameters.element_bytes, schedule.ranks);
    tables = nic::compile_tables(schedule, topology, {.elements = elements});
    inputs = make_inputs(schedule.ranks, elements, HardwareType::Fp32);
    sums = inputs;
    run_schedule(schedule, HardwareType::Fp32, sums);
  }
  [[nodiscard]] std::size_t bytes() const { return elements * parameters.element_bytes; }

  /// \returns the cycles of the nodes' clock; expects right sums and no error.
  template <typename Model>
  std::uint64_t run(Top<Model>& top) const {
    Buffers buffers = inputs;
    const rtl::Collective collective{
        .tables = tables, .parameters = parameters, .step_lengths = {}};
    const RunResult result =
        run_collective(top, collective, buffers, kMostCycles, [](std::uint64_t) {});
    EXPECT_TRUE(result.errors.empty()) << result.errors.front();
    EXPECT_TRUE(top.done());
    EXPECT_FALSE(top.failed());
    EXPECT_EQ(find_difference(schedule, HardwareType::Fp32, sums, buffers), "");
    return result.cycles;
  }

  Topology topology;
  Schedule schedule;
  nic::Parameters parameters;
  std::uint64_t elements = 0;
  nic::Tables tables;
  Buffers inputs, sums;
};

/// Clocks of the nodes and the links: equal, shifted, in ratios, and nearly equal.
constexpr LinkClock kClocks[] = {{8, 8, 0}, {8, 8, 3}, {3, 2, 0},         {2, 3, 1},
                                 {1, 4, 0}, {4, 1, 2}, {1000, 1001, 500}, {1001, 1000, 7}};

template <typename Model>
void run_all(const std::string& network, std::uint64_t bytes) {
  const Prepared prepared(network, bytes);
  for (const LinkClock& clock : kClocks) {
    SCOPED_TRACE(fmt::format("{}, clocks of {} and {}", network, clock.core, clock.link));
    Top<Model> top(prepared.topology, prepared.parameters, prepared.bytes(), clock);
    const std::uint64_t cycles = prepared.run(top);
    // Once more: what is left of the first is not in its way.
    const std::uint64_t again = prepared.run(top);
    EXPECT_NEAR(static_cast<double>(again), static_cast<double>(cycles), 64);
  }
}

TEST(LinkClocks, SumsAreRightAtEveryRatio) { run_all<Vclocks_torus_2x2>("torus:2x2", 8 << 10); }
TEST(LinkClocks, BehindSwitches) { run_all<Vclocks_fattree_2x2>("fattree:2x2", 4 << 10); }
TEST(LinkClocks, WithLinksThatMayLose) { run_all<Vclocks_retry_ring_3>("ring:3", 4 << 10); }

/// Cycles of a size more: what the clocks cost is a latency, not a part of the rate, and slow links
/// limit the rate to theirs.
TEST(LinkClocks, EqualClocksKeepTheRate) {
  const Prepared small("torus:2x2", 16 << 10), large("torus:2x2", 48 << 10);
  const auto more = [&](const LinkClock& clock) {
    Top<Vclocks_torus_2x2> a(small.topology, small.parameters, small.bytes(), clock);
    Top<Vclocks_torus_2x2> b(large.topology, large.parameters, large.bytes(), clock);
    return static_cast<double>(large.run(b) - small.run(a));
  };
  const double words = 32 << 10;
  const double equal = more({8, 8, 0}), shifted = more({8, 8, 5}), slow = more({2, 4, 1}),
               fast = more({4, 2, 1});
  RecordProperty("cycles", fmt::format("{} {} {} {}", equal, shifted, slow, fast));
  EXPECT_NEAR(shifted, equal, 0.01 * equal);
  EXPECT_NEAR(fast, equal, 0.01 * equal);
  EXPECT_GT(slow, 1.9 * equal);
  EXPECT_LT(slow, 2.3 * equal);
  EXPECT_GT(equal, words / 16 / 8);
}

}  // namespace
}  // namespace multitree::rtl
