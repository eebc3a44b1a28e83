// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Images of several groups: every event of random points in every cycle, model and hardware, with
/// doorbells at any time; and what hardware does whose doorbells are not rung.
///
/// MULTITREE_COSIM_GROUPS: how many points instead of 60; MULTITREE_COSIM_SEED: others than in CI.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <functional>
#include <random>
#include <string>

#include "algorithms/registry.hpp"
#include "nic/program/program.hpp"
#include "nic/table/table.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/sim/loader.hpp"
#include "rtl/sim/node.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kGroupPointsPerTest = 10;

std::uint32_t group_number_from(const char* name, std::uint32_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

/// Groups, their schedules, and the image.
struct Iteration {
  Topology topology;
  std::deque<Schedule> schedules = {};
  std::vector<nic::Job> jobs = {};

  /// The next group. \returns its job.
  nic::Job& add(const std::string& algorithm, multitree::Collective collective,
                std::uint64_t bytes) {
    schedules.push_back(make_schedule(algorithm, topology, collective, Rank{0}));
    return jobs.emplace_back(nic::Job{.schedule = &schedules.back(), .bytes = bytes});
  }
  [[nodiscard]] nic::Tables image(std::uint32_t element_bytes = 4) const {
    std::vector<nic::GroupSource> sources;
    for (const nic::Job& job : jobs) {
      sources.push_back(
          {.schedule = job.schedule,
           .elements = nic::padded_elements(job.bytes, element_bytes, topology.num_ranks()),
           .priority = job.priority});
    }
    return nic::compile_groups(sources, topology);
  }
};

Time cycles(std::uint64_t number) {  // links of a flit of 16 bytes a nanosecond
  return Time{static_cast<std::int64_t>(number) * 1000};
}

struct GroupPoint {
  Iteration iteration;
  nic::Parameters parameters;
  CosimOptions options;
  std::string text;
};

/// A number of its own for each point, so that they do not depend on each other.
GroupPoint make_group_point(std::uint32_t number) {
  std::mt19937 random(group_number_from("MULTITREE_COSIM_SEED", 1) * 1'000'003 + number);
  constexpr std::array networks = {"ring:2",      "ring:3",      "mesh:2x2",          "mesh:2x3",
                                   "torus:2x2",   "torus:3x3",   "mesh:3x3?lat=7ns",  "star:4",
                                   "hypercube:3", "fattree:2x2", "torus:4x4?lat=20ns"};
  constexpr std::array collectives = {
      multitree::Collective::AllReduce,     multitree::Collective::AllReduce,
      multitree::Collective::ReduceScatter, multitree::Collective::AllGather,
      multitree::Collective::Broadcast,     multitree::Collective::Reduce};
  constexpr std::array types = {HardwareType::Fp32, HardwareType::Int32, HardwareType::Bf16,
                                HardwareType::Fp16};
  constexpr std::array sizes = {8U, 64U, 200U, 1000U, 1024U, 4096U};
  GroupPoint point{.iteration = {make_topology(networks[number % networks.size()])},
                   .parameters = {},
                   .options = {.type = types[random() % types.size()]},
                   .text = networks[number % networks.size()]};
  point.options.adders = random() % 2 == 0 ? Adders::Hardware : Adders::Function;
  point.options.own_chunks = random() % 2 == 0;
  nic::Parameters& p = point.parameters;
  p.flow_control = random() % 2 == 0 ? nic::FlowControl::Message : nic::FlowControl::Packet;
  constexpr std::array packets = {32U, 64U, 256U};
  p.packet_bytes = packets[random() % packets.size()];
  constexpr std::array buffers = {20U, 318U, 512U};
  p.buffer_flits = buffers[random() % buffers.size()];
  const auto all = algorithms();
  const auto groups = static_cast<std::uint32_t>(1 + random() % 6);
  // Priorities that are all different, or some of them the same.
  const std::uint32_t priorities = random() % 2 == 0 ? 100 : 2;
  for (std::uint32_t g = 0; g < groups; ++g) {
    const std::string algorithm(random() % 2 == 0 ? "multitree" : all[random() % all.size()].name);
    nic::Job& job = point.iteration.add(algorithm, collectives[random() % collectives.size()],
                                        sizes[random() % sizes.size()]);
    job.priority = static_cast<std::uint32_t>(random() % priorities);
    job.ready = cycles(random() % 4 == 0 ? 0 : random() % 3 == 0 ? random() % 8 : random() % 3000);
    if (g > 0 && random() % 4 == 0) {
      job.after = {static_cast<std::uint32_t>(random() % g)};
      job.delay = cycles(random() % 50);
    }
    point.text += fmt::format("; {} {} {} bytes, priority {}, ready {}{}", algorithm,
                              multitree::to_string(job.schedule->collective), job.bytes,
                              job.priority, job.ready.picoseconds / 1000,
                              job.after.empty() ? "" : fmt::format(", after {}", job.after[0]));
  }
  point.text += "; " + nic::write_parameters(p);
  return point;
}

class GroupCosimulation : public testing::TestWithParam<std::uint32_t> {};

TEST_P(GroupCosimulation, ModelAndHardwareAgreeInEveryCycle) {
  std::uint32_t compared = 0, unsupported = 0;
  std::uint64_t events = 0;
  for (std::uint32_t i = 0; compared < kGroupPointsPerTest && i < 40 * kGroupPointsPerTest; ++i) {
    try {
      const GroupPoint point = make_group_point(GetParam() * 1000 + i);
      SCOPED_TRACE(point.text);
      const CosimResult result =
          cosimulate(point.iteration.image(bytes_of(point.options.type)), point.iteration.jobs,
                     point.iteration.topology, point.parameters, point.options);
      EXPECT_EQ(result.difference, "");
      EXPECT_EQ(result.wrong, "");
      for (const std::string& error : result.hardware.errors) ADD_FAILURE() << error;
      EXPECT_EQ(result.hardware.cycles, result.model_cycles);
      events += result.events;
      ++compared;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::Unsupported) << error.what();
      ++unsupported;
    }
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(compared, kGroupPointsPerTest);
  fmt::print("{} points, {} events compared, {} points not possible\n", compared, events,
             unsupported);
}

INSTANTIATE_TEST_SUITE_P(Random, GroupCosimulation,
                         testing::Range(0U, (group_number_from("MULTITREE_COSIM_GROUPS", 60) +
                                             kGroupPointsPerTest - 1) /
                                                kGroupPointsPerTest));

/// The reduction of one group beside the all-gather of another, and a more urgent one that
/// overtakes.
TEST(Groups, AreUnderWayTogether) {
  Iteration iteration{make_topology("torus:4x4")};
  iteration.add("multitree", multitree::Collective::ReduceScatter, 65536).priority = 2;
  iteration.add("multitree", multitree::Collective::AllGather, 65536).priority = 1;
  nic::Job& urgent = iteration.add("multitree", multitree::Collective::AllReduce, 4096);
  urgent.ready = cycles(700);
  const CosimResult result =
      cosimulate(iteration.image(), iteration.jobs, iteration.topology, {}, {});
  EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
}

/// A rank whose doorbell of a group is not rung neither sends nor takes in anything of it.
TEST(Groups, WhatIsNotRungStaysAsItIs) {
  Iteration iteration{make_topology("mesh:2x2?lat=4ns")};
  iteration.add("multitree", multitree::Collective::AllReduce, 256).priority = 1;
  iteration.add("ring", multitree::Collective::AllReduce, 512);
  const nic::Tables image = iteration.image();
  ASSERT_EQ(doorbells_of(image), (std::vector<std::uint32_t>{1, 0}));
  const Schedule* const both[] = {iteration.jobs[0].schedule, iteration.jobs[1].schedule};
  const nic::Parameters parameters = hardware_parameters({}, both, HardwareType::Int32);
  Network network(iteration.topology, parameters, image.elements * 4, Adders::Function);
  Collective collective{
      .tables = image, .parameters = parameters, .type = HardwareType::Int32, .step_lengths = {}};
  // Group 1 at all ranks; group 0 at all but rank 3.
  for (std::uint32_t r = 0; r < 4; ++r) collective.rings.push_back({5, r, r == 3 ? 1U : 3U});
  const Buffers inputs = make_inputs(4, image.elements, HardwareType::Int32);
  Buffers buffers = inputs;
  const RunResult result = run_collective(network, collective, buffers, 3000);
  ASSERT_EQ(result.errors.size(), 4);
  for (const std::string& error : result.errors) EXPECT_THAT(error, HasSubstr("not done after"));
  for (std::uint32_t r = 0; r < 4; ++r) {
    EXPECT_EQ(network.read(Rank{r}, reg::kDoorbell), r == 3 ? 1U : 3U);
    EXPECT_EQ(network.read(Rank{r}, reg::kOver), 1U);
  }
  // The first 64 elements are group 0's.
  EXPECT_TRUE(std::equal(buffers[3].begin(), buffers[3].begin() + 256, inputs[3].begin()));
  Buffers expected(4), got(4);
  for (std::uint32_t r = 0; r < 4; ++r) {
    expected[r].assign(inputs[r].begin() + 256, inputs[r].end());
    got[r].assign(buffers[r].begin() + 256, buffers[r].end());
  }
  run_schedule(*both[1], HardwareType::Int32, expected);
  EXPECT_EQ(find_difference(*both[1], HardwareType::Int32, expected, got), "");
}

/// The same image again and again: doorbells and counts begin anew when it is armed.
TEST(Groups, RunAgain) {
  Iteration iteration{make_topology("torus:3x2?lat=4ns")};
  iteration.add("multitree", multitree::Collective::AllReduce, 600);
  iteration.add("multitree", multitree::Collective::AllReduce, 300);
  const nic::Tables image = iteration.image();
  const Schedule* const both[] = {iteration.jobs[0].schedule, iteration.jobs[1].schedule};
  const nic::Parameters parameters = hardware_parameters({}, both, HardwareType::Fp32);
  Network network(iteration.topology, parameters, image.elements * 4, Adders::Function);
  Collective collective{.tables = image, .parameters = parameters, .step_lengths = {}};
  for (std::uint32_t r = 0; r < 6; ++r) collective.rings.push_back({r * 3, r, 3});
  const Buffers inputs = make_inputs(6, image.elements, HardwareType::Fp32);
  Buffers first = inputs, second = inputs;
  const RunResult once = run_collective(network, collective, first, 20'000);
  EXPECT_EQ(once.errors, std::vector<std::string>{});
  const RunResult again = run_again(network, collective, second, 20'000);
  EXPECT_EQ(again.errors, std::vector<std::string>{});
  EXPECT_EQ(once.cycles, again.cycles);
  EXPECT_EQ(first, second);
}

void expect_thrown(const std::function<void()>& what, const std::string& message) {
  try {
    what();
    ADD_FAILURE() << "expected '" << message << "'";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

// An image that needs doorbells must not be started as if it were one collective.
TEST(Loader, RefusesWhatHardwareHasNoRoomFor) {
  Iteration iteration{make_topology("ring:2")};
  for (std::uint32_t g = 0; g < mt_pkg::kNumGroups; ++g) {
    iteration.add("ring", multitree::Collective::AllReduce, 8);
  }
  const auto load_as = [](const nic::Tables& tables, std::uint32_t groups,
                          std::vector<std::uint64_t> steps = {}) {
    static_cast<void>(
        load({.tables = tables, .parameters = {}, .step_lengths = std::move(steps)}, {}, groups));
  };
  nic::Tables image = iteration.image();
  load_as(image, mt_pkg::kNumGroups);
  expect_thrown(
      [&] { load_as(image, 1); },
      "expected tables of one collective for interfaces without doorbells, got 32 groups");
  expect_thrown([&] { load_as(image, 16); },
                "expected tables of at most 16 groups, a doorbell each, got 32");
  expect_thrown(
      [&] {
        load_as(image, 32, {1, 2});
      },
      "expected tables of groups without lockstep, got steps");
  image.of_rank[1].back().priority = 5;
  expect_thrown([&] { load_as(image, 32); },
                "group 31: expected one priority of all its entries, got 0 and 5");
  iteration.add("ring", multitree::Collective::AllReduce, 8);
  expect_thrown([&] { load_as(iteration.image(), 32); },
                "expected tables of at most 32 groups, a doorbell each, got 33");
  expect_thrown([&] { cosimulate(iteration.image(), iteration.jobs, iteration.topology, {}, {}); },
                "expected at most 32 groups, a doorbell each, got 33");
  iteration.jobs.pop_back();
  expect_thrown(
      [&] {
        cosimulate(iteration.image(), {iteration.jobs.data(), 31}, iteration.topology, {}, {});
      },
      "expected a job for each of 32 groups, got 31");
}

}  // namespace
}  // namespace multitree::rtl
