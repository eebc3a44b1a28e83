// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Few points, small and quick, that have every rule of the interface in them: what bugs in the
/// hardware are held against. tests/rtl/cosim has the many.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "algorithms/registry.hpp"
#include "nic/program/program.hpp"
#include "nic/table/table.hpp"
#include "rtl/sim/cosim.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

struct Point {
  const char* topology;
  const char* algorithm;
  std::uint64_t bytes;
  std::uint32_t packet = 0;  ///< bytes; 0: messages
  bool lockstep = false;
  HardwareType type = HardwareType::Fp32;
  std::uint32_t buffer = 318;
  bool shares = false;  ///< two ports a reduction unit
};

constexpr Point kPoints[] = {
    {"torus:2x2?lat=10ns", "multitree", 1000},
    {"ring:3?lat=4ns", "multitree", 3000, 64, true},
    {"mesh:2x3?lat=5ns", "multitree", 2048, 0, true, HardwareType::Int32},
    {"hypercube:3?lat=10ns", "recursive-doubling", 2048, 0, false, HardwareType::Fp16},
    {"hypercube:2?lat=10ns", "recursive-doubling", 2048, 64},
    {"fattree:2x2?lat=4ns", "ring", 2004, 32, false, HardwareType::Bf16},
    {"star:5?lat=4ns", "multitree", 2000, 64, false, HardwareType::Fp32, 20},
    {"mesh:3x3?lat=10ns", "multitree", 9000, 64},
    {"torus:4x4?lat=10ns", "multitree", 8192, 0, true, HardwareType::Bf16},
    {"torus:4x4?lat=30ns", "multitree", 16384, 128},
    {.topology = "mesh:2x3?lat=5ns", .algorithm = "multitree", .bytes = 2048, .shares = true},
    {.topology = "torus:4x4?lat=10ns",
     .algorithm = "multitree",
     .bytes = 8192,
     .packet = 64,
     .shares = true},
};
/// A run that takes so many times what the model takes does not end.
constexpr double kTooLong = 3;

class Mutation : public testing::TestWithParam<Point> {};

TEST_P(Mutation, ModelAndHardwareAgree) {
  const Point& point = GetParam();
  const Topology topology = make_topology(point.topology);
  nic::Parameters parameters;
  parameters.buffer_flits = point.buffer;
  parameters.ports_per_unit = point.shares ? 2 : 1;
  parameters.issue = point.lockstep ? nic::Issue::Lockstep : nic::Issue::Dependency;
  if (point.packet != 0) {
    parameters.flow_control = nic::FlowControl::Packet;
    parameters.packet_bytes = point.packet;
  }
  CosimOptions options{.type = point.type, .adders = Adders::Function};
  options.progress = [](double part) {
    if (part > kTooLong) throw std::runtime_error("it takes too long");
  };
  const CosimResult result = cosimulate(make_schedule(point.algorithm, topology), topology,
                                        point.bytes, parameters, options);
  EXPECT_EQ(result.difference, "");
  EXPECT_EQ(result.wrong, "");
  for (const std::string& error : result.hardware.errors) ADD_FAILURE() << error;
}

INSTANTIATE_TEST_SUITE_P(Small, Mutation, testing::ValuesIn(kPoints), [](const auto& parameter) {
  const Point& p = parameter.param;
  std::string name =
      fmt::format("{}_{}{}{}{}", p.topology, p.algorithm, p.packet == 0 ? "" : "_packets",
                  p.lockstep ? "_lockstep" : "", p.shares ? "_shared_units" : "");
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
});

/// Three groups on a rank's ports, one of them urgent and late, one after another, some ranks
/// without messages of one.
TEST(Groups, ModelAndHardwareAgree) {
  const Topology topology = make_topology("mesh:2x3?lat=5ns");
  const Schedule all = make_schedule("multitree", topology);
  const Schedule ring = make_schedule("ring", topology);
  const Schedule reduce =
      make_schedule("multitree", topology, multitree::Collective::Reduce, Rank{0});
  const std::vector<nic::Job> jobs = {
      {.schedule = &ring, .bytes = 1200, .ready = Time{12'000}, .priority = 4},
      {.schedule = &all, .bytes = 3000, .ready = Time{0}, .priority = 7},
      {.schedule = &all, .bytes = 300, .ready = Time{150'000}, .priority = 0},
      {.schedule = &reduce, .bytes = 500, .delay = Time{90'000}, .priority = 4, .after = {1}}};
  std::vector<nic::GroupSource> sources;
  for (const nic::Job& job : jobs) {
    sources.push_back({.schedule = job.schedule,
                       .elements = nic::padded_elements(job.bytes, 4, topology.num_ranks()),
                       .priority = job.priority});
  }
  const nic::Tables image = nic::compile_groups(sources, topology);
  CosimOptions options{.adders = Adders::Function};
  options.progress = [](double part) {
    if (part > kTooLong) throw std::runtime_error("it takes too long");
  };
  for (const nic::FlowControl flow : {nic::FlowControl::Message, nic::FlowControl::Packet}) {
    nic::Parameters parameters;
    parameters.flow_control = flow;
    parameters.packet_bytes = 64;
    const CosimResult result = cosimulate(image, jobs, topology, parameters, options);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.wrong, "");
    for (const std::string& error : result.hardware.errors) ADD_FAILURE() << error;
  }
}

/// Late ranks that the sum goes on without, a leaf and one with others below it, of which one comes
/// before that is known; then one more, so that all are waited for.
TEST(Losses, ModelAndHardwareAgree) {
  const Topology topology = make_topology("mesh:2x3?lat=5ns");
  const Schedule schedule = make_schedule("multitree", topology);
  CosimOptions options{.adders = Adders::Function};
  options.progress = [](double part) {
    if (part > kTooLong) throw std::runtime_error("it takes too long");
  };
  for (const std::uint64_t third : {0U, 130U}) {
    options.losses = {.deadline = 120, .budget = 2, .ready = {0, 125, third, 0, 700, 120}};
    const CosimResult result = cosimulate(schedule, topology, 3000, {}, options);
    EXPECT_EQ(result.difference, "");
    EXPECT_EQ(result.wrong, "");
    for (const std::string& error : result.hardware.errors) ADD_FAILURE() << error;
    EXPECT_EQ(result.losses->contributions, third == 0 ? 4U : 6U);
  }
}

}  // namespace
}  // namespace multitree::rtl
