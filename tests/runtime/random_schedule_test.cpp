// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whatever verifies is executed right, however odd.
#include "random_schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/report.hpp"
#include "algorithms/verify.hpp"
#include "support.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

Schedule verified(Collective collective, const Topology& topology, Rank root, std::uint32_t seed) {
  Schedule schedule = random_schedule(collective, topology, root, seed);
  const VerifyReport report = verify(schedule, topology);
  for (const Violation& violation : report.violations) ADD_FAILURE() << violation.message;
  return schedule;
}

class RandomSchedule : public testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomSchedule, IsExecutedRight) {
  const std::uint32_t seed = GetParam(), ranks = 2 + seed % 6;
  const Topology topology = make_topology("full:" + std::to_string(ranks));
  const Rank root{seed % ranks};
  std::vector<Schedule> schedules;
  for (const Collective collective : all_collectives()) {
    schedules.push_back(verified(collective, topology, root, seed));
  }
  CommunicatorOptions options{.transport = "loopback"};
  options.segment_bytes = seed % 2 == 0 ? 1024 : 64;
  run_ranks(ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, schedules, options);
    for (const Collective collective : all_collectives()) {
      for (const std::size_t count : {0U, 1U, 3U, 1000U, 40'000U}) {
        const bool in_place = (count + seed) % 2 == 0;
        const auto type = count == 1 ? DataType::Float16 : DataType::Int64;
        check_collective(communicator, collective, root, count, type, ReduceOp::Sum, in_place);
      }
    }
  });
}

TEST_P(RandomSchedule, IsReadBackAndReported) {
  const Topology topology = make_topology("full:5");
  const Bounds bounds = compute_bounds(topology);
  for (const Collective collective : all_collectives()) {
    const Schedule schedule = verified(collective, topology, Rank{3}, GetParam());
    const auto plan = parse_schedule_json(write_schedule_json(schedule, topology), "random");
    EXPECT_EQ(plan.schedule, schedule);
    const ScheduleReport report =
        make_report(schedule, topology, bounds,
                    certify(topology, bounds, collective, schedule.root).certificate, 1U << 20);
    EXPECT_TRUE(report.contention_free);
    EXPECT_LE(report.depth, report.total_steps);
    EXPECT_GE(report.bound_ratio, 0.5);
    EXPECT_GT(report.predicted_seconds, 0);
    EXPECT_TRUE(std::isfinite(report.predicted_seconds));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSchedule, testing::Range(1U, 13U));

}  // namespace
}  // namespace multitree::runtime::test
