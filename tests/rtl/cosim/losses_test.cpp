// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums that go on without late contributions: every event of random points in every cycle, what
/// every header counts, and every sum, model and hardware; and who is missing, by a statement of
/// its own.
///
/// MULTITREE_COSIM_LOSSES: how many points instead of 40; MULTITREE_COSIM_SEED: others than in CI.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <string>

#include "algorithms/registry.hpp"
#include "nic/losses.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/sim/late.hpp"
#include "rtl/sim/node.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint32_t kLossPointsPerTest = 10;

std::uint32_t loss_number_from(const char* name, std::uint32_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

/// Who is missing, by what the document says: those that are late, unless they are too many.
std::vector<std::uint32_t> missing_by_rule(const nic::Losses& losses) {
  std::vector<std::uint32_t> late;
  for (std::uint32_t r = 0; r < losses.ready.size(); ++r) {
    if (losses.ready[r] > losses.deadline) late.push_back(r);
  }
  return late.size() <= losses.budget ? late : std::vector<std::uint32_t>{};
}

struct LossPoint {
  Topology topology;
  std::string algorithm;
  std::uint64_t bytes = 0;
  nic::Parameters parameters;
  CosimOptions options;
  std::string text;
};

LossPoint make_loss_point(std::uint32_t number) {
  std::mt19937 random(loss_number_from("MULTITREE_COSIM_SEED", 1) * 1'000'003 + number);
  constexpr std::array networks = {
      "ring:2", "ring:3",           "mesh:2x2",    "mesh:2x3",    "torus:2x2",         "torus:3x3",
      "star:4", "mesh:3x3?lat=7ns", "hypercube:3", "fattree:2x2", "torus:4x4?lat=20ns"};
  constexpr std::array names = {"multitree", "multitree", "ring", "allreduce-optimal"};
  constexpr std::array types = {HardwareType::Fp32, HardwareType::Int32, HardwareType::Bf16,
                                HardwareType::Fp16};
  constexpr std::array sizes = {8U, 64U, 200U, 1000U, 4096U};
  LossPoint point{.topology = make_topology(networks[number % networks.size()]),
                  .algorithm = names[random() % names.size()],
                  .bytes = sizes[random() % sizes.size()],
                  .parameters = {},
                  .options = {.type = types[random() % types.size()]},
                  .text = {}};
  point.options.adders = random() % 2 == 0 ? Adders::Hardware : Adders::Function;
  point.parameters.flow_control =
      random() % 2 == 0 ? nic::FlowControl::Message : nic::FlowControl::Packet;
  point.parameters.packet_bytes = random() % 2 == 0 ? 32 : 256;
  const std::uint32_t ranks = point.topology.num_ranks();
  nic::Losses losses{.deadline = random() % 3 == 0 ? random() % 4 : random() % 2000,
                     .budget = static_cast<std::uint32_t>(random() % ranks)};
  const std::uint32_t stragglers = static_cast<std::uint32_t>(random() % (ranks + 1));
  losses.ready.assign(ranks, 0);
  for (std::uint32_t s = 0; s < stragglers; ++s) {
    losses.ready[random() % ranks] = losses.deadline + random() % 3 * (random() % 1500);
  }
  point.text = fmt::format(
      "{} {}, {} bytes, type {}, packets {}, deadline {}, budget {}, ready {}",
      networks[number % networks.size()], point.algorithm, point.bytes,
      static_cast<int>(point.options.type),
      point.parameters.flow_control == nic::FlowControl::Packet ? point.parameters.packet_bytes : 0,
      losses.deadline, losses.budget, fmt::join(losses.ready, " "));
  point.options.losses = losses;
  return point;
}

class LossCosimulation : public testing::TestWithParam<std::uint32_t> {};

TEST_P(LossCosimulation, ModelAndHardwareAgreeInEveryCycle) {
  std::uint32_t compared = 0, without = 0, waited = 0;
  std::uint64_t events = 0;
  for (std::uint32_t i = 0; compared < kLossPointsPerTest && i < 40 * kLossPointsPerTest; ++i) {
    const LossPoint point = make_loss_point(GetParam() * 1000 + i);
    SCOPED_TRACE(point.text);
    try {
      const CosimResult result =
          cosimulate(make_schedule(point.algorithm, point.topology), point.topology, point.bytes,
                     point.parameters, point.options);
      EXPECT_EQ(result.difference, "");
      EXPECT_EQ(result.wrong, "");
      for (const std::string& error : result.hardware.errors) ADD_FAILURE() << error;
      EXPECT_EQ(result.hardware.cycles, result.model_cycles);
      ASSERT_TRUE(result.losses);
      const nic::Losses& losses = *point.options.losses;
      EXPECT_EQ(result.losses->absent, missing_by_rule(losses));
      EXPECT_EQ(result.losses->contributions + result.losses->absent.size(),
                point.topology.num_ranks());
      without += result.losses->absent.empty() ? 0 : 1;
      waited += losses.budget > 0 && result.losses->absent.empty() && !result.losses->late.empty();
      events += result.events;
      ++compared;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::Unsupported) << error.what();
    }
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(compared, kLossPointsPerTest);
  fmt::print("{} points, {} events compared; {} sums without somebody, {} that waited for more\n",
             compared, events, without, waited);
}

INSTANTIATE_TEST_SUITE_P(Random, LossCosimulation,
                         testing::Range(0U, (loss_number_from("MULTITREE_COSIM_LOSSES", 40) +
                                             kLossPointsPerTest - 1) /
                                                kLossPointsPerTest));

/// What a driver has: an image of both groups, loaded into a network of interfaces.
struct Driver {
  explicit Driver(const Schedule& schedule, const Topology& topology)
      : sum(&schedule),
        call(nic::roll_call_of(schedule)),
        image(nic::compile_groups(nic::counted_groups(call, schedule, kElements), topology)),
        parameters(hardware_parameters({}, schedule, HardwareType::Int32)),
        network(topology, parameters, kElements * 4, Adders::Function),
        collective{.tables = image,
                   .parameters = parameters,
                   .type = HardwareType::Int32,
                   .step_lengths = {}} {
    collective.watchdog = 0;
  }
  /// The first number of the sum of these ranks, if every rank has it.
  void expect_sum_of(const std::vector<std::uint32_t>& ranks, const Buffers& got) const {
    Buffers expected = make_inputs(image.ranks, kElements, HardwareType::Int32);
    for (std::uint32_t r = 0; r < image.ranks; ++r) {
      if (std::ranges::find(ranks, r) == ranks.end()) std::ranges::fill(expected[r], std::byte{});
    }
    run_schedule(*sum, HardwareType::Int32, expected);
    EXPECT_EQ(find_difference(*sum, HardwareType::Int32, expected, got), "");
  }

  static constexpr std::uint64_t kElements = 400;
  const Schedule* sum;
  Schedule call;
  nic::Tables image;
  nic::Parameters parameters;
  Network network;
  Collective collective;
};

/// A run without a rank, then one with everybody: nothing of the first is left.
TEST(LossDriver, TheNextRunIsItsOwn) {
  const Topology topology = make_topology("mesh:2x2?lat=4ns");
  const Schedule schedule = make_schedule("multitree", topology);
  Driver driver(schedule, topology);
  const nic::Losses late{.deadline = 60, .budget = 1, .ready = {0, 0, 5000, 0}};
  driver.collective.bounds = bounds_of(late, 4);
  driver.collective.rings = rings_of(late, {0, 1}, 4);
  Buffers buffers = make_inputs(4, Driver::kElements, HardwareType::Int32);
  RunResult result = run_collective(driver.network, driver.collective, buffers, 20'000);
  EXPECT_EQ(result.errors, std::vector<std::string>{});
  EXPECT_EQ(report_of(result.fates).absent, std::vector<std::uint32_t>{2});
  EXPECT_LT(result.cycles, 5000);
  driver.expect_sum_of({0, 1, 3}, buffers);
  driver.collective.rings = rings_of({}, {0, 1}, 4);
  buffers = make_inputs(4, Driver::kElements, HardwareType::Int32);
  result = run_again(driver.network, driver.collective, buffers, 20'000);
  EXPECT_EQ(result.errors, std::vector<std::string>{});
  EXPECT_EQ(report_of(result.fates), (nic::LossReport{.contributions = 4}));
  driver.expect_sum_of({0, 1, 2, 3}, buffers);
}

/// A contribution that comes while the sum goes on without it is not read, and the register says
/// so. One that was held is waited for, however late it is; and a hold after the deadline is too
/// late.
TEST(LossDriver, HoldBeforeTheDeadlineIsWaitedFor) {
  const Topology topology = make_topology("mesh:2x2?lat=4ns");
  const Schedule schedule = make_schedule("multitree", topology);
  for (const std::uint64_t hold_at : {20U, 90U}) {
    Driver driver(schedule, topology);
    const nic::Losses late{.deadline = 60, .budget = 1, .ready = {0, 0, 140, 0}};
    driver.collective.bounds = bounds_of(late, 4);
    driver.collective.rings = rings_of(late, {0, 1}, 4);
    Buffers buffers = make_inputs(4, Driver::kElements, HardwareType::Int32);
    const RunResult result = run_collective(
        driver.network, driver.collective, buffers, 20'000, [&](std::uint64_t cycle) {
          if (cycle == hold_at) driver.network.put_write(Rank{2}, {reg::kLosses, 1});
        });
    EXPECT_EQ(result.errors, std::vector<std::string>{});
    const bool in_time = hold_at < late.deadline;
    EXPECT_EQ(result.fates[2].late, !in_time);
    EXPECT_EQ(result.fates[2].absent, !in_time);
    EXPECT_EQ(result.fates[2].discarded, !in_time);
    EXPECT_EQ(result.fates[0].found, in_time ? 4U : 3U);
    driver.expect_sum_of(
        in_time ? std::vector<std::uint32_t>{0, 1, 2, 3} : std::vector<std::uint32_t>{0, 1, 3},
        buffers);
  }
}

}  // namespace
}  // namespace multitree::rtl
