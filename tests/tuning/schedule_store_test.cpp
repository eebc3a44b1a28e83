// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is made once for many candidates, and what is not made at all: the same is chosen.
#include "algorithms/schedule_store_internal.hpp"

#include <gtest/gtest.h>

#include <string>

#include "algorithms/cost.hpp"
#include "algorithms/generators/pieces_internal.hpp"
#include "algorithms/packing/trees/gather_packing.hpp"
#include "algorithms/packing/trees/spanning_trees.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/tuning/tune.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

TEST(ScheduleStore, MakesWhatItIsAskedForOnce) {
  const Topology topology = make_topology("ring:4"), other = make_topology("ring:4");
  ScheduleStore store(topology);
  int made = 0;
  const auto get = [&](const Topology& network, const std::string& name) {
    return ScheduleStore::get(network, name, [&] {
      ++made;
      return generate_schedule("ring", network, Collective::AllReduce, Rank{0});
    });
  };
  get(topology, "a");
  get(topology, "a");
  EXPECT_EQ(made, 2) << "no store is in use";
  {
    const ScheduleStore::Use use(store);
    EXPECT_EQ(get(topology, "a"), get(topology, "a"));
    EXPECT_EQ(made, 3);
    EXPECT_NE(get(topology, "a"), get(topology, "b"));
    EXPECT_EQ(made, 4);
    EXPECT_NE(get(other, "a"), get(other, "a"));
    EXPECT_EQ(made, 6) << "another network, even if it is alike";
  }
  get(topology, "a");
  EXPECT_EQ(made, 7);
}

TEST(ScheduleStore, ForgetsWhatFailed) {
  const Topology topology = make_topology("ring:4");
  ScheduleStore store(topology);
  const ScheduleStore::Use use(store);
  int tried = 0;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(ScheduleStore::get(topology, "a",
                                    [&]() -> Schedule {
                                      ++tried;
                                      throw Error(ErrorCode::Unsupported, "no");
                                    }),
                 Error);
  }
  EXPECT_EQ(tried, 2);
}

TEST(ScheduleStore, KnowsTimes) {
  const Topology topology = make_topology("torus:4x4");
  const SharedSchedule stored =
      stored_schedule("multitree", topology, Collective::AllReduce, Rank{0});
  for (const Time message : {Time{}, kMessageOverhead}) {
    for (const std::uint64_t bytes : {1ULL << 10, 1ULL << 26, 1ULL << 10}) {
      const Time time = predict_time(stored->schedule(), topology, bytes, CostModel{message});
      EXPECT_EQ(stored->time(bytes, message), time);
      EXPECT_LE(stored->floor(bytes, message), time);
    }
  }
}

/// Trees that are left out would not have been faster than what is known of them before.
TEST(TimeTrees, TakeWhatTheirPackingTakes) {
  for (const char* network : {"mesh:3x4", "torus:4x4", "ring:5?bw=1GB/s"}) {
    const Topology topology = make_topology(network);
    for (const TreePacking& packing :
         {pack_spanning_trees(topology, 0), pack_spanning_trees(topology, 2),
          pack_all_gather(topology)}) {
      for (const std::uint64_t bytes : {8ULL, 1ULL << 16, 1ULL << 28}) {
        const SharedSchedule made =
            time_trees_in_pieces("trees", packing, topology, {.segments = 8}, bytes,
                                 kMessageOverhead, keep_for(topology));
        const Time least = least_time(packing, topology, bytes, kMessageOverhead);
        EXPECT_LE(least, made->time(bytes, kMessageOverhead)) << network << " " << bytes;
        if (bytes > 1 << 20) {
          EXPECT_GT(3 * least.seconds(), made->time(bytes, kMessageOverhead).seconds()) << network;
        }
      }
    }
  }
}

/// A tuner that prices only what could win chooses as one that prices everything.
TEST(Tune, ChoosesTheSameWithoutAllTimes) {
  for (const char* network : {"torus:4x4", "mesh:3x4", "dgx-a100:2", "dragonfly:4x1x1", "ring:1"}) {
    const Topology topology = make_topology(network);
    for (const Collective collective : {Collective::AllReduce, Collective::Reduce}) {
      TuneOptions options;
      const TuneResult all = tune(topology, collective, Rank{0}, options);
      options.all_times = false;
      const TuneResult winners = tune(topology, collective, Rank{0}, options);
      ASSERT_EQ(winners.ranges.size(), all.ranges.size()) << network;
      for (std::size_t i = 0; i < all.ranges.size(); ++i) {
        EXPECT_EQ(winners.ranges[i].from, all.ranges[i].from) << network;
        EXPECT_EQ(winners.ranges[i].to, all.ranges[i].to) << network;
        EXPECT_EQ(winners.candidates[winners.ranges[i].candidate].spec,
                  all.candidates[all.ranges[i].candidate].spec)
            << network;
        EXPECT_EQ(winners.ranges[i].time_to, all.ranges[i].time_to) << network;
      }
      EXPECT_TRUE(winners.candidates.front().times.empty());
    }
  }
}

}  // namespace
}  // namespace multitree
