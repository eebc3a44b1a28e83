// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MULTITREE: step counts, and the rules of Algorithm 1 checked on the finished schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

struct Steps {
  std::string network;
  std::uint32_t by_smallest, by_id;
};
void PrintTo(const Steps& steps, std::ostream* out) { *out << steps.network; }

class MultitreeSteps : public testing::TestWithParam<Steps> {};

TEST_P(MultitreeSteps, AreThoseOfTheGreedy) {
  const Topology topology = make_topology(GetParam().network);
  EXPECT_EQ(make_schedule("multitree", topology, Collective::AllGather).num_steps(),
            GetParam().by_smallest);
  EXPECT_EQ(make_schedule("multitree?order=ascending", topology, Collective::AllGather).num_steps(),
            GetParam().by_id);
  EXPECT_EQ(make_schedule("multitree", topology).num_steps(), 2 * GetParam().by_smallest);
}

// Known of the greedy with a correct step end, whatever the order of links: square tori need one
// step more than the bound up to 15x15 and meet it from 16x16 on; square meshes and switches meet
// it.
INSTANTIATE_TEST_SUITE_P(
    Networks, MultitreeSteps,
    testing::Values(Steps{"torus:3x3", 3, 3}, Steps{"torus:4x4", 5, 5}, Steps{"torus:5x5", 7, 7},
                    Steps{"torus:6x6", 10, 10}, Steps{"torus:8x8", 17, 17},
                    Steps{"torus:10x10", 26, 26}, Steps{"torus:12x12", 37, 37},
                    Steps{"mesh:3x3", 4, 5}, Steps{"mesh:4x4", 8, 8}, Steps{"mesh:5x5", 12, 12},
                    Steps{"mesh:8x8", 32, 32}, Steps{"mesh:4x16", 32, 40},
                    Steps{"mesh:8x16", 64, 64}, Steps{"bigraph:2x4", 7, 7},
                    Steps{"bigraph:4x8", 31, 31}, Steps{"bigraph:4x16", 63, 63},
                    Steps{"fattree:4x4", 15, 15}, Steps{"fattree:8x8", 63, 63},
                    Steps{"full:9", 1, 1}, Steps{"star:9", 8, 8}, Steps{"ring:9", 4, 4},
                    Steps{"ring:1", 0, 0}, Steps{"ring:2", 1, 1}),
    [](const auto& test) {
      std::string name = test.param.network;
      for (char& c : name) c = c == ':' ? '_' : c;
      return name;
    });

TEST(Multitree, LargeToriMeetTheBound) {
  for (const auto& [network, steps] :
       {std::pair("torus:16x16", 64U), std::pair("torus:32x32", 256U)}) {
    const Topology topology = make_topology(network);
    const Schedule schedule =
        generate_schedule("multitree", topology, Collective::AllGather, Rank{0});
    EXPECT_EQ(schedule.num_steps(), steps);
    EXPECT_EQ(schedule.transfers.size(), topology.num_ranks() * (topology.num_ranks() - 1));
  }
}

/// Algorithm 1 never leaves a link idle that a tree could have used: replayed without its code.
TEST(Multitree, LeavesNoUsefulLinkIdle) {
  for (const std::string network : {"torus:4x4", "mesh:3x5", "torus:3x3x3", "hypercube:4",
                                    "torus:4x4?bw=50GB/s,25GB/s", "mesh:4x4?without=0-1"}) {
    SCOPED_TRACE(network);
    const Topology topology = make_topology(network);
    const Schedule schedule = make_schedule("multitree", topology, Collective::AllGather);
    const std::uint32_t ranks = topology.num_ranks();
    constexpr std::uint32_t kNever = 1U << 30;
    // joined[tree][rank]: the step after which the rank can be a parent.
    std::vector joined(ranks, std::vector<std::uint32_t>(ranks, kNever));
    std::vector uses(schedule.num_steps(), std::vector<std::uint32_t>(topology.num_links(), 0));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) joined[rank][rank] = 0;
    for (const Transfer& t : schedule.transfers) {
      joined[t.chunk][index(t.dst)] = t.step + 1;
      for (const LinkId link : schedule.route(t)) ++uses[t.step][index(link)];
    }
    for (std::uint32_t step = 0; step < schedule.num_steps(); ++step) {
      for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
        if (uses[step][id] == topology.slots(LinkId{id})) continue;
        const Link& link = topology.link(LinkId{id});
        for (std::uint32_t tree = 0; tree < ranks; ++tree) {
          const bool useful = joined[tree][index(*topology.node(link.src).rank)] <= step &&
                              joined[tree][index(*topology.node(link.dst).rank)] > step + 1;
          EXPECT_FALSE(useful) << "step " << step << ", link " << id << ", tree " << tree;
        }
      }
    }
  }
}

TEST(Multitree, TransfersOfDirectNetworksAreSingleHops) {
  const Schedule schedule = make_schedule("multitree", make_topology("torus:4x4x3"));
  for (const Transfer& t : schedule.transfers) EXPECT_EQ(t.route_size, 1U);
}

TEST(Multitree, MirrorsTheGatheringTreesInAllReduce) {
  const Topology topology = make_topology("mesh:3x4");
  const Schedule both = make_schedule("multitree", topology);
  const std::uint32_t half = both.num_steps() / 2;
  for (const Transfer& t : both.transfers) {
    EXPECT_EQ(t.op, t.step < half ? Op::Reduce : Op::Copy);
    const bool mirrored = std::ranges::any_of(both.transfers, [&](const Transfer& m) {
      return m.step == 2 * half - 1 - t.step && m.chunk == t.chunk && m.src == t.dst &&
             m.dst == t.src;
    });
    EXPECT_TRUE(mirrored);
  }
}

TEST(Multitree, BroadcastPipelinesItsSegments) {
  const Topology topology = make_topology("torus:8x8");
  // Breadth-first tree of depth 8, one link use each: a segment every step.
  for (const std::uint32_t segments : {1U, 5U, 40U}) {
    const Schedule schedule = make_schedule("multitree?segments=" + std::to_string(segments),
                                            topology, Collective::Broadcast, Rank{13});
    EXPECT_EQ(schedule.chunks.size(), segments);
    EXPECT_EQ(schedule.num_steps(), 8 + segments - 1);
  }
  const Schedule schedule = make_schedule("multitree", topology, Collective::Reduce, Rank{13});
  const auto segments = static_cast<double>(schedule.chunks.size());
  EXPECT_LT(schedule.num_steps(), 1.15 * segments);
}

TEST(Multitree, RejectsUnknownOptions) {
  const Topology topology = make_topology("ring:4");
  const auto message_of = [&](std::string_view spec) -> std::string {
    try {
      make_schedule(spec, topology);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message_of("multitree?order=random"), testing::HasSubstr("smallest-first"));
  EXPECT_THAT(message_of("multitree?sort=1"), testing::HasSubstr("'sort'"));
  EXPECT_THAT(message_of("multitree?segments=0"), testing::HasSubstr("segments"));
  EXPECT_THAT(message_of("multitree?tries=0"), testing::HasSubstr("tries"));
}

/// Four steps of an all-gather load no link with more than four shards: the least of whole shards.
TEST(Multitree, TriesFindWhatTheGreedyMissesOnASmallTorus) {
  const Topology topology = make_topology("torus:4x4");
  const Schedule schedule = make_schedule("multitree?tries=8", topology, Collective::AllGather);
  EXPECT_EQ(schedule.num_steps(), 4);
  EXPECT_EQ(make_schedule("multitree?tries=8", topology, Collective::AllGather), schedule);
  EXPECT_EQ(make_schedule("multitree?tries=8", topology).num_steps(), 8);
}

/// make_schedule() verifies.
TEST(Multitree, TriesNeverAddLoad) {
  for (const char* spec : {"torus:3x5", "torus:4x4?without=0-1", "fattree:4x4", "bigraph:2x4"}) {
    const Topology topology = make_topology(spec);
    const auto load = [&](std::string_view algorithm) {
      const Schedule schedule = make_schedule(algorithm, topology, Collective::AllGather);
      std::vector<std::uint32_t> uses(topology.num_links(), 0);
      for (const Transfer& transfer : schedule.transfers) {
        for (const LinkId link : schedule.route(transfer)) {
          ++uses[index(link)];
          ++uses[index(*topology.mate(link))];
        }
      }
      return *std::ranges::max_element(uses);
    };
    EXPECT_LE(load("multitree?tries=20"), load("multitree")) << spec;
  }
}

}  // namespace
}  // namespace multitree
