// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Every algorithm on groups of ranks: the others only forward.
#include "topologies/group.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "algorithms/bounds.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

std::vector<Rank> random_group(std::mt19937& random, std::uint32_t num_ranks) {
  std::vector<Rank> group;
  for (std::uint32_t r = 0; r < num_ranks; ++r) {
    if (random() % 2 == 0) group.push_back(Rank{r});
  }
  if (group.empty()) group.push_back(Rank{0});
  if (random() % 2 == 0) std::ranges::reverse(group);
  return group;
}

TEST(GroupSchedules, OfEveryAlgorithmVerify) {
  std::mt19937 random(5);
  std::uint32_t schedules = 0;
  for (const std::string_view spec :
       {"torus:3x4", "mesh:3x3", "hypercube:3", "star:6", "fattree:3x3", "bigraph:2x4", "full:6",
        "dgx-a100:2", "dragonfly:2x1x2", "torus:4x4?dead=12-15"}) {
    const Topology whole = make_topology(spec);
    for (int i = 0; i < 2; ++i) {
      const Topology group = restrict_to(whole, random_group(random, whole.num_ranks()));
      const Bounds bounds = compute_bounds(group);
      for (const Algorithm& algorithm : algorithms()) {
        if (algorithm.unsupported(group)) continue;
        for (const Collective collective : {Collective::AllReduce, Collective::AllGather}) {
          SCOPED_TRACE(
              fmt::format("{} {} on {}", algorithm.name, to_string(collective), group.name()));
          const Schedule schedule = generate_schedule(algorithm.name, group, collective, Rank{0});
          const VerifyReport report = verify(schedule, group);
          ASSERT_TRUE(report.ok()) << report.violations.front().message;
          EXPECT_EQ(schedule.ranks, group.num_ranks());
          ++schedules;
        }
      }
      EXPECT_EQ(bounds.ranks, group.num_ranks());
    }
  }
  EXPECT_GT(schedules, 100U);
}

TEST(GroupSchedules, OthersAddBandwidth) {
  // Two ends of a row can also use the other rows, unless those are dead.
  const Rational alone = compute_bounds(make_topology("mesh:3x3?ranks=0,2&dead=3-8")).all_gather;
  const Rational helped = compute_bounds(make_topology("mesh:3x3?ranks=0,2")).all_gather;
  EXPECT_EQ(alone, Rational(1));
  EXPECT_EQ(helped, Rational(1, 2));
}

}  // namespace
}  // namespace multitree
