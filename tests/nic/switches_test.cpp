// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Switches that add and copy with an interface each: what they send, their tables, and tables of
/// theirs that have been changed.
#include "nic/program/switches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/encode/image.hpp"
#include "nic/hardware.hpp"
#include "nic/machine/reference.hpp"
#include "nic/simulate.hpp"
#include "nic/table/check.hpp"
#include "tests/topologies/error_matcher.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::Entry;
using nic::Opcode;
using nic::SwitchesAsRanks;
using nic::TableFault;
using nic::Tables;
using testing::HasSubstr;

// All switches, or some: routers between others that work.
constexpr std::array kNetworks = {
    "star:2?switches=add,copy",
    "star:5?switches=add,copy",
    "fattree:2x3?switches=add,copy",
    "fattree:4x4?switches=add,copy",
    "fattree3:4?switches=add,copy",
    "bigraph:2x4?switches=add,copy",
    "dgx2?switches=add,copy",
    "dgx-a100:2?switches=add,copy",
    "fattree:2x2?switches=leaf0:add,leaf0:copy",
    "fattree:3x2?switches=spine0:add,spine0:copy,leaf2:add,leaf2:copy",
};

SwitchesAsRanks made_on(const Topology& topology, Collective collective, std::uint64_t elements) {
  return nic::switches_as_ranks(
      make_schedule("in-network?segments=3", topology, collective, Rank{1}), topology, elements);
}

Tables tables_on(const Topology& topology, Collective collective, std::uint64_t elements) {
  const SwitchesAsRanks made = made_on(topology, collective, elements);
  return nic::compile_tables(made.schedule, made.topology, {.elements = elements});
}

std::string words(const std::vector<nic::TableViolation>& found) {
  std::string text;
  for (const nic::TableViolation& v : found) {
    text += std::string(nic::to_string(v.fault)) + ": " + v.message + "\n";
  }
  return text;
}

template <class Action>
void expect_thrown(Action action, ErrorCode code, const std::string& what) {
  EXPECT_THAT(error_of(code, action), HasSubstr(what));
}

class SwitchesOf : public testing::TestWithParam<const char*> {};

TEST_P(SwitchesOf, HaveTablesThatVerifyOfEveryCollective) {
  const Topology topology = make_topology(GetParam());
  for (const Collective collective :
       {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather,
        Collective::Broadcast, Collective::Reduce}) {
    for (const std::uint64_t each : {0U, 1U, 7U}) {
      const std::uint64_t elements = each * topology.num_ranks();
      const Tables tables = tables_on(topology, collective, elements);
      EXPECT_EQ(tables.contributors(), topology.num_ranks());
      EXPECT_FALSE(tables.switches.empty());
      const std::string image = nic::write_image(tables);
      EXPECT_EQ(nic::read_image(image, "x"), tables);
      EXPECT_EQ(words(nic::check_tables(nic::read_image(image, "x"), topology)), "")
          << to_string(collective) << " " << elements;
    }
  }
}

// Whole numbers, so that there is one right sum; and nothing that a switch holds before is in it.
TEST_P(SwitchesOf, SumWhatRanksHaveAndNothingElse) {
  const Topology topology = make_topology(GetParam());
  const std::uint64_t elements = std::uint64_t{12} * topology.num_ranks();
  const SwitchesAsRanks made = made_on(topology, Collective::AllReduce, elements);
  nic::Memory memory(made.schedule.ranks,
                     std::vector<float>(elements, std::numeric_limits<float>::quiet_NaN()));
  std::vector<float> expected(elements, 0);
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    for (std::uint64_t e = 0; e < elements; ++e) {
      memory[r][e] = static_cast<float>((r + 1) * (e % 7 + 1));
      expected[e] += memory[r][e];
    }
  }
  nic::run_schedule(made.schedule, memory);
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) EXPECT_EQ(memory[r], expected) << r;
}

// The interface of hardware, in the model: every sum as the schedule has it, from memories of
// switches that hold anything.
TEST_P(SwitchesOf, AreSimulatedAsHardware) {
  const Topology topology = make_topology(GetParam());
  const Schedule schedule = make_schedule("in-network?segments=3", topology);
  nic::Parameters parameters = nic::as_hardware({});
  parameters.header_flits = nic::hardware_header_flits(schedule, topology);
  const nic::Simulation result = nic::simulate(schedule, topology, 6144, parameters,
                                               {.model = nic::Model::Flit, .data = true});
  EXPECT_THAT(result.errors, testing::IsEmpty());
  EXPECT_TRUE(result.checked);
}

INSTANTIATE_TEST_SUITE_P(Networks, SwitchesOf, testing::ValuesIn(kNetworks));

// A leaf of a fat tree that only forwards: its ranks' messages meet at the next switch.
TEST(Switches, ThoseThatOnlyForwardAreLeftOut) {
  const Topology topology = make_topology("fattree:2x2?switches=leaf0:add,leaf0:copy");
  const Tables tables = tables_on(topology, Collective::AllReduce, 64);
  EXPECT_THAT(tables.switches, testing::ElementsAre("leaf0"));
  EXPECT_EQ(words(nic::check_tables(tables, topology)), "");
}

// As few steps as there are messages on the busiest link, and some for the depth.
TEST(Switches, StepsFollowEachOtherOnLinks) {
  const Topology topology = make_topology("fattree:4x4?switches=add,copy");
  const Schedule schedule = make_schedule("in-network?segments=100", topology);
  const SwitchesAsRanks made = nic::switches_as_ranks(schedule, topology, 1 << 20);
  EXPECT_LE(made.schedule.num_steps(), schedule.num_steps() + 8);
}

struct Mutation {
  const char* what;
  TableFault fault;
  std::function<bool(Tables&, Entry&)> change;  ///< of an entry that a switch sends or gets
  bool is_of_switch = true;
};

// Each entry of a switch, and each that comes to it, changed in every way.
TEST(Switches, ChangedTablesAreFound) {
  const Topology topology = make_topology("fattree:2x3?switches=add,copy");
  const Tables right = tables_on(topology, Collective::AllReduce, 60);
  const std::vector<Mutation> mutations = {
      {"added to what the switch holds", TableFault::BadSchedule,
       [](Tables&, Entry& e) {
         return e.op == Opcode::Gather && std::exchange(e.op, Opcode::Reduce) != e.op;
       },
       false},
      {"stored instead of added", TableFault::BadSchedule,
       [](Tables&, Entry& e) {
         return e.op == Opcode::Reduce && std::exchange(e.op, Opcode::Gather) != e.op;
       },
       false},
      {"waits for fewer", TableFault::BadCounts,
       [](Tables&, Entry& e) { return e.wait > 0 && e.wait-- > 0; }},
      {"comes in another turn", TableFault::BadCounts,
       [](Tables&, Entry& e) { return ++e.turn > 0; }, false},
      {"lies elsewhere", TableFault::BadPlace,
       [](Tables&, Entry& e) { return e.size > 1 && e.size-- > 0; }},
      {"takes another route", TableFault::BadRoute,
       [](Tables& t, Entry& e) { return (e.route = (e.route + 1) % 2) < t.ranks; }}};
  for (const Mutation& mutation : mutations) {
    std::uint32_t changed = 0;
    for (std::uint32_t r = 0; r < right.ranks; ++r) {
      for (std::size_t i = 0; i < right.of_rank[r].size(); ++i) {
        Tables tables = right;
        Entry& entry = tables.of_rank[r][i];
        const std::uint32_t end = mutation.is_of_switch ? r : index(entry.peer);
        if (end < right.contributors() || !mutation.change(tables, entry)) continue;
        ++changed;
        const auto found = nic::check_tables(tables, topology);
        ASSERT_FALSE(found.empty()) << mutation.what << ", " << right.name_of(r) << " " << i;
        // What is wrong with the order of entries is found first.
        EXPECT_TRUE(found.front().fault == mutation.fault ||
                    found.front().fault == TableFault::BadPlace ||
                    found.front().fault == TableFault::BadCounts)
            << mutation.what << ": " << words(found);
      }
    }
    EXPECT_GE(changed, 6U) << mutation.what;
  }
}

TEST(Switches, TablesOfOtherSwitchesAreRefused) {
  const Topology topology = make_topology("fattree:2x3?switches=add,copy");
  const Tables tables = tables_on(topology, Collective::AllReduce, 60);
  const auto check_on = [&](const char* spec) {
    return [&tables, spec] { (void)nic::check_tables(tables, make_topology(spec)); };
  };
  expect_thrown(check_on("fattree:2x3"), ErrorCode::InvalidArgument,
                "expected those of the switches that add and copy in fattree:2x3, none, got those "
                "of leaf0");
  expect_thrown(check_on("fattree:2x3?switches=leaf0:add,leaf0:copy"), ErrorCode::InvalidArgument,
                "leaf0, got those of leaf0, leaf1");
  expect_thrown(check_on("fattree:4x2?switches=add,copy"), ErrorCode::InvalidArgument,
                "expected those of each of the 8 ranks");
  expect_thrown([&] { (void)nic::schedule_of(tables, topology); }, ErrorCode::Unsupported,
                "expected those of ranks alone, got 5 of switches that add and copy");
}

TEST(Switches, AnImageWithoutNamesIsRefused) {
  const Topology topology = make_topology("star:3?switches=add,copy");
  Tables tables = tables_on(topology, Collective::AllReduce, 12);
  tables.switches.front().assign(256, 'x');
  expect_thrown([&] { (void)nic::write_image(tables); }, ErrorCode::Unsupported,
                "expected names of switches of 1 to 255 bytes, got 256");
}

// What hardware cannot do: an engine for each link works whatever the others do.
TEST(Switches, LimitsAreRefusedByHardware) {
  const Topology topology = make_topology("star:4?switches=add,copy,2");
  const Schedule schedule = make_schedule("in-network?segments=3", topology);
  expect_thrown(
      [&] {
        (void)nic::simulate(schedule, topology, 4096, nic::as_hardware({}),
                            {.model = nic::Model::Flit});
      },
      ErrorCode::Unsupported,
      "expected switches that add and copy any number of messages at once, got sw0 with at "
      "most 2");
}

// Two sums of one chunk in one step at one switch, where there is one place for it.
TEST(Switches, TwoSumsOfAChunkAtOnceAreRefused) {
  TopologyBuilder builder("two");
  for (int r = 0; r < 4; ++r) builder.add_endpoint();
  const NodeId hub = builder.add_switch("hub", {.adds = true, .copies = true});
  for (std::uint32_t r = 0; r < 4; ++r) {
    builder.add_duplex(NodeId{r}, hub, Bandwidth{16'000'000'000}, Time{150'000});
  }
  const Topology topology = std::move(builder).build();
  Schedule schedule;
  schedule.algorithm = "by hand";
  schedule.ranks = 4;
  schedule.in_network = true;
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 1)};
  const auto add = [&](std::uint32_t src, std::uint32_t dst) {
    const std::vector<LinkId> route = {topology.out_links(NodeId{src}).front(),
                                       topology.in_links(NodeId{dst}).front()};
    schedule.add(0, Op::Reduce, 0, Rank{src}, Rank{dst}, route);
  };
  // 0 and 1 to 2, and to 3: each switch input has two messages, in two directions.
  add(0, 2);
  add(1, 2);
  add(2, 0);
  add(3, 0);
  schedule.canonicalize();
  expect_thrown([&] { (void)nic::switches_as_ranks(schedule, topology, 4); },
                ErrorCode::Unsupported, "write-conflict");
}

}  // namespace
}  // namespace multitree
