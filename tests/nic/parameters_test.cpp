// SPDX-License-Identifier: BSD-3-Clause
#include "nic/parameters.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <utility>

#include "nic/hardware.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::Parameters;
using nic::read_parameters;
using nic::write_parameters;
using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(const std::string& json) {
  try {
    read_parameters(json, "p.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    return error.what();
  }
  return "no error";
}

// The network of the MULTITREE study, as documented.
TEST(SimulationParameters, Defaults) {
  const Parameters p = read_parameters("{}", "p.json");
  EXPECT_EQ(p, Parameters{});
  EXPECT_EQ(p.clock_hz, 1'000'000'000U);
  EXPECT_EQ(p.flit_bytes, 16U);
  EXPECT_EQ(p.element_bytes, 4U);
  EXPECT_EQ(p.virtual_channels, 4U);
  EXPECT_EQ(p.buffer_flits, 318U);
  EXPECT_EQ(p.router_cycles, 0U);
  EXPECT_EQ(p.interface_cycles, 1U);
  EXPECT_EQ(p.issue_cycles, 0U);
  EXPECT_EQ(p.issue_jitter, 0U);
  EXPECT_FALSE(p.cut_through);
  EXPECT_EQ(p.flow_control, nic::FlowControl::Message);
  EXPECT_EQ(p.packet_bytes, 256U);
  EXPECT_EQ(p.header_flits, 1U);
  EXPECT_EQ(p.ports, 0U);
  EXPECT_EQ(p.issue, nic::Issue::Dependency);
  EXPECT_EQ(p.step_discount, 0U);
  EXPECT_EQ(p.reduction, nic::Reduction::Streaming);
  EXPECT_EQ(p.reduction_elements, 32U);
  EXPECT_EQ(p.reduction_cycles, 3U);
  EXPECT_EQ(p.park_slots, 8U);
  EXPECT_EQ(p.ports_per_unit, 1U);
  EXPECT_EQ(p.memory_cycles, 1U);
  EXPECT_EQ(p.memory_ports, 0U);
  EXPECT_EQ(p.send_words, 4U);
  EXPECT_EQ(p.add_words, 2U);
  EXPECT_EQ(p.ejection_channels, 0U);
  EXPECT_EQ(p.watchdog_cycles, 1'000'000U);
}

TEST(SimulationParameters, ComeBackFromJson) {
  EXPECT_EQ(read_parameters(write_parameters({}), "p.json"), Parameters{});
  const Parameters all{.clock_hz = 2'500'000'000,
                       .flit_bytes = 32,
                       .element_bytes = 2,
                       .virtual_channels = 8,
                       .buffer_flits = 17,
                       .router_cycles = 3,
                       .interface_cycles = 2,
                       .issue_cycles = 9,
                       .issue_jitter = 4,
                       .cut_through = true,
                       .flow_control = nic::FlowControl::Packet,
                       .packet_bytes = 1024,
                       .header_flits = 2,
                       .ports = 1,
                       .ejection_channels = 3,
                       .issue = nic::Issue::Lockstep,
                       .step_discount = 5,
                       .reduction = nic::Reduction::Store,
                       .reduction_elements = 8,
                       .reduction_cycles = 5,
                       .park_slots = 2,
                       .ports_per_unit = 2,
                       .memory_cycles = 200,
                       .memory_ports = 3,
                       .send_words = 201,
                       .add_words = 202,
                       .watchdog_cycles = 5000};
  const std::string text = write_parameters(all);
  EXPECT_EQ(read_parameters(text, "p.json"), all);
  EXPECT_EQ(write_parameters(read_parameters(text, "p.json")), text);
  const Parameters pipelined{.reduction = nic::Reduction::Pipelined};
  EXPECT_EQ(read_parameters(R"({"reduction": "pipelined"})", "p.json"), pipelined);
  EXPECT_EQ(read_parameters(write_parameters(pipelined), "p.json"), pipelined);
}

TEST(SimulationParameters, SomeMembersAreEnough) {
  const Parameters p = read_parameters(R"({"cut_through": true, "issue": "lockstep"})", "p.json");
  EXPECT_EQ(p, (Parameters{.cut_through = true, .issue = nic::Issue::Lockstep}));
}

struct Range {
  const char* name;
  std::uint64_t least, most;
};
constexpr std::uint64_t kMillion = 1'000'000;
const Range kRanges[] = {
    {"clock_hz", 1000, kMillion* kMillion},
    {"flit_bytes", 1, 4096},
    {"element_bytes", 1, 16},
    {"virtual_channels", 1, 8},
    {"buffer_flits", 1, 65535},
    {"router_cycles", 0, 1000},
    {"interface_cycles", 1, 100'000},
    {"issue_cycles", 0, 100'000},
    {"issue_jitter", 0, 100'000},
    {"packet_bytes", 1, 1 << 20},
    {"header_flits", 1, 64},
    {"ports", 0, 1024},
    {"ejection_channels", 0, 8},
    {"step_discount", 0, kMillion},
    {"reduction_elements", 1, kMillion},
    {"reduction_cycles", 0, 1000},
    {"park_slots", 1, 4096},
    {"ports_per_unit", 1, 2},
    {"memory_cycles", 1, 1000},
    {"memory_ports", 0, 48},
    {"send_words", 1, 4096},
    {"add_words", 1, 4096},
    {"watchdog_cycles", 1000, kMillion* kMillion},
};

TEST(SimulationParameters, NumbersHaveRanges) {
  for (const auto& [name, least, most] : kRanges) {
    const auto json = [&name = name](const std::string& value) {
      return fmt::format("{{\n  \"{}\": {}\n}}", name, value);
    };
    EXPECT_EQ(error_of(json(fmt::format("{}", least))), "no error") << name;
    EXPECT_EQ(error_of(json(fmt::format("{}", most))), "no error") << name;
    for (const std::string& bad :
         {fmt::format("{}", most + 1), std::string("-1"), std::string("1.5"), std::string("\"4\""),
          std::string("null"), std::string("[1]"), std::string("true")}) {
      EXPECT_THAT(error_of(json(bad)), StartsWith("p.json:2: ")) << bad;
      EXPECT_THAT(error_of(json(bad)), HasSubstr(name)) << bad;
      EXPECT_THAT(error_of(json(bad)), HasSubstr(fmt::format("from {} to {}", least, most)));
    }
    if (least > 0) {
      EXPECT_THAT(error_of(json(fmt::format("{}", least - 1))), HasSubstr(name));
    }
  }
}

TEST(SimulationParameters, WordsAreChosenFromAList) {
  for (const char* name : {"flow_control", "issue", "reduction"}) {
    for (const char* bad : {"\"fast\"", "true", "1", "null", "[]", "\"\""}) {
      const std::string error = error_of(fmt::format("{{\"{}\":\n{}}}", name, bad));
      EXPECT_THAT(error, StartsWith("p.json:"));
      EXPECT_THAT(error, HasSubstr(fmt::format("{}: expected ", name))) << bad;
    }
  }
  EXPECT_THAT(error_of(R"({"reduction": "fast"})"),
              HasSubstr("reduction: expected streaming, store or pipelined, got fast"));
  for (const char* bad : {"\"true\"", "1", "\"yes\"", "null"}) {
    EXPECT_THAT(error_of(fmt::format("{{\"cut_through\": {}}}", bad)),
                HasSubstr("cut_through: expected false or true"))
        << bad;
  }
}

TEST(SimulationParameters, UnknownMembersAndBrokenFiles) {
  EXPECT_THAT(error_of("{\n\n\"virtual_chanels\": 4}"),
              testing::AllOf(StartsWith("p.json:3: "), HasSubstr("virtual_chanels"),
                             HasSubstr("virtual_channels")));
  EXPECT_THAT(error_of("[]"), StartsWith("p.json:1: "));
  EXPECT_THAT(error_of("{"), StartsWith("p.json:1: "));
  EXPECT_THAT(error_of(R"({"ports": 1, "ports": 2})"), HasSubstr("repeated"));
}

TEST(SimulationParameters, FlitsAndHeaders) {
  Parameters p;
  EXPECT_EQ(nic::payload_flits(0, p), 0U);
  EXPECT_EQ(nic::payload_flits(1, p), 1U);
  EXPECT_EQ(nic::payload_flits(65, p), 17U);
  EXPECT_EQ(nic::header_flits(0, p), 0U);
  EXPECT_EQ(nic::header_flits(1000, p), 1U);
  p.flow_control = nic::FlowControl::Packet;
  p.header_flits = 2;
  EXPECT_EQ(nic::header_flits(0, p), 0U);
  EXPECT_EQ(nic::header_flits(16, p), 2U);
  EXPECT_EQ(nic::header_flits(17, p), 4U);
  p.reduction = nic::Reduction::Pipelined;
  EXPECT_EQ(nic::header_flits(0, p), 2U);
}

TEST(SimulationParameters, ChannelsOfEjectionPorts) {
  Parameters p;
  EXPECT_EQ(nic::ejection_channels_of(p), 4U);
  p.ejection_channels = 1;
  EXPECT_EQ(nic::ejection_channels_of(p), 1U);
  p.ejection_channels = 8;
  EXPECT_EQ(nic::ejection_channels_of(p), 4U);
  p.reduction = nic::Reduction::Pipelined;
  EXPECT_THROW((void)nic::ejection_channels_of(p), Error);
  p.ejection_channels = 0;
  EXPECT_EQ(nic::ejection_channels_of(p), 1U);
}

TEST(SimulationParameters, LinksInCycles) {
  const Topology topology = make_topology("mesh:2?bw=8GB/s&lat=150.5ns");
  const nic::LinkCycles link = nic::cycles_of(topology.link(LinkId{0}), 1'000'000'000, {});
  EXPECT_EQ(link.latency, 151U);
  EXPECT_EQ(link.interval, 2 * nic::kWholeCycle);
  const Topology near = make_topology("mesh:2?lat=0ns");
  EXPECT_EQ(nic::cycles_of(near.link(LinkId{0}), 1'000'000'000, {}).latency, 1U);
  for (const char* spec : {"mesh:2?bw=100KB/s", "mesh:2?lat=1s"}) {
    const Topology far = make_topology(spec);
    EXPECT_THROW(nic::cycles_of(far.link(LinkId{0}), 1'000'000'000, {}), Error) << spec;
  }
}

/// What is given wins over what a machine is by itself, unless it has it in one way only.
TEST(HardwareParameters, TakeWhatIsGiven) {
  const Parameters by_itself = nic::defaults_of(nic::Machine::Hardware);
  EXPECT_EQ(by_itself, nic::as_hardware({}));
  EXPECT_EQ(nic::defaults_of(nic::Machine::Ideal), Parameters{});
  nic::expect_hardware(by_itself);
  nic::expect_verilated(by_itself);
  const Parameters given =
      read_parameters(R"({"park_slots": 5, "reduction_cycles": 3})", "file", by_itself);
  EXPECT_EQ(given.park_slots, 5U);
  EXPECT_EQ(given.reduction_cycles, 3U);
  EXPECT_EQ(given.reduction, nic::Reduction::Pipelined);
  EXPECT_TRUE(given.shared_inputs);
  nic::expect_hardware(given);
  const auto refusal = [](const auto& expect, const Parameters& parameters) -> std::string {
    try {
      expect(parameters);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(refusal(nic::expect_verilated, given), HasSubstr("got 3 and 5"));
  for (const auto& [text, words] :
       {std::pair{R"({"reduction": "store"})", "expected reduction pipelined"},
        {R"({"ejection_channels": 2})", "expected ejection_channels 1"},
        {R"({"shared_inputs": false})", "expected shared_inputs true"}}) {
    EXPECT_THAT(refusal(nic::expect_hardware, read_parameters(text, "file", by_itself)),
                HasSubstr(words));
  }
}

}  // namespace
}  // namespace multitree
