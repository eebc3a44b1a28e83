// SPDX-License-Identifier: BSD-3-Clause
/// Tables that are right, and tables that have been changed.
#include "nic/table/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/encode/image.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::check_tables;
using nic::Entry;
using nic::TableFault;
using nic::Tables;
using nic::TableViolation;

std::string words(const std::vector<TableViolation>& found) {
  std::string text;
  for (const TableViolation& v : found) {
    text += std::string(nic::to_string(v.fault)) + ": " + v.message + "\n";
  }
  return text;
}

class CheckOf : public testing::TestWithParam<const char*> {};

// Every collective by itself, and all of them in one image.
TEST_P(CheckOf, FindsNothingInWhatIsCompiled) {
  const Topology topology = make_topology(GetParam());
  for (const std::uint64_t shard : {0U, 1U, 5U}) {
    std::vector<Schedule> schedules;
    for (const Collective collective : all_collectives()) {
      schedules.push_back(make_schedule("multitree", topology, collective));
    }
    schedules.push_back(make_schedule("ring", topology));
    schedules.push_back(make_schedule("allreduce-optimal?form=trees&segments=3", topology));
    std::vector<nic::GroupSource> groups;
    for (const Schedule& schedule : schedules) {
      const std::uint64_t elements = shard * schedule.ranks;
      groups.push_back({.schedule = &schedule, .elements = elements});
      const Tables alone = nic::compile_tables(schedule, topology, {.elements = elements});
      EXPECT_EQ(words(check_tables(alone, topology)), "") << to_string(schedule.collective);
    }
    const Tables all = nic::compile_groups(groups, topology);
    EXPECT_EQ(words(check_tables(nic::read_image(nic::write_image(all), "x"), topology)), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, CheckOf,
                         testing::Values("mesh:1", "ring:2", "mesh:2x2", "torus:4x4", "mesh:3x5",
                                         "star:5", "fattree:4x4"));

/// Two groups of a 3x3 mesh.
struct Good {
  Topology topology = make_topology("mesh:3x3");
  Schedule front = make_schedule("multitree", topology), back = make_schedule("ring", topology);
  std::vector<nic::GroupSource> sources = {{.schedule = &front, .elements = 18},
                                           {.schedule = &back, .elements = 27, .priority = 1}};
  Tables tables = nic::compile_groups(sources, topology);
};

void expect_fault(const std::function<void(Tables&)>& change, TableFault fault,
                  std::uint32_t group) {
  Good good;
  change(good.tables);
  const auto found = check_tables(good.tables, good.topology);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().fault, fault) << words(found);
  for (const TableViolation& violation : found) EXPECT_EQ(violation.group, group) << words(found);
}

Entry& first_of(Tables& tables, std::uint32_t rank, std::uint32_t group) {
  for (Entry& entry : tables.of_rank[rank]) {
    if (entry.group == group) return entry;
  }
  throw std::logic_error("no entry of the group");
}

TEST(Check, NamesWhatIsWrongAndInWhichGroup) {
  for (const std::uint32_t g : {0U, 1U}) {
    const auto on_first = [g](const std::function<void(Entry&)>& change) {
      return [g, change](Tables& t) { change(first_of(t, 4, g)); };
    };
    expect_fault(on_first([](Entry& e) { ++e.wait; }), TableFault::BadCounts, g);
    expect_fault(on_first([](Entry& e) { ++e.turn; }), TableFault::BadCounts, g);
    expect_fault(on_first([](Entry& e) { ++e.after; }), TableFault::BadCounts, g);
    expect_fault(on_first([](Entry& e) { ++e.size; }), TableFault::BadPlace, g);
    expect_fault(on_first([](Entry& e) { e.route = 99; }), TableFault::BadRoute, g);
    expect_fault(on_first([](Entry& e) { e.peer = Rank{8}; }), TableFault::BadRoute, g);
  }
  // Of the other group's flows and elements.
  expect_fault([](Tables& t) { first_of(t, 4, 0).group = 1; }, TableFault::BadPlace, 1);
  expect_fault([](Tables& t) { first_of(t, 4, 0).group = 2; }, TableFault::BadPlace, 2);
}

// A message that is missing leaves counts that ask for what nobody sends; with counts that are
// right for what is left, it is the collective that is not done.
TEST(Check, MissesNoMessage) {
  const Good good;
  for (std::uint32_t r = 0; r < good.tables.ranks; ++r) {
    for (std::size_t i = 0; i < good.tables.of_rank[r].size(); ++i) {
      Tables tables = good.tables;
      const std::uint32_t group = tables.of_rank[r][i].group;
      tables.of_rank[r].erase(tables.of_rank[r].begin() + static_cast<std::ptrdiff_t>(i));
      const auto found = check_tables(tables, good.topology);
      ASSERT_FALSE(found.empty()) << "rank " << r << ", entry " << i;
      EXPECT_EQ(found.front().group, group);
    }
  }
  Schedule half = good.front;
  std::erase_if(half.transfers, [](const Transfer& t) { return t.op == Op::Copy; });
  half.canonicalize();
  const auto found =
      check_tables(nic::compile_tables(half, good.topology, {.elements = 18}), good.topology);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().fault, TableFault::BadSchedule) << words(found);
}

TEST(Check, RefusesTablesOfAnotherNetwork) {
  const Good good;
  EXPECT_THROW(static_cast<void>(check_tables(good.tables, make_topology("mesh:2x3"))), Error);
}

}  // namespace
}  // namespace multitree
