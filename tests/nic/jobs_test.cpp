// SPDX-License-Identifier: BSD-3-Clause
/// Several collectives and computing on one network, against times worked out by hand and against
/// each other.
#include "nic/jobs.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "algorithms/registry.hpp"
#include "simulation.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::Job;
using nic::Model;
using nic::simulate;
using nic::Simulation;

constexpr std::uint64_t kChunk = 4096;             // bytes
constexpr std::uint64_t kFlits = kChunk / 16 + 1;  // with a header
constexpr std::uint64_t kWay = 2 + 150 - 1;        // from a message's flits to its end: two
                                                   // interfaces and a link

Time cycles(std::int64_t count) { return Time{count * 1000}; }  // of 1 GHz

/// From rank 0 to rank 1 of mesh:2, in so many chunks.
Schedule stream(const Topology& mesh, std::uint32_t chunks) {
  std::vector<test::Hand> copies;
  for (std::uint32_t c = 0; c < chunks; ++c) copies.push_back({c, c, 0, 1});
  return test::broadcast_by_hand(mesh, chunks, copies);
}

Simulation run(const std::vector<Job>& jobs, const Topology& topology, Model model,
               std::span<const double> slowness = {}) {
  Simulation result =
      simulate(jobs, topology, {}, {.model = model, .data = model == Model::Flit}, slowness);
  EXPECT_THAT(result.errors, testing::IsEmpty());
  EXPECT_EQ(result.checked, model == Model::Flit);
  EXPECT_EQ(result.jobs.size(), jobs.size());
  return result;
}

class Jobs : public testing::TestWithParam<Model> {
 protected:
  const Topology mesh_ = make_topology("mesh:2");
};

INSTANTIATE_TEST_SUITE_P(, Jobs, testing::Values(Model::Message, Model::Flit),
                         [](const auto& model) { return std::string(to_string(model.param)); });

TEST_P(Jobs, OneIsTheCollectiveAlone) {
  for (const char* network : {"mesh:2", "torus:4x4", "fattree:2x4", "mesh:3x2"}) {
    const Topology topology = make_topology(network);
    const Schedule schedule = make_schedule("multitree", topology);
    const Simulation alone = simulate(schedule, topology, 1 << 16, {}, {.model = GetParam()});
    const Simulation job = run({{.schedule = &schedule, .bytes = 1 << 16}}, topology, GetParam());
    EXPECT_EQ(job.cycles, alone.cycles) << network;
    EXPECT_EQ(job.link_flits, alone.link_flits) << network;
    EXPECT_EQ(job.jobs[0].begin, 0U);
    EXPECT_EQ(job.jobs[0].end, alone.cycles);
  }
}

TEST_P(Jobs, FollowEachOther) {
  const Schedule schedule = make_schedule("multitree", mesh_);
  const std::uint64_t alone = simulate(schedule, mesh_, 8192, {}, {.model = GetParam()}).cycles;
  const Simulation both = run({{.schedule = &schedule, .bytes = 8192},
                               {.schedule = &schedule, .bytes = 8192, .after = {0}}},
                              mesh_, GetParam());
  EXPECT_EQ(both.jobs[1].begin, alone);
  EXPECT_EQ(both.cycles, 2 * alone);
}

TEST_P(Jobs, OvertakeBetweenMessages) {
  const Schedule large = stream(mesh_, 4), small = stream(mesh_, 1);
  const Simulation both =
      run({{.schedule = &large, .bytes = 4 * kChunk, .priority = 1},
           {.schedule = &small, .bytes = kChunk, .ready = cycles(300), .priority = 0}},
          mesh_, GetParam());
  // The second message of the large one is under way at cycle 300.
  EXPECT_EQ(both.jobs[1].begin, 300U);
  EXPECT_EQ(both.jobs[1].end, 3 * kFlits + kWay);
  EXPECT_EQ(both.jobs[0].end, 5 * kFlits + kWay);
}

TEST_P(Jobs, OfOnePriorityGoInTheOrderOfTheList) {
  const Schedule large = stream(mesh_, 4), small = stream(mesh_, 1);
  const Simulation both = run({{.schedule = &large, .bytes = 4 * kChunk},
                               {.schedule = &small, .bytes = kChunk, .ready = cycles(300)}},
                              mesh_, GetParam());
  EXPECT_EQ(both.jobs[0].end, 4 * kFlits + kWay);
  EXPECT_EQ(both.jobs[1].end, 5 * kFlits + kWay);
}

TEST_P(Jobs, ComputeBesideAndBetweenCollectives) {
  const Schedule schedule = stream(mesh_, 1);
  const std::uint64_t alone = kFlits + kWay;
  // 0 and 1 compute one after the other, 2 travels beside 1, 3 needs both.
  const Simulation all = run({{.name = "a", .computing = cycles(500)},
                              {.name = "b", .computing = cycles(700), .after = {0}},
                              {.name = "sum", .schedule = &schedule, .bytes = kChunk, .after = {0}},
                              {.name = "c", .computing = cycles(50), .after = {1, 2}}},
                             mesh_, GetParam());
  EXPECT_EQ(all.jobs[1].begin, 500U);
  EXPECT_EQ(all.jobs[1].end, 1200U);
  EXPECT_EQ(all.jobs[2].begin, 500U);
  EXPECT_EQ(all.jobs[2].end, 500U + alone);
  EXPECT_EQ(all.jobs[3].begin, 1200U);
  EXPECT_EQ(all.cycles, 1250U);
}

TEST_P(Jobs, ARankComputesOneThingAtATime) {
  const Simulation both =
      run({{.computing = cycles(500)}, {.computing = cycles(700), .ready = cycles(100)}}, mesh_,
          GetParam());
  EXPECT_EQ(both.jobs[1].begin, 500U);
  EXPECT_EQ(both.cycles, 1200U);
}

TEST_P(Jobs, WaitForTheSlowRank) {
  const Schedule schedule = make_schedule("multitree", mesh_);
  const std::uint64_t alone = simulate(schedule, mesh_, 8192, {}, {.model = GetParam()}).cycles;
  const std::vector<Job> jobs = {{.computing = cycles(1000)},
                                 {.schedule = &schedule, .bytes = 8192, .after = {0}},
                                 {.computing = cycles(10), .after = {1}}};
  EXPECT_EQ(run(jobs, mesh_, GetParam()).cycles, 1010 + alone);
  const std::vector<double> slowness = {1, 3};
  const Simulation slow = run(jobs, mesh_, GetParam(), slowness);
  EXPECT_EQ(slow.jobs[1].begin, 1000U);
  // What rank 0 sent at cycle 1000 has been at rank 1 for long when that begins.
  EXPECT_EQ(slow.cycles, 3000 + alone + 30);
}

TEST_P(Jobs, WithNothingToDoAreOverAtOnce) {
  const Topology one = make_topology("mesh:1");
  const Schedule alone = make_schedule("ring", one), schedule = make_schedule("ring", mesh_);
  EXPECT_EQ(
      run({{.schedule = &alone, .bytes = 1 << 20, .ready = cycles(7)}}, one, GetParam()).cycles,
      7U);
  const Simulation empty = run({{.schedule = &schedule, .bytes = 0, .ready = cycles(7)},
                                {.computing = cycles(5), .after = {0}}},
                               mesh_, GetParam());
  EXPECT_EQ(empty.cycles, 12U);
  EXPECT_EQ(simulate(std::vector<Job>{}, mesh_, {}, {.model = GetParam()}).cycles, 0U);
}

/// Random lists of jobs: what must hold of any.
TEST_P(Jobs, RandomListsKeepTheirOrders) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (const char* network : {"torus:4x2", "mesh:3x3", "fattree:2x4", "mesh:2x2?slow=1:0.5"}) {
    const Topology topology = make_topology(network);
    const Schedule sums = make_schedule("multitree", topology),
                   gather = make_schedule("multitree", topology, Collective::AllGather),
                   ring = make_schedule("ring", topology);
    const Schedule* const schedules[] = {&sums, &gather, &ring, nullptr};
    for (int round = 0; round < 6; ++round) {
      std::vector<Job> jobs;
      for (std::uint32_t j = 0; j < 7; ++j) {
        Job job{.schedule = schedules[below(4)],
                .bytes = below(4) * 5000ULL,
                .computing = cycles(below(3000)),
                .ready = cycles(below(2000)),
                .priority = below(3)};
        for (std::uint32_t before = 0; before < j; ++before) {
          if (below(4) == 0) job.after.push_back(before);
        }
        jobs.push_back(job);
      }
      const Simulation result = run(jobs, topology, GetParam());
      std::uint64_t computing = 0;
      for (std::uint32_t j = 0; j < jobs.size(); ++j) {
        EXPECT_GE(result.jobs[j].begin,
                  static_cast<std::uint64_t>(jobs[j].ready.picoseconds) / 1000);
        EXPECT_LE(result.jobs[j].begin, result.jobs[j].end);
        EXPECT_LE(result.jobs[j].end, result.cycles);
        if (jobs[j].schedule == nullptr) {
          computing += static_cast<std::uint64_t>(jobs[j].computing.picoseconds) / 1000;
          for (const std::uint32_t before : jobs[j].after) {
            EXPECT_GE(result.jobs[j].end, result.jobs[before].end);
          }
        }
      }
      EXPECT_GE(result.cycles, computing);
      const Simulation again = run(jobs, topology, GetParam());
      EXPECT_EQ(again.cycles, result.cycles);
    }
  }
}

TEST(JobsOfBothModels, TakeAboutAsLong) {
  const Topology topology = make_topology("torus:4x4");
  const Schedule schedule = make_schedule("multitree", topology);
  std::vector<Job> jobs;
  for (std::uint32_t j = 0; j < 6; ++j) {
    jobs.push_back({.schedule = &schedule,
                    .bytes = 40000ULL + j * 10000,
                    .ready = cycles(j * 400),
                    .priority = 5 - j});
  }
  const auto message = static_cast<double>(run(jobs, topology, Model::Message).cycles);
  const auto flit = static_cast<double>(run(jobs, topology, Model::Flit).cycles);
  EXPECT_NEAR(message / flit, 1, 0.02);
}

TEST(JobsRefused, SayWhichAndWhy) {
  const Topology mesh = make_topology("mesh:2"), other = make_topology("mesh:3");
  const Schedule schedule = make_schedule("ring", other);
  const auto expect = [&](const std::vector<Job>& jobs, const std::string& words,
                          std::vector<double> slowness = {}, nic::Parameters parameters = {},
                          Model model = Model::Message) {
    try {
      (void)simulate(jobs, mesh, parameters, {.model = model}, slowness);
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(words));
    }
  };
  expect({{.name = "x", .after = {0}}}, "job 0 'x': expected to be after jobs below 0, got 0");
  expect({{.name = "x", .computing = Time{-1}}}, "job 0 'x': expected times from 0 on");
  expect({{}, {.name = "y", .schedule = &schedule}},
         "job 1 'y': expected a schedule for the 2 ranks");
  expect({{}}, "slowness: expected a number for each of 2 ranks, got 1", {1});
  expect({{}}, "slowness: expected finite numbers", {1, -1});
  expect({{}}, "one collective at a time", {}, {.issue = nic::Issue::Lockstep});
  expect({{}}, "expected message or flit, got alphabeta", {}, {}, Model::AlphaBeta);
}

}  // namespace
}  // namespace multitree
