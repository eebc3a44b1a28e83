// SPDX-License-Identifier: BSD-3-Clause
/// Every algorithm on every kind of network, flit by flit, with data.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>

#include "matrix.hpp"
#include "simulation.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

using nic::FlowControl;
using nic::Issue;
using nic::Parameters;
using nic::Reduction;
using test::simulate_checked;

/// The clock of a DGX-2 is that of its fastest trunks: long latencies would take 1875 cycles each
/// and show nothing.
Topology network(const std::string& spec) {
  return make_topology(spec == "dgx2" ? "dgx2?lat=20ns" : spec);
}

class Matrix : public testing::TestWithParam<const char*> {};

TEST_P(Matrix, AllReduceIsRightBitForBit) {
  const Topology topology = network(GetParam());
  for (const Schedule& schedule : test::all_schedules(topology)) {
    for (const FlowControl flow_control : {FlowControl::Message, FlowControl::Packet}) {
      for (const Issue issue : {Issue::Dependency, Issue::Lockstep}) {
        for (const std::uint64_t bytes : {0U, 4U, 100U, 65'536U}) {
          SCOPED_TRACE(fmt::format("{} flow control {} issue {}, {} bytes", schedule.algorithm,
                                   static_cast<int>(flow_control), static_cast<int>(issue), bytes));
          simulate_checked(schedule, topology, bytes,
                           {.flow_control = flow_control, .issue = issue});
        }
      }
    }
  }
}

TEST_P(Matrix, OtherCollectivesAreRightBitForBit) {
  const Topology topology = network(GetParam());
  for (const Collective collective : {Collective::ReduceScatter, Collective::AllGather,
                                      Collective::Broadcast, Collective::Reduce}) {
    for (const Schedule& schedule : test::all_schedules(topology, collective)) {
      SCOPED_TRACE(fmt::format("{} {}", schedule.algorithm, to_string(collective)));
      simulate_checked(schedule, topology, 16'384);
    }
  }
}

const Parameters kVariants[] = {
    {.ports = 1},
    {.ports = 2},
    {.cut_through = true},
    {.shared_inputs = true},
    {.cut_through = true, .flow_control = FlowControl::Packet},
    {.reduction = Reduction::Store},
    {.reduction = Reduction::Store, .reduction_elements = 1},
    {.reduction = Reduction::Pipelined, .park_slots = 64},
    {.shared_inputs = true,
     .reduction = Reduction::Pipelined,
     .reduction_cycles = 0,
     .park_slots = 64},
    {.flow_control = FlowControl::Packet, .reduction = Reduction::Pipelined, .park_slots = 64},
    {.ports = 1, .reduction = Reduction::Pipelined, .park_slots = 64},
    {.issue = Issue::Lockstep, .reduction = Reduction::Pipelined, .park_slots = 64},
    {.reduction = Reduction::Pipelined, .park_slots = 4096, .ports_per_unit = 2},
    {.flow_control = FlowControl::Packet,
     .reduction = Reduction::Pipelined,
     .park_slots = 4096,
     .ports_per_unit = 2},
    {.virtual_channels = 1},
    {.virtual_channels = 2},
    {.virtual_channels = 8, .flow_control = FlowControl::Packet},
    {.buffer_flits = 8},
    {.buffer_flits = 17, .flow_control = FlowControl::Packet},
    {.buffer_flits = 17, .cut_through = true, .flow_control = FlowControl::Packet},
    {.buffer_flits = 8, .cut_through = true},
    {.router_cycles = 3},
    {.interface_cycles = 4, .issue_cycles = 9},
    {.issue_jitter = 300},
    {.issue_cycles = 9, .issue = Issue::Lockstep, .step_discount = 40},
    {.flit_bytes = 4, .header_flits = 3},
    {.flit_bytes = 64, .flow_control = FlowControl::Packet, .packet_bytes = 100},
};

// Right with all parameters, or refused because routes would need more virtual channels.
TEST_P(Matrix, ParametersDoNotChangeResults) {
  const Topology topology = network(GetParam());
  std::size_t refused = 0;
  for (const Schedule& schedule : test::all_schedules(topology)) {
    for (const Parameters& parameters : kVariants) {
      SCOPED_TRACE(schedule.algorithm + " " + nic::write_parameters(parameters));
      try {
        simulate_checked(schedule, topology, 4'096, parameters);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::Unsupported);
        EXPECT_LE(parameters.virtual_channels, 2U);
        EXPECT_THAT(error.what(),
                    testing::HasSubstr(fmt::format("free of deadlock with {} virtual channels",
                                                   parameters.virtual_channels)));
        ++refused;
      }
    }
  }
  RecordProperty("refused", static_cast<int>(refused));
}

// Engines at ports are never before sums that are added as they come, to the same one virtual
// channel of each ejection port; but for messages that meet others than before where links are
// shared.
TEST_P(Matrix, PipelinedIsNotFasterThanTheIdeal) {
  const Topology topology = network(GetParam());
  for (const Schedule& schedule : test::all_schedules(topology)) {
    const bool shares =
        std::ranges::any_of(schedule.transfers, [](const Transfer& t) { return t.route_size > 1; });
    for (const FlowControl flow_control : {FlowControl::Message, FlowControl::Packet}) {
      for (const std::uint64_t bytes : {0U, 8'192U}) {
        SCOPED_TRACE(fmt::format("{} flow control {}, {} bytes", schedule.algorithm,
                                 static_cast<int>(flow_control), bytes));
        Parameters p{.flow_control = flow_control, .ejection_channels = 1, .park_slots = 4096};
        const std::uint64_t ideal = nic::simulate(schedule, topology, bytes, p, {}).cycles;
        p.reduction = Reduction::Pipelined;
        const std::uint64_t pipelined = simulate_checked(schedule, topology, bytes, p).cycles;
        EXPECT_GE(pipelined, shares ? ideal - ideal / 10 : ideal);
      }
    }
  }
}

std::string name_of(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Networks, Matrix, testing::ValuesIn(test::kNetworks), name_of);

}  // namespace
}  // namespace multitree
