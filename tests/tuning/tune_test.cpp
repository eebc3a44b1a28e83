// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plans by size, crossovers where theory has them, and `auto`.
#include "algorithms/tuning/tune.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

std::string error_of(const SizedSchedules& schedules) {
  try {
    check_sized(schedules);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(SizedSchedules, AreLookedUpBySize) {
  const Topology topology = make_topology("ring:4");
  const Schedule ring = make_schedule("ring", topology);
  const Schedule tree = make_schedule("double-binary-tree", topology);
  const SizedSchedules plan = {{tree, 1000}, {ring}};
  EXPECT_EQ(error_of(plan), "");
  EXPECT_EQ(schedule_for(plan, 0), tree);
  EXPECT_EQ(schedule_for(plan, 1000), tree);
  EXPECT_EQ(schedule_for(plan, 1001), ring);
  EXPECT_EQ(schedule_for(plan, std::numeric_limits<std::uint64_t>::max()), ring);
}

TEST(SizedSchedules, AreChecked) {
  const Topology four = make_topology("ring:4"), five = make_topology("ring:5");
  const Schedule ring = make_schedule("ring", four);
  EXPECT_THAT(error_of({}), HasSubstr("expected at least one schedule"));
  EXPECT_THAT(error_of({{ring, 10}}), HasSubstr("for all sizes, got at most 10 bytes"));
  EXPECT_THAT(error_of({{ring, 10}, {ring, 10}}), HasSubstr("more than the 10 bytes"));
  EXPECT_THAT(error_of({{ring, 10}, {make_schedule("ring", five)}}),
              HasSubstr("got allreduce of 5"));
  EXPECT_THAT(error_of({{ring, 10}, {make_schedule("ring", four, Collective::AllGather)}}),
              HasSubstr("got allgather"));
}

/// On a full network whole vectors take alpha + M/b, reduce-scatter and all-gather
/// 2 (alpha + M/(N b)): they are equal at M = alpha b / (1 - 2/N).
TEST(Tune, FindsTheCrossoverOfTheory) {
  for (const std::uint32_t ranks : {4U, 6U, 9U}) {
    const Topology topology = make_topology("full:" + std::to_string(ranks));
    TuneOptions options;
    options.first = 1;
    options.last = 1 << 20;
    options.algorithms = {"exchange", "symmetric"};
    const TuneResult result = tune(topology, Collective::AllReduce, Rank{0}, options);
    ASSERT_EQ(result.ranges.size(), 2U);
    const double expected = 150e-9 * 16e9 / (1 - 2.0 / ranks);
    EXPECT_EQ(result.ranges[0].candidate, 0U);
    EXPECT_NEAR(static_cast<double>(result.ranges[0].to), expected, expected / 32);
    EXPECT_EQ(result.ranges[1].from, result.ranges[0].to + 1);
    const SizedSchedules plan = result.plan();
    check_sized(plan);
    EXPECT_EQ(schedule_for(plan, 1).algorithm, "exchange");
    EXPECT_EQ(schedule_for(plan, std::uint64_t{1} << 40).algorithm, "symmetric");
  }
}

/// Ranges follow each other, and within them nobody else is faster by more than the precision.
TEST(Tune, ChoosesTheFastestEverywhere) {
  std::mt19937_64 random(7);
  for (const char* spec :
       {"torus:4x4", "mesh:3x3", "fattree:2x4", "dgx-a100:2", "ring:7", "ring:1"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    TuneOptions options;
    options.first = 0;
    options.last = 1 << 24;
    options.algorithms = {"ring",
                          "multitree",
                          "recursive-doubling",
                          "double-binary-tree",
                          "double-binary-tree?segments=4",
                          "halving-doubling"};
    const TuneResult result = tune(topology, Collective::AllReduce, Rank{0}, options);
    EXPECT_EQ(result.ranges.front().from, options.first);
    EXPECT_EQ(result.ranges.back().to, options.last);
    for (std::size_t i = 0; i < result.ranges.size(); ++i) {
      const TunedRange& range = result.ranges[i];
      ASSERT_LE(range.from, range.to);
      if (i > 0) {
        EXPECT_EQ(range.from, result.ranges[i - 1].to + 1);
        EXPECT_NE(range.candidate, result.ranges[i - 1].candidate);
      }
      const std::uint64_t size = range.from + random() % (range.to - range.from + 1);
      const double own =
          predict_time(result.candidates[range.candidate].schedule, topology, size).seconds();
      for (const TuneCandidate& other : result.candidates) {
        EXPECT_LE(own, predict_time(other.schedule, topology, size).seconds() * 1.05 + 1e-12)
            << other.spec << " at " << size;
      }
    }
  }
}

TEST(Tune, SaysWhoCannotServe) {
  TuneOptions options;
  options.algorithms = {"ring2d", "ring"};
  const TuneResult result = tune(make_topology("star:4"), Collective::AllReduce, Rank{0}, options);
  EXPECT_THAT(result.candidates[0].unsupported, HasSubstr("ring2d needs"));
  EXPECT_EQ(result.ranges.size(), 1U);
  options.algorithms = {"ring2d"};
  EXPECT_THROW(tune(make_topology("star:4"), Collective::AllReduce, Rank{0}, options), Error);
  options.algorithms = {"ring"};
  options.first = 10;
  options.last = 9;
  EXPECT_THROW(tune(make_topology("star:4"), Collective::AllReduce, Rank{0}, options), Error);
}

/// A message overhead makes many small messages dear: it moves the crossover to one large message.
TEST(Tune, CountsMessageOverhead) {
  const Topology topology = make_topology("full:8");
  TuneOptions options;
  options.first = options.last = 1 << 14;
  options.algorithms = {"exchange", "symmetric", "recursive-doubling"};
  const auto winner = [&] {
    const TuneResult result = tune(topology, Collective::AllReduce, Rank{0}, options);
    return result.candidates[result.ranges.front().candidate].spec;
  };
  EXPECT_EQ(winner(), "symmetric");
  options.cost.message_overhead = Time{10'000'000};
  EXPECT_EQ(winner(), "recursive-doubling");
}

TEST(Auto, ChoosesForItsSize) {
  const Topology topology = make_topology("full:6");
  EXPECT_EQ(make_schedule("auto?size=64", topology).num_steps(), 1U);
  const Schedule large = make_schedule("auto?size=1GiB", topology);
  EXPECT_GT(large.num_steps(), 1U);
  EXPECT_EQ(large, make_schedule("auto?size=1GiB", topology));
  EXPECT_THROW(make_schedule("auto?size=many", topology), Error);
}

}  // namespace
}  // namespace multitree
