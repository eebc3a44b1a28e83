// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plans by size, crossovers where theory has them, and `auto`.
#include "algorithms/tuning/tune.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

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

/// What is chosen for one size.
TuneCandidate winner_at(const char* spec, std::uint64_t bytes, Time message) {
  TuneOptions options;
  options.first = options.last = bytes;
  options.cost.message_overhead = message;
  const TuneResult result = tune(make_topology(spec), Collective::AllReduce, Rank{0}, options);
  return result.candidates[result.ranges.front().candidate];
}

/// Whole vectors to near partners are 1.5 times faster there than what else there is.
TEST(Tune, TriesVariants) {
  const TuneCandidate winner = winner_at("torus:4x4", 64, Time{});
  EXPECT_THAT(winner.spec, testing::EndsWith("?variant=latency"));
  const Topology topology = make_topology("torus:4x4");
  for (const char* variant : {"swing?variant=latency", "bine?variant=latency"}) {
    EXPECT_THAT(candidate_specs(), testing::Contains(variant));
    EXPECT_LE(winner.times.front(), predict_time(make_schedule(variant, topology), topology, 64));
  }
}

/// Data of 1 KiB isn't cut as 64 MiB are: once a tree of 541 steps was chosen, of 2 bytes each.
TEST(Tune, TellsTheSizeToThoseWhoAsk) {
  const Topology topology = make_topology("mesh:4x4");
  TuneOptions options;  // messages cost nothing
  options.first = options.last = 1 << 10;
  const TuneResult result = tune(topology, Collective::AllReduce, Rank{0}, options);
  std::uint32_t told_it = 0;
  for (const TuneCandidate& candidate : result.candidates) {
    if (candidate.spec.find("size=") == std::string::npos) continue;
    EXPECT_LT(candidate.schedule.num_steps(), 150U) << candidate.spec;
    ++told_it;
  }
  EXPECT_GE(told_it, 2U);
  options.first = 1 << 10;
  options.last = 64 << 20;
  options.algorithms = {"forest"};
  const TuneResult forest = tune(topology, Collective::AllGather, Rank{0}, options);
  ASSERT_GE(forest.ranges.size(), 2U);
  EXPECT_EQ(forest.candidates.front().spec, "forest?size=16KiB");
  EXPECT_EQ(forest.candidates.back().schedule.transfers.size(),
            make_schedule("forest", topology, Collective::AllGather).transfers.size());
  EXPECT_LT(forest.candidates.front().schedule.transfers.size(),
            forest.candidates.back().schedule.transfers.size());
  for (const TuneCandidate& candidate : forest.candidates) {
    Schedule same = make_schedule(candidate.spec, topology, Collective::AllGather);
    EXPECT_EQ(candidate.schedule, same) << candidate.spec;
  }
}

TEST(Tune, TellsTheCostOfMessages) {
  EXPECT_EQ(told("auto", 1 << 10, kMessageOverhead), "auto?size=1KiB&message=1us");
  EXPECT_EQ(told("forest?k=2", kDefaultSize, kMessageOverhead), "forest?k=2&message=1us");
  EXPECT_EQ(told("auto?size=5&message=0ns", 1 << 10, kMessageOverhead), "auto?size=5&message=0ns");
  EXPECT_EQ(told("forest?segments=4", 1 << 10, kMessageOverhead), "forest?segments=4");
  EXPECT_EQ(told("ring", 1 << 10, kMessageOverhead), "ring");
  EXPECT_EQ(told("auto", kDefaultSize, Time{}), "auto");
  EXPECT_THROW(told("telepathy", 1 << 10, Time{}), Error);
  // The trees that are best for links alone send thousands of messages a rank.
  const TuneCandidate winner = winner_at("mesh:4x4", 64 << 20, kMessageOverhead);
  EXPECT_THAT(winner.spec, HasSubstr("message=1us"));
  EXPECT_LT(winner.schedule.transfers.size(),
            make_schedule("allreduce-optimal", make_topology("mesh:4x4")).transfers.size());
}

/// A window is worth a hundredth somewhere, over doing without it, and none is missing for more.
TEST(Tune, CutsNoWindowForLessThanAHundredth) {
  for (const char* spec : {"mesh:4x4", "fattree:4x4", "dgx2", "full:8", "torus:4x4?slow=5:0.5"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const TuneResult result = tune(topology, Collective::AllReduce, Rank{0}, {});
    const auto time = [&](std::size_t range, std::uint64_t bytes) {
      return predict_time(result.candidates[result.ranges[range].candidate].schedule, topology,
                          bytes)
          .seconds();
    };
    for (std::size_t i = 0; i < result.ranges.size(); ++i) {
      const TunedRange& range = result.ranges[i];
      std::vector<std::uint64_t> sizes{range.from, range.to};
      for (std::size_t s = 0; s < result.sizes.size(); ++s) {
        if (result.sizes[s] < range.from || result.sizes[s] > range.to) continue;
        sizes.push_back(result.sizes[s]);
        const double chosen = time(i, result.sizes[s]);
        for (const TuneCandidate& other : result.candidates) {
          if (!other.unsupported.empty()) continue;
          EXPECT_LE(chosen, 1.0101 * other.times[s].seconds()) << other.spec;
        }
      }
      for (double size = static_cast<double>(range.from); size < static_cast<double>(range.to);) {
        sizes.push_back(static_cast<std::uint64_t>(size));
        size *= 1.1;
      }
      double gain = result.ranges.size() == 1 ? 1 : 0;
      for (const std::uint64_t size : sizes) {
        double without = 1e9;
        if (i > 0) without = std::min(without, time(i - 1, size));
        if (i + 1 < result.ranges.size()) without = std::min(without, time(i + 1, size));
        gain = std::max(gain, without / time(i, size) - 1);
      }
      EXPECT_GE(gain, 0.005) << range.from << " to " << range.to << " by "
                             << result.candidates[range.candidate].spec;
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
