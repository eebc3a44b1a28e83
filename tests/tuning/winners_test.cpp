// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Choosing for the start of a job: bounds that hold, and choices hardly worse than with all
/// schedules at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "algorithms/registry.hpp"
#include "algorithms/tuning/choose.hpp"
#include "algorithms/tuning/price_floor_internal.hpp"
#include "algorithms/tuning/tune.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

constexpr CostModel kHost{.message_overhead = kMessageOverhead, .hosts = {}};

/// No prediction is below its floor, or below what the network takes for the collective.
TEST(PriceFloor, IsBelowEveryPrediction) {
  for (const char* network : {"torus:4x4", "mesh:3x3?slow=1:0.25", "star:5", "full:4", "ring:1"}) {
    const Topology topology = make_topology(network);
    for (const Collective collective : all_collectives()) {
      for (const std::string& spec : candidate_specs()) {
        if (find_algorithm(spec.substr(0, spec.find('?'))).unsupported(topology)) continue;
        Schedule schedule;
        try {
          schedule = generate_schedule(spec, topology, collective, Rank{0});
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::Unsupported) << error.what();
          continue;
        }
        SCOPED_TRACE(std::string(network) + " " + spec + " " + std::string(to_string(collective)));
        PriceFloor floor(schedule, topology);
        for (const std::uint64_t bytes : {8ULL, 4096ULL, 1ULL << 20, 1ULL << 28}) {
          const Time time = predict_time(schedule, topology, bytes, kHost);
          EXPECT_LE(floor.at(bytes), time);
          EXPECT_LE(floor.at(bytes, kMessageOverhead), time);
          EXPECT_LE(least_time(topology, collective, Rank{0}, bytes), time);
          floor.note(bytes, time);
          EXPECT_EQ(*floor.known(bytes), time);
          EXPECT_EQ(floor.at(bytes), time);
        }
      }
    }
  }
}

/// Many load a star's links alike, and only some keep a port to one sender.
TEST(Choice, KeepsPortsOfSwitchesToFewSenders) {
  for (const char* network : {"star:8?bw=100Mb/s", "fattree:4x4?bw=100Mb/s"}) {
    const Topology topology = make_topology(network);
    const auto specs = choose_specs(topology, Collective::AllReduce, Rank{0}, {.rivals = true});
    const auto chosen = std::ranges::find_if(
        specs, [](const SizedSpec& one) { return one.max_bytes >= std::uint64_t{1} << 20; });
    ASSERT_NE(chosen, specs.end());
    EXPECT_TRUE(chosen->spec.ends_with("ring")) << chosen->spec;
  }
}

/// Bounds that say nothing would pass the test above.
TEST(PriceFloor, IsReachedByWhatIsOptimal) {
  const Topology topology = make_topology("torus:4x4");
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 32;
  for (const Collective collective : {Collective::AllReduce, Collective::AllGather}) {
    const Schedule schedule = make_schedule("breadth-first", topology, collective);
    const double time = predict_time(schedule, topology, kBytes).seconds();
    EXPECT_GE(least_time(topology, collective, Rank{0}, kBytes).seconds(), 0.97 * time);
    EXPECT_GE(PriceFloor(schedule, topology).at(kBytes).seconds(), 0.97 * time);
  }
}

/// One rank sends to each of seven others: what counts is how often it sends.
TEST(PriceFloor, CountsMessages) {
  const Topology topology = make_topology("full:8");
  const Schedule schedule = make_schedule("multitree", topology, Collective::AllGather);
  EXPECT_EQ(PriceFloor(schedule, topology).at(8, kMessageOverhead).picoseconds,
            7 * kMessageOverhead.picoseconds);
}

/// Whatever is left out to be quick, what is chosen is nearly as fast as the best of everything.
TEST(ChooseSpecs, IsNearlyAsGoodAsComparingAll) {
  for (const char* network : {"torus:4x4", "mesh:3x3", "star:5", "torus:5x4", "ring:6"}) {
    const Topology topology = make_topology(network);
    for (const Collective collective : {Collective::AllReduce, Collective::Broadcast}) {
      SCOPED_TRACE(std::string(network) + " " + std::string(to_string(collective)));
      TuneOptions everything;
      everything.first = 64;
      everything.last = 64 << 20;
      everything.cost = kHost;
      const TuneResult all = tune(topology, collective, Rank{0}, everything);
      const SizedSchedules chosen =
          schedules_of(choose_specs(topology, collective, Rank{0}), topology, collective, Rank{0});
      for (std::size_t i = 0; i < all.sizes.size(); ++i) {
        Time best = all.candidates[all.ranges.front().candidate].times[i];
        for (const TuneCandidate& candidate : all.candidates) {
          if (candidate.unsupported.empty()) best = std::min(best, candidate.times[i]);
        }
        const Schedule& schedule = schedule_for(chosen, all.sizes[i]);
        EXPECT_LE(predict_time(schedule, topology, all.sizes[i], kHost).seconds(),
                  1.25 * best.seconds())
            << all.sizes[i] << " bytes by " << schedule.algorithm;
      }
    }
  }
}

TEST(ChooseSpecs, SaysTheSameEachTime) {
  const Topology topology = make_topology("torus:8x4");
  EXPECT_EQ(choose_specs(topology, Collective::AllReduce, Rank{0}),
            choose_specs(topology, Collective::AllReduce, Rank{0}));
}

/// Rivals: the chosen first, then others within what predictions can tell, for every size.
TEST(ChooseSpecs, NamesThoseThatPredictionCannotTellApart) {
  const Topology topology = make_topology("torus:3x3");
  const std::vector<SizedSpec> alone =
      choose_specs(topology, Collective::AllReduce, Rank{0}, {.first = 8, .last = 1 << 20});
  const std::vector<SizedSpec> all = choose_specs(topology, Collective::AllReduce, Rank{0},
                                                  {.first = 8, .last = 1 << 20, .rivals = true});
  std::uint64_t before = 0;
  std::size_t rivals = 0;
  for (const SizedSpec& sized : all) {
    EXPECT_GT(sized.max_bytes, before);
    before = sized.max_bytes;
    ASSERT_FALSE(sized.rivals.empty());
    EXPECT_EQ(sized.rivals.front().spec, sized.spec);
    EXPECT_LE(sized.rivals.size(), 4U);
    double least = sized.rivals.front().seconds;
    for (const PricedSpec& rival : sized.rivals) least = std::min(least, rival.seconds);
    for (std::size_t i = 1; i < sized.rivals.size(); ++i) {
      EXPECT_LE(sized.rivals[i].seconds, kWithinDoubt * least);
      if (i > 1) {
        EXPECT_GE(sized.rivals[i].seconds, sized.rivals[i - 1].seconds);
      }
      EXPECT_NE(sized.rivals[i].spec, sized.spec);
    }
    rivals += sized.rivals.size() - 1;
  }
  EXPECT_EQ(before, std::numeric_limits<std::uint64_t>::max());
  EXPECT_GT(rivals, 0U);
  for (const SizedSpec& sized : alone) EXPECT_TRUE(sized.rivals.empty());
}

}  // namespace
}  // namespace multitree
