// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Choosing by what one rank stands for, against the whole schedules; and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/symmetric/alike_network.hpp"
#include "algorithms/tuning/tune_alike.hpp"
#include "algorithms/written_out.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

constexpr Collective kServed[] = {Collective::AllReduce, Collective::AllGather,
                                  Collective::ReduceScatter};

AlikeRanks ranks_of(const Topology& topology) {
  std::string reason;
  return find_alike_network(topology, reason).value().ranks();
}

AlikeTuneOptions options_of(bool all_times) {
  AlikeTuneOptions options;
  options.first = 8;
  options.last = 64 << 20;
  options.message_overhead = kMessageOverhead;
  options.all_times = all_times;
  return options;
}

class TuneAlike : public testing::TestWithParam<const char*> {
 protected:
  Topology topology = make_topology(GetParam());
  AlikeRanks ranks = ranks_of(topology);
};

/// Without the overhead of messages, over links, nothing is served in another order than by all
/// ranks alike: all but the last phase of boxes on lines is exact (boxes_test.cpp).
TEST_P(TuneAlike, CandidatesTakeWhatTheirWholeSchedulesTake) {
  for (const Collective collective : kServed) {
    for (const std::string& spec : alike_specs(ranks, collective)) {
      SCOPED_TRACE(spec);
      const Schedule schedule = make_schedule(spec, topology, collective);
      const bool ring = spec == "ring";
      for (const Time overhead : {Time{}, kMessageOverhead}) {
        AlikeCandidate candidate(ranks, collective, spec, overhead);
        EXPECT_EQ(candidate.steps(), schedule.num_steps());
        EXPECT_EQ(candidate.transfers(), schedule.transfers.size());
        for (const std::uint64_t bytes : {std::uint64_t{64}, std::uint64_t{4} << 20}) {
          const double whole = predict_time(schedule, topology, bytes, {overhead}).seconds();
          const double one = candidate.time(bytes).seconds();
          const bool trees = spec.find("within") == std::string::npos;
          const bool exact = ring || spec == "symmetric?within=1" ||
                             (trees && ranks.levels.empty() && overhead == Time{});
          EXPECT_LE(one, (exact ? 1 + 1e-9 : 1.1) * whole + 1e-11) << bytes;
          EXPECT_GE(one, (exact ? 1 - 1e-9 : 0.65) * whole - 1e-11) << bytes;
          EXPECT_LE(candidate.floor(), candidate.time(bytes));
        }
      }
    }
  }
}

TEST_P(TuneAlike, RangesHaveNoGapsAndTheFastestIsChosen) {
  for (const Collective collective : kServed) {
    const AlikeTuneResult all = tune_alike(ranks, collective, options_of(true));
    const AlikeTuneResult sooner = tune_alike(ranks, collective, options_of(false));
    ASSERT_EQ(all.ranges.size(), sooner.ranges.size());
    EXPECT_EQ(all.ranges.front().from, 8U);
    EXPECT_EQ(all.ranges.back().to, std::uint64_t{64} << 20);
    for (std::size_t i = 0; i < all.ranges.size(); ++i) {
      const TunedRange& range = all.ranges[i];
      EXPECT_EQ(range.candidate, sooner.ranges[i].candidate);
      if (i > 0) {
        EXPECT_EQ(range.from, all.ranges[i - 1].to + 1);
      }
      for (const auto& other : all.candidates) {
        // Windows that gain less than 1% are left out; crossovers are found to 1/64.
        EXPECT_LE(range.time_from.seconds(), 1.05 * other->time(range.from).seconds());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, TuneAlike,
                         testing::Values("torus:8x8", "torus:4x4x4", "hypercube:5", "dgx-a100:4",
                                         "full:6", "ring:12"),
                         [](const auto& c) {
                           std::string name = c.param;
                           std::ranges::replace_if(
                               name, [](char x) { return !std::isalnum(x); }, '_');
                           return name;
                         });

TEST(TuneAlikeOptions, WhatOneRankCannotStandForIsNamed) {
  const AlikeRanks torus = ranks_of(make_topology("torus:4x4"));
  const auto message = [&](const char* spec, Collective collective) -> std::string {
    try {
      static_cast<void>(AlikeCandidate(torus, collective, spec, Time{}));
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(message("symmetric", Collective::AllReduce), "");
  EXPECT_THAT(message("multitree", Collective::AllReduce), HasSubstr("symmetric or ring"));
  EXPECT_THAT(message("symmetric", Collective::Broadcast), HasSubstr("got broadcast"));
  EXPECT_THAT(message("symmetric?within=3", Collective::AllReduce), HasSubstr("1, 2, 4, 8, 16"));
  EXPECT_THAT(message("symmetric?within=2&chunks=2", Collective::AllReduce),
              HasSubstr("without chunks"));
}

TEST(WrittenOut, MoreRanksAreRefusedAtOnceAndByTheLibrary) {
  const Topology mesh = make_topology("mesh:256x256");
  const auto message = [&](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      return error.what();
    }
    return {};
  };
  const auto refused = HasSubstr("mesh:256x256: expected at most 32768 ranks");
  EXPECT_THAT(message([&] { check_written_out(mesh); }), refused);
  EXPECT_THAT(message([&] { static_cast<void>(compute_bounds(mesh)); }), refused);
  EXPECT_THAT(message([&] {
                static_cast<void>(generate_schedule("ring", mesh, Collective::AllReduce, Rank{0}));
              }),
              refused);
  EXPECT_THAT(message([&] { static_cast<void>(tune(mesh, Collective::AllReduce, Rank{0}, {})); }),
              refused);
  EXPECT_EQ(message([&] { check_written_out(make_topology("mesh:128x256")); }), "");
}

}  // namespace
}  // namespace multitree
