// SPDX-License-Identifier: BSD-3-Clause
/// What observers are told, against what runs report otherwise.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "algorithms/registry.hpp"
#include "nic/program/program.hpp"
#include "recorder.hpp"
#include "simulation.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::FlowControl;
using nic::Parameters;
using nic::Reduction;
using test::Recorder;

const Parameters kVariants[] = {
    {},
    {.flow_control = FlowControl::Packet, .header_flits = 2},
    {.interface_cycles = 5, .reduction = Reduction::Pipelined, .park_slots = 64},
    {.flow_control = FlowControl::Packet, .reduction = Reduction::Pipelined, .park_slots = 64},
    {.ejection_channels = 1, .issue = nic::Issue::Lockstep}};

using Numbered = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // rank, entry, flit

// Each flit leaves once, passes each link of its route once, and arrives once; in that order, in
// the order of the message on every link, and no faster than links are.
TEST(Observers, FollowEveryFlit) {
  for (const char* network : {"torus:4x4", "star:5", "fattree:4x4", "mesh:3x5"}) {
    const Topology topology = make_topology(network);
    for (const Parameters& parameters : kVariants) {
      SCOPED_TRACE(network + nic::write_parameters(parameters));
      const Schedule schedule = make_schedule("multitree", topology);
      Recorder seen;
      const auto result =
          nic::simulate(schedule, topology, 16'384, parameters, {.observer = &seen});
      ASSERT_TRUE(result.errors.empty()) << result.errors[0];
      EXPECT_EQ(result.cycles, nic::simulate(schedule, topology, 16'384, parameters, {}).cycles);
      EXPECT_EQ(seen.passages.size(), result.link_flits);
      ASSERT_EQ(seen.injections.size(), seen.arrivals.size());
      const nic::Program program =
          nic::compile_program(schedule, topology, nic::padded_elements(16'384, 4, schedule.ranks));
      std::map<Numbered, std::vector<std::pair<std::uint64_t, std::uint32_t>>> ways;
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> next;  // of an entry
      for (const Recorder::Flit& f : seen.injections) {
        EXPECT_EQ(f.number, (next[{f.src, f.entry}]++));
        EXPECT_LT(f.vc, parameters.virtual_channels);
        ways[{f.src, f.entry, f.number}].emplace_back(f.cycle, topology.num_links());
      }
      for (const Recorder::Flit& f : seen.passages) {
        ways[{f.src, f.entry, f.number}].emplace_back(f.cycle, f.place);
      }
      for (const Recorder::Flit& f : seen.arrivals) {
        const auto& [src, entry, number] = std::tie(f.src, f.entry, f.number);
        auto& way = ways[{src, entry, number}];
        const auto& route = program.routes[program.route_of[src][entry]];
        ASSERT_EQ(way.size(), route.size() + 1);
        std::uint64_t earliest = way[0].first + parameters.interface_cycles;
        for (std::size_t i = 0; i < route.size(); ++i) {
          EXPECT_EQ(way[i + 1].second, index(route[i]));
          EXPECT_GE(way[i + 1].first, earliest);
          earliest = way[i + 1].first + 150;
        }
        EXPECT_GE(f.cycle, earliest + parameters.interface_cycles);
        EXPECT_EQ(f.place, index(program.tables.of_rank[src][entry].peer));
      }
      EXPECT_EQ(seen.takes.size(), result.messages);
      EXPECT_EQ(seen.begins.size(), result.messages);
    }
  }
}

// Every word of every message is issued once, in order, and is in 2 + reduction_cycles later.
TEST(Observers, EveryWordIsIssuedOnce) {
  const Topology topology = make_topology("torus:4x4");
  const Schedule schedule = make_schedule("multitree", topology);
  for (const FlowControl flow_control : {FlowControl::Message, FlowControl::Packet}) {
    Recorder seen;
    const Parameters p{.flow_control = flow_control, .reduction = Reduction::Pipelined};
    const auto result = nic::simulate(schedule, topology, 65'536, p, {.observer = &seen});
    ASSERT_TRUE(result.errors.empty());
    using Turn = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // rank, piece, turn
    std::map<Turn, std::vector<std::uint64_t>> cycles;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> port_used;
    std::map<Turn, std::uint64_t> taken;
    for (const Recorder::Count& c : seen.takes) taken[{c.rank, c.piece, c.count - 1}] = c.cycle;
    const std::uint32_t words = 65'536 / 16 / 16;  // of a shard
    for (const Recorder::Issued& i : seen.issues) {
      std::vector<std::uint64_t>& of_message = cycles[{i.rank, i.piece, i.turn}];
      EXPECT_EQ(i.pos, of_message.size());
      of_message.push_back(i.cycle);
      if (i.turn > 0) {
        EXPECT_GE(i.cycle, (cycles[{i.rank, i.piece, i.turn - 1}].at(i.pos) + 5));
      }
      std::uint64_t& used = port_used[{i.rank, i.port}];
      EXPECT_LT(used, i.cycle);
      used = i.cycle;
      if (i.pos + 1 == words) {
        EXPECT_EQ((taken[{i.rank, i.piece, i.turn}]), i.cycle + 5);
      }
    }
    EXPECT_EQ(cycles.size(), result.messages);
    for (const auto& [message, of_message] : cycles) EXPECT_EQ(of_message.size(), words);
  }
}

}  // namespace
}  // namespace multitree
