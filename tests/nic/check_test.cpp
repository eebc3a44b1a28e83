// SPDX-License-Identifier: BSD-3-Clause
/// Tables that are right, and tables that have been changed.
#include "nic/table/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/encode/image.hpp"
#include "nic/jobs.hpp"
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

/// Collectives with random sizes, priorities and doorbells, as an image and as jobs.
void expect_the_same_cycles(const Topology& topology, std::mt19937& random) {
  constexpr std::array<const char*, 3> kAlgorithms = {"multitree", "ring",
                                                      "allreduce-optimal?form=trees&segments=2"};
  std::vector<Schedule> schedules;
  for (const char* algorithm : kAlgorithms) {
    schedules.push_back(make_schedule(algorithm, topology));
  }
  schedules.push_back(make_schedule("multitree", topology, Collective::ReduceScatter));
  schedules.push_back(make_schedule("multitree", topology, Collective::AllGather));
  std::vector<nic::GroupSource> groups;
  std::vector<nic::Job> jobs;
  for (std::uint32_t g = 0; g < 1 + random() % 5; ++g) {
    const Schedule& schedule = schedules[random() % schedules.size()];
    // Some without elements; of the others no piece is empty, for those are left out.
    const std::uint64_t shard = random() % 8 == 0 ? 0 : 64 + random() % 500;
    const std::uint64_t elements = shard * topology.num_ranks();
    groups.push_back({&schedule, elements, static_cast<std::uint32_t>(random() % 3)});
    jobs.push_back({.schedule = &schedule,
                    .bytes = elements * 4,
                    .ready = Time{static_cast<std::int64_t>(random() % 3'000'000)},
                    .priority = groups.back().priority});
  }
  const Tables tables =
      nic::read_image(nic::write_image(nic::compile_groups(groups, topology)), "x");
  ASSERT_EQ(words(check_tables(tables, topology)), "");
  for (const nic::Model model : {nic::Model::Message, nic::Model::Flit}) {
    const nic::SimulationOptions options{.model = model, .data = model == nic::Model::Flit};
    const nic::Simulation expected = nic::simulate(jobs, topology, {}, options);
    std::vector<Schedule> made;
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      made.push_back(nic::schedule_of_group(tables, topology, g));
    }
    std::vector<nic::Job> from_image = jobs;
    for (std::uint32_t g = 0; g < groups.size(); ++g) from_image[g].schedule = &made[g];
    const nic::Simulation got = nic::simulate(from_image, topology, {}, options);
    EXPECT_THAT(got.errors, testing::IsEmpty());
    EXPECT_EQ(got.checked, model == nic::Model::Flit);
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      if (groups[g].elements == 0) continue;
      EXPECT_EQ(got.jobs[g].begin, expected.jobs[g].begin) << "group " << g;
      EXPECT_EQ(got.jobs[g].end, expected.jobs[g].end) << "group " << g;
    }
  }
}

// What an image says is what it was made of: each group begins and ends in the same cycle.
TEST(Check, GroupsTakeTheCyclesOfTheirSchedules) {
  std::mt19937 random(16);  // NOLINT(cert-msc51-cpp): the same points every time
  for (const char* spec : {"ring:3", "mesh:2x3", "torus:4x4", "fattree:2x4"}) {
    const Topology topology = make_topology(spec);
    for (int round = 0; round < 15; ++round) {
      SCOPED_TRACE(std::string(spec) + ", round " + std::to_string(round));
      expect_the_same_cycles(topology, random);
    }
  }
}

TEST(Check, RefusesTablesOfAnotherNetwork) {
  const Good good;
  EXPECT_THROW(static_cast<void>(check_tables(good.tables, make_topology("mesh:2x3"))), Error);
}

}  // namespace
}  // namespace multitree
