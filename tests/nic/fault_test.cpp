// SPDX-License-Identifier: BSD-3-Clause
/// What goes wrong on purpose is noticed, and said where.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "algorithms/registry.hpp"
#include "nic/program/program.hpp"
#include "simulation.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::Fault;
using nic::FlowControl;
using nic::Model;
using nic::Parameters;
using nic::Simulation;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr Parameters kParameters{.watchdog_cycles = 5000};
constexpr Parameters kPackets{.flow_control = FlowControl::Packet, .watchdog_cycles = 5000};
constexpr Parameters kPipelined{
    .reduction = nic::Reduction::Pipelined, .park_slots = 64, .watchdog_cycles = 5000};

struct Subject {
  explicit Subject(const char* spec, const char* algorithm = "multitree")
      : topology(make_topology(spec)), schedule(make_schedule(algorithm, topology)) {}
  Topology topology;
  Schedule schedule;
  [[nodiscard]] Simulation run(const Fault& fault, const Parameters& parameters = kParameters,
                               bool data = true) const {
    return nic::simulate(schedule, topology, 16'384, parameters, {.data = data, .faults = {fault}});
  }
  /// A link that many messages pass, and how many flits.
  [[nodiscard]] std::pair<LinkId, std::uint64_t> busy_link() const {
    const nic::Program program = nic::compile_program(schedule, topology, 4096);
    std::vector<std::uint64_t> flits(topology.num_links(), 0);
    for (std::uint32_t r = 0; r < schedule.ranks; ++r) {
      for (std::size_t e = 0; e < program.route_of[r].size(); ++e) {
        const std::uint64_t payload =
            nic::payload_flits(program.tables.of_rank[r][e].size, kParameters);
        for (const LinkId link : program.routes[program.route_of[r][e]]) {
          flits[index(link)] += payload + nic::header_flits(payload, kParameters);
        }
      }
    }
    const auto most = std::ranges::max_element(flits);
    return {LinkId{static_cast<std::uint32_t>(most - flits.begin())}, *most};
  }
};

void expect_reported(const Simulation& result, const std::string& what) {
  ASSERT_EQ(result.errors.size(), 1U) << what;
  EXPECT_FALSE(result.checked) << what;
  EXPECT_THAT(result.errors[0], ContainsRegex("^cycle [0-9]+: ")) << what;
  EXPECT_THAT(result.errors[0], ContainsRegex("(reduce|gather) of flow [0-9]+ piece [0-9]+ from"))
      << what;
}

const char* const kNetworks[] = {"mesh:2", "torus:4x4", "star:5", "fattree:4x4", "dragonfly:4x1x2"};

TEST(Faults, EveryLostFlitIsNoticed) {
  for (const char* network : kNetworks) {
    const Subject subject(network);
    const auto [link, flits] = subject.busy_link();
    for (const Parameters& parameters : {kParameters, kPackets, kPipelined}) {
      std::set<std::uint64_t> which;
      for (std::uint64_t f = 0; f < std::min<std::uint64_t>(flits, 20); ++f) which.insert(f);
      for (std::uint64_t f = 20; f < flits; f += 1 + flits / 20) which.insert(f);
      which.insert(flits - 1);
      for (const std::uint64_t f : which) {
        const Fault fault{.kind = Fault::Kind::DropFlit, .link = link, .count = f};
        expect_reported(subject.run(fault, parameters, f % 2 == 0),
                        fmt::format("{} flit {}", network, f));
      }
    }
  }
}

// Header, middle and tail of one message on one link, and what is said of each.
TEST(Faults, LostFlitsOfOneMessage) {
  const Subject subject("mesh:2");
  const auto run = [&](std::uint64_t flit) {
    return subject.run({.kind = Fault::Kind::DropFlit, .link = LinkId{0}, .count = flit})
        .errors.at(0);
  };
  const char* const message = "reduce of flow 1 piece 0 from rank 0 to 1 in step 0";
  const std::uint64_t flits = 8192 / 16 + 1;
  EXPECT_THAT(run(0), HasSubstr(fmt::format("{} flits of the {} have not", flits - 1, message)));
  for (const std::uint64_t middle : {std::uint64_t{1}, flits / 2, flits - 2}) {
    EXPECT_THAT(run(middle), HasSubstr(fmt::format("cycle {}: the {} arrived with {} of {} flits",
                                                   flits - 1 + 152, message, flits - 1, flits)));
  }
  EXPECT_THAT(run(flits - 1),
              HasSubstr(fmt::format("{} flits of the {} have", flits - 1, message)));
}

// The first of five links loses a flit: the others see no flit that has no header before it, and
// none comes where it does not belong.
TEST(Faults, LostFlitsOnLongRoutes) {
  const Topology topology = make_topology("mesh:6");
  const std::vector<test::Hand> copies = {{0, 0, 0, 5}, {1, 1, 0, 5}, {1, 1, 0, 4}, {1, 0, 0, 3}};
  const Schedule schedule = test::broadcast_by_hand(topology, 2, copies);
  for (const std::uint32_t channels : {1U, 2U}) {
    for (std::uint64_t flit = 0; flit < 4 * 76; ++flit) {
      for (const Parameters& base : {kParameters, kPackets}) {
        Parameters parameters = base;
        parameters.virtual_channels = channels;
        for (std::uint32_t l = 0; l < 6; l += 4) {
          const LinkId link = topology.out_links(topology.node_of(Rank{l / 2}))[l == 0 ? 0 : 1];
          const auto result = nic::simulate(
              schedule, topology, 2 * 1200, parameters,
              {.data = false,
               .faults = {{.kind = Fault::Kind::DropFlit, .link = link, .count = flit}}});
          expect_reported(result, fmt::format("flit {} of link {}", flit, index(link)));
          EXPECT_THAT(result.errors[0], testing::Not(HasSubstr("arrived with 77")));
        }
      }
    }
  }
}

TEST(Faults, CorruptFlitsFailTheChecksum) {
  for (const char* network : kNetworks) {
    const Subject subject(network);
    const auto [link, flits] = subject.busy_link();
    for (const Parameters& parameters : {kParameters, kPackets, kPipelined}) {
      for (const std::uint64_t flit : {std::uint64_t{0}, std::uint64_t{1}, flits / 2, flits - 1}) {
        for (const bool data : {false, true}) {
          const Simulation result = subject.run(
              {.kind = Fault::Kind::CorruptFlit, .link = link, .count = flit}, parameters, data);
          expect_reported(result, fmt::format("{} flit {}", network, flit));
          EXPECT_THAT(result.errors.at(0), HasSubstr("failed its checksum"));
        }
      }
    }
  }
}

TEST(Faults, DeadLinks) {
  for (const char* network : kNetworks) {
    const Subject subject(network);
    const LinkId link = subject.busy_link().first;
    const std::uint64_t whole =
        nic::simulate(subject.schedule, subject.topology, 16'384, kParameters, {}).cycles;
    for (const Parameters& parameters : {kParameters, kPackets, kPipelined}) {
      for (const std::uint64_t cycle : {std::uint64_t{0}, whole / 5, whole / 3, whole / 2}) {
        const Simulation result =
            subject.run({.kind = Fault::Kind::DeadLink, .link = link, .cycle = cycle}, parameters);
        expect_reported(result, fmt::format("{} from cycle {}", network, cycle));
      }
    }
    // When all is over it harms nobody.
    EXPECT_TRUE(subject.run({.kind = Fault::Kind::DeadLink, .link = link, .cycle = whole}).checked);
  }
}

TEST(Faults, LateInterfacesDelayTheResult) {
  for (const char* network : kNetworks) {
    const Subject subject(network);
    for (const Model model : {Model::Flit, Model::Message}) {
      const auto cycles = [&](std::vector<Fault> faults) {
        const nic::SimulationOptions options{
            .model = model, .data = model == Model::Flit, .faults = std::move(faults)};
        const Simulation result =
            nic::simulate(subject.schedule, subject.topology, 16'384, kParameters, options);
        EXPECT_TRUE(result.errors.empty());
        EXPECT_EQ(result.checked, model == Model::Flit);
        return result.cycles;
      };
      const std::uint64_t in_time = cycles({});
      for (const std::uint64_t delay : {1U, 100U, 5000U}) {
        const std::uint64_t late =
            cycles({{.kind = Fault::Kind::LateInterface, .rank = Rank{1}, .cycle = delay}});
        EXPECT_GE(late, delay);
        EXPECT_GE(late, in_time) << network;
        // Where links are shared, messages may meet others than before.
        const std::uint64_t meeting = subject.topology.has_switches() ? in_time / 20 : 0;
        EXPECT_LE(late, in_time + delay + meeting) << network;
      }
    }
  }
}

// A fault that never happens changes nothing.
TEST(Faults, FlitsThatDoNotExistCannotBeLost) {
  const Subject subject("torus:4x4");
  const auto [link, flits] = subject.busy_link();
  const auto result = subject.run({.kind = Fault::Kind::DropFlit, .link = link, .count = flits});
  EXPECT_TRUE(result.checked);
  EXPECT_EQ(result.cycles,
            nic::simulate(subject.schedule, subject.topology, 16'384, kParameters, {}).cycles);
}

ErrorCode error_of(const Fault& fault, Model model) {
  const Subject subject("mesh:2");
  try {
    nic::simulate(subject.schedule, subject.topology, 64, {}, {.model = model, .faults = {fault}});
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::Io;
}

TEST(Faults, OnlyWhereTheModelHasThem) {
  const Fault drop{.kind = Fault::Kind::DropFlit}, late{.kind = Fault::Kind::LateInterface};
  EXPECT_EQ(error_of(drop, Model::Message), ErrorCode::Unsupported);
  EXPECT_EQ(error_of(drop, Model::AlphaBeta), ErrorCode::Unsupported);
  EXPECT_EQ(error_of(late, Model::AlphaBeta), ErrorCode::Unsupported);
  for (const Model model : {Model::Message, Model::Flit}) {
    EXPECT_EQ(error_of({.kind = Fault::Kind::DeadLink, .link = LinkId{2}}, model),
              ErrorCode::InvalidArgument);
    EXPECT_EQ(error_of({.kind = Fault::Kind::LateInterface, .rank = Rank{2}}, model),
              ErrorCode::InvalidArgument);
  }
}

}  // namespace
}  // namespace multitree
