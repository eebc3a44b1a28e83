// SPDX-License-Identifier: BSD-3-Clause
// A network as one module does in every cycle what the network of single nodes does.
#include <gtest/gtest.h>

#include <utility>

#include "Vretry_fattree_2x2.h"
#include "Vtop_fattree_2x2.h"
#include "Vtop_mesh_1x3.h"
#include "Vtop_torus_2x2.h"
#include "Vwide_mesh_1x3_bw_32GB_s.h"
#include "Vwide_star_3_bw_64GB_s_lat_9ns.h"
#include "Vwide_torus_2x2_bw_64GB_s.h"
#include "algorithms/registry.hpp"
#include "nic/nic/endpoints.hpp"
#include "nic/program/program.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/sim/events.hpp"
#include "rtl/sim/top.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint64_t kBytes = 8 << 10, kMostCycles = 200'000;

struct Case {
  std::string topology, algorithm = "multitree";
  nic::Issue issue = nic::Issue::Dependency;
  nic::FlowControl flow_control = nic::FlowControl::Message;
  std::uint32_t flit_bytes = 16;
};

/// A run and what was to be seen of it.
struct Run {
  RunResult result;
  std::vector<std::uint64_t> flits;  // [link]
  std::vector<Event> events;
  std::string wrong;
};

nic::Parameters parameters_of(const Case& c) {
  nic::Parameters p;
  p.issue = c.issue;
  p.flow_control = c.flow_control;
  p.flit_bytes = c.flit_bytes;
  const WordsUnderWay words = c.flit_bytes > kUsualFlitBytes ? kWideWords : WordsUnderWay{};
  p.send_words = words.send;
  p.add_words = words.add;
  return p;
}

/// What a collective needs, computed once for both networks.
struct Prepared {
  explicit Prepared(const Case& c)
      : topology(make_topology(c.topology)),
        schedule(make_schedule(c.algorithm, topology, multitree::Collective::AllReduce)) {
    parameters = hardware_parameters(parameters_of(c), schedule, HardwareType::Fp32);
    elements = nic::padded_elements(kBytes, parameters.element_bytes, schedule.ranks);
    tables = nic::compile_tables(schedule, topology, {.elements = elements});
    program = nic::compile_program(schedule, topology, elements);
    if (c.issue == nic::Issue::Lockstep) steps = nic::estimate_steps(program, parameters);
  }

  [[nodiscard]] std::size_t bytes() const { return elements * parameters.element_bytes; }

  Run run(Hardware& hardware) const {
    Run run;
    run.flits.assign(topology.num_links(), 0);
    Buffers buffers = make_inputs(schedule.ranks, elements, HardwareType::Fp32);
    Buffers expected = buffers;
    HardwareEvents events(hardware, topology, program);
    const rtl::Collective collective{
        .tables = tables, .parameters = parameters, .step_lengths = steps};
    run.result =
        run_collective(hardware, collective, buffers, kMostCycles, [&](std::uint64_t cycle) {
          for (std::uint32_t l = 0; l < run.flits.size(); ++l) {
            run.flits[l] += hardware.sent(LinkId{l}).valid ? 1 : 0;
          }
          const auto now = events.of(static_cast<std::uint32_t>(cycle));
          run.events.insert(run.events.end(), now.begin(), now.end());
        });
    run_schedule(schedule, HardwareType::Fp32, expected);
    run.wrong = find_difference(schedule, HardwareType::Fp32, expected, buffers);
    return run;
  }

  Topology topology;
  Schedule schedule;
  nic::Parameters parameters;
  std::uint64_t elements = 0;
  nic::Tables tables;
  nic::Program program;
  std::vector<std::uint64_t> steps;
};

template <typename Model>
void compare(const Case& c, const std::optional<nic::LinkErrors>& errors = {}) {
  SCOPED_TRACE(c.topology + " " + c.algorithm);
  const Prepared prepared(c);
  Top<Model> top(prepared.topology, prepared.parameters, prepared.bytes());
  const Run whole = prepared.run(top);
  EXPECT_EQ(whole.wrong, "");
  EXPECT_TRUE(whole.result.errors.empty()) << whole.result.errors.front();
  EXPECT_TRUE(top.done());
  EXPECT_FALSE(top.failed());
  EXPECT_EQ(top.read_any(reg::kError), 0U);

  Network nodes(prepared.topology, prepared.parameters, prepared.bytes(), Adders::Function, {},
                errors);
  const Run single = prepared.run(nodes);
  EXPECT_EQ(single.wrong, "");
  EXPECT_GT(whole.result.cycles, 0U);
  EXPECT_EQ(whole.result.cycles, single.result.cycles);
  EXPECT_EQ(whole.flits, single.flits);
  EXPECT_GT(whole.events.size(), 100U);
  EXPECT_TRUE(whole.events == single.events);
}

TEST(Tops, AreTheNetworkOfSingleNodes) {
  compare<Vtop_torus_2x2>({"torus:2x2"});
  compare<Vtop_mesh_1x3>({"mesh:1x3"});
  compare<Vtop_fattree_2x2>({"fattree:2x2"});
}

TEST(Tops, InLockstepAndInPackets) {
  compare<Vtop_torus_2x2>({"torus:2x2", "ring", nic::Issue::Lockstep, nic::FlowControl::Packet});
  compare<Vtop_fattree_2x2>(
      {"fattree:2x2", "double-binary-tree", nic::Issue::Lockstep, nic::FlowControl::Packet});
}

/// Links with Retry, which take longer than others.
TEST(Tops, WithLinksThatMayLose) {
  compare<Vretry_fattree_2x2>({"fattree:2x2"}, nic::LinkErrors{});
}

TEST(Tops, WithWiderFlits) {
  for (const auto& [issue, flow] : {std::pair{nic::Issue::Dependency, nic::FlowControl::Message},
                                    {nic::Issue::Lockstep, nic::FlowControl::Message},
                                    {nic::Issue::Dependency, nic::FlowControl::Packet}}) {
    compare<Vwide_mesh_1x3_bw_32GB_s>({"mesh:1x3?bw=32GB/s", "multitree", issue, flow, 32});
    compare<Vwide_torus_2x2_bw_64GB_s>({"torus:2x2?bw=64GB/s", "multitree", issue, flow, 64});
  }
  const Case lossy{.topology = "star:3?bw=64GB/s&lat=9ns", .flit_bytes = 64};
  compare<Vwide_star_3_bw_64GB_s_lat_9ns>(lossy, nic::LinkErrors{});
}

/// A network that has failed says so, and can be used again.
TEST(Tops, FailAndRecover) {
  const Prepared prepared({"torus:2x2"});
  Top<Vtop_torus_2x2> top(prepared.topology, prepared.parameters, prepared.bytes());
  EXPECT_FALSE(top.done());
  EXPECT_FALSE(top.failed());
  // An entry more than there is room for, at rank 2.
  std::vector<std::vector<RegisterWrite>> writes(4);
  writes[2].assign(std::size_t{4} * 3 * 300, {reg::kRoute, 0});
  top.write(writes);
  EXPECT_TRUE(top.failed());
  EXPECT_EQ(top.read(Rank{1}, reg::kError), 0U);
  const std::uint32_t error = top.read(Rank{2}, reg::kError);
  EXPECT_NE(error, 0U);
  EXPECT_EQ(top.read_any(reg::kError), error);
  top.write(std::vector(4, std::vector<RegisterWrite>{{reg::kError, error}}));
  EXPECT_FALSE(top.failed());
  EXPECT_EQ(prepared.run(top).wrong, "");
  EXPECT_TRUE(top.done());
  // And once more, with what is loaded again.
  EXPECT_EQ(prepared.run(top).wrong, "");
}

}  // namespace
}  // namespace multitree::rtl
