// SPDX-License-Identifier: BSD-3-Clause
/// Sums that go on without late contributions, against a statement of the rule by its own.
#include "nic/losses.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <random>

#include "algorithms/registry.hpp"
#include "nic/hardware.hpp"
#include "nic/observer.hpp"
#include "nic/simulate.hpp"
#include "nic/table/check.hpp"
#include "table_runner.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::Losses;
using nic::LossReport;
using nic::simulate;
using nic::Simulation;
using testing::HasSubstr;
using testing::IsEmpty;

const nic::Parameters kHardware = [] {
  nic::Parameters p = nic::as_hardware({});
  p.park_slots = 255;
  return p;
}();

Simulation run_with(const Losses& losses, const Schedule& schedule, const Topology& topology,
                    std::uint64_t bytes, nic::Observer* observer = nullptr) {
  return simulate(schedule, topology, bytes, kHardware,
                  {.data = true, .observer = observer, .losses = losses});
}

/// Who is late is left out, if those are no more than the budget allows; else nobody.
LossReport report_by_rule(const Losses& losses, std::uint32_t ranks) {
  LossReport report{.contributions = ranks};
  if (losses.budget == 0) return report;
  for (std::uint32_t r = 0; r < losses.ready.size(); ++r) {
    if (losses.ready[r] > losses.deadline) report.late.push_back(r);
  }
  if (report.late.size() > losses.budget) return report;
  report.absent = report.late;
  report.contributions = ranks - static_cast<std::uint32_t>(report.late.size());
  return report;
}

TEST(Losses, WhoIsLeftOutIsWhoIsLate) {
  std::mt19937 random(7);
  std::uint32_t left_out = 0, waited = 0;
  for (const char* name : {"ring:5", "mesh:2x3", "torus:4x4", "fattree:2x3", "hypercube:3"}) {
    const Topology topology = make_topology(name);
    const std::uint32_t ranks = topology.num_ranks();
    const Schedule schedule = make_schedule("multitree", topology);
    for (int i = 0; i < 12; ++i) {
      Losses losses{.deadline = random() % 1500,
                    .budget = static_cast<std::uint32_t>(random()) % 4};
      losses.ready.assign(ranks, 0);
      for (int s = 0; s < 3; ++s) losses.ready[random() % ranks] = random() % 6000;
      const Simulation result = run_with(losses, schedule, topology, 8000);
      SCOPED_TRACE(fmt::format("{}, point {}", name, i));
      EXPECT_THAT(result.errors, IsEmpty());
      EXPECT_TRUE(result.checked);
      ASSERT_TRUE(result.losses);
      EXPECT_EQ(*result.losses, report_by_rule(losses, ranks));
      left_out += !result.losses->absent.empty();
      waited += !result.losses->late.empty() && result.losses->absent.empty();
    }
  }
  EXPECT_GT(left_out, 5);
  EXPECT_GT(waited, 5);
}

/// The deadline's own cycle is in time.
TEST(Losses, TheDeadlineItselfIsInTime) {
  const Topology topology = make_topology("torus:3x3");
  const Schedule schedule = make_schedule("multitree", topology);
  Losses losses{.deadline = 700, .budget = 1, .ready = std::vector<std::uint64_t>(9, 0)};
  losses.ready[4] = 700;
  EXPECT_THAT(run_with(losses, schedule, topology, 4000).losses->late, IsEmpty());
  losses.ready[4] = 701;
  EXPECT_THAT(run_with(losses, schedule, topology, 4000).losses->absent, testing::ElementsAre(4));
}

/// How long it takes does not depend on how late it is, once it is late.
TEST(Losses, NobodyWaitsForWhoIsLeftOut) {
  const Topology topology = make_topology("torus:4x4");
  const Schedule schedule = make_schedule("multitree", topology);
  const std::uint64_t alone = simulate(schedule, topology, 1 << 16, kHardware, {}).cycles;
  Losses losses{.deadline = 1000, .budget = 2, .ready = std::vector<std::uint64_t>(16, 0)};
  losses.ready[5] = 20'000;
  const std::uint64_t once = run_with(losses, schedule, topology, 1 << 16).cycles;
  losses.ready[5] = 60'000;
  EXPECT_EQ(run_with(losses, schedule, topology, 1 << 16).cycles, once);
  EXPECT_LT(once, 1000 + 3 * alone);
  losses.budget = 0;
  EXPECT_GT(run_with(losses, schedule, topology, 1 << 16).cycles, 60'000U);
}

/// Without a budget and with everybody there it is the all-reduce of before.
TEST(Losses, NothingIsLostWithoutABudget) {
  for (const char* name : {"torus:4x4", "mesh:2x3", "fattree:2x2"}) {
    const Topology topology = make_topology(name);
    const Schedule schedule = make_schedule("multitree", topology);
    const Simulation before = simulate(schedule, topology, 1 << 14, kHardware, {});
    const Simulation after = run_with({.deadline = 10}, schedule, topology, 1 << 14);
    EXPECT_EQ(after.cycles, before.cycles) << name;
    EXPECT_EQ(after.link_flits, before.link_flits) << name;
    EXPECT_TRUE(after.checked);
    EXPECT_EQ(*after.losses, (LossReport{.contributions = topology.num_ranks()}));
  }
}

/// What each message says that it holds.
class Counts : public nic::Observer {
 public:
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> of;  // rank, entry
  void counts(std::uint32_t rank, std::uint32_t entry, std::uint32_t count) override {
    of[{rank, entry}] = count;
  }
  void begun(std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t) override {}
  void injected(std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                std::uint64_t, bool, bool) override {}
  void passed(std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
              std::uint64_t) override {}
  void arrived(std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
               std::uint64_t) override {}
  void issued(std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
              std::uint32_t) override {}
  void taken(std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t) override {}
  void step(std::uint64_t, std::uint32_t, std::uint32_t) override {}
};

/// A partial sum counts the ranks below that are not absent, a result all of them: worked out from
/// the trees alone.
TEST(Losses, MessagesCountWhatIsInThem) {
  const Topology topology = make_topology("torus:4x4");
  const Schedule schedule = make_schedule("multitree", topology);
  Losses losses{.deadline = 900, .budget = 3, .ready = std::vector<std::uint64_t>(16, 0)};
  losses.ready[5] = losses.ready[10] = 20'000;
  Counts counts;
  ASSERT_EQ(run_with(losses, schedule, topology, 1 << 14, &counts).losses->contributions, 14);
  const Schedule call = nic::roll_call_of(schedule);
  const nic::Tables image =
      nic::compile_groups(nic::counted_groups(call, schedule, 1 << 12), topology);
  EXPECT_THAT(nic::check_tables(image, topology), IsEmpty());
  // [flow][rank]: ranks whose sums have come, by the steps of the entries; the rank itself first.
  std::vector<std::vector<std::uint32_t>> holds(17, std::vector<std::uint32_t>(16, 1));
  for (auto& flow : holds) flow[5] = flow[10] = 0;
  std::size_t compared = 0;
  for (std::uint32_t step = 0; step < image.steps; ++step) {
    for (std::uint32_t r = 0; r < 16; ++r) {
      for (std::uint32_t e = 0; e < image.of_rank[r].size(); ++e) {
        const nic::Entry& entry = image.of_rank[r][e];
        if (entry.step != step) continue;
        ++compared;
        const bool is_sum = entry.op == nic::Opcode::Reduce;
        EXPECT_EQ(counts.of.at({r, e}), is_sum ? holds[entry.flow][r] : 14U);
        if (is_sum) holds[entry.flow][index(entry.peer)] += holds[entry.flow][r];
      }
    }
  }
  EXPECT_EQ(compared, counts.of.size());
  EXPECT_EQ(compared, 17U * 30);
}

/// The executor that knows only tables makes the sums of both groups.
TEST(Losses, TablesAloneMakeTheSums) {
  const Topology topology = make_topology("mesh:2x3");
  const Schedule schedule = make_schedule("multitree", topology);
  const Schedule call = nic::roll_call_of(schedule);
  const nic::Tables image = nic::compile_groups(nic::counted_groups(call, schedule, 60), topology);
  ASSERT_EQ(image.groups.size(), 2);
  EXPECT_EQ(image.groups[0].elements, 0);
  for (std::uint32_t absent = 0; absent < 6; ++absent) {
    test::Buffers buffers(6, std::vector<std::uint64_t>(60));
    for (std::uint32_t r = 0; r < 6; ++r) {
      if (r != absent) std::ranges::fill(buffers[r], 1ULL << r);
    }
    ASSERT_TRUE(test::run_tables(image, test::Issue::AsSoonAsPossible, absent, buffers));
    for (const auto& buffer : buffers) {
      EXPECT_THAT(buffer, testing::Each(63 - (1ULL << absent)));
    }
  }
}

template <typename Call>
void expect_refused(ErrorCode code, const std::string& what, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "expected '" << what << "'";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_THAT(error.what(), HasSubstr(what));
  }
}

TEST(Losses, RefusesWhatCannotLose) {
  const Topology topology = make_topology("hypercube:3");
  const Schedule schedule = make_schedule("multitree", topology);
  const auto run = [&](const Losses& losses, const Schedule& what) {
    (void)run_with(losses, what, topology, 64);
  };
  expect_refused(ErrorCode::InvalidArgument, "expected a budget below 8 contributions, got 8",
                 [&] { run({.budget = 8}, schedule); });
  expect_refused(ErrorCode::InvalidArgument, "expected a cycle for each of 8 ranks, got 2", [&] {
    run({.ready = {0, 0}}, schedule);
  });
  expect_refused(ErrorCode::Unsupported, "got 'recursive-doubling', where chunk 0",
                 [&] { run({}, make_schedule("recursive-doubling", topology)); });
  expect_refused(ErrorCode::Unsupported, "has no sum for all", [&] {
    run({}, make_schedule("multitree", topology, Collective::AllGather, Rank{0}));
  });
  expect_refused(ErrorCode::Unsupported, "expected the flit model with pipelined reduction",
                 [&] { (void)simulate(schedule, topology, 64, {}, {.losses = Losses{}}); });
  const nic::Job job{.schedule = &schedule, .bytes = 64};
  expect_refused(ErrorCode::Unsupported, "simulation of jobs: expected no losses", [&] {
    (void)simulate({&job, 1}, topology, kHardware, {.losses = Losses{}});
  });
}

}  // namespace
}  // namespace multitree
