// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rounds and loads of the level-by-level all-gather, as theory has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/generators/level_loads_internal.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/schedule.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// Hall: a set of links must carry what can come by no other.
std::uint64_t steps_by_enumeration(const std::vector<Arrivals>& arrivals,
                                   const std::vector<std::uint32_t>& slots) {
  std::uint64_t most = 0;
  for (std::uint32_t set = 1; set < 1U << slots.size(); ++set) {
    std::uint64_t units = 0, room = 0;
    for (std::size_t l = 0; l < slots.size(); ++l) room += (set >> l & 1U) != 0 ? slots[l] : 0;
    for (const Arrivals& some : arrivals) {
      const bool inside =
          std::ranges::all_of(some.links, [&](std::uint32_t l) { return (set >> l & 1U) != 0; });
      if (inside) units += some.units;
    }
    most = std::max(most, (units + room - 1) / room);
  }
  return most;
}

TEST(LevelLoads, AreLeastAndComplete) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) {
    const std::size_t links = 1 + random() % 5;
    std::vector<std::uint32_t> slots(links);
    for (auto& slot : slots) slot = static_cast<std::uint32_t>(1 + random() % 3);
    std::vector<Arrivals> arrivals(1 + random() % 6);
    for (Arrivals& some : arrivals) {
      for (std::uint32_t l = 0; l < links; ++l) {
        if (random() % 2 == 0) some.links.push_back(l);
      }
      if (some.links.empty()) some.links.push_back(static_cast<std::uint32_t>(random() % links));
      some.units = random() % 10;
    }
    const LevelLoads loads = share_level(arrivals, slots);
    EXPECT_EQ(loads.steps, steps_by_enumeration(arrivals, slots));
    std::vector<std::uint64_t> carried(links, 0);
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      std::uint64_t sum = 0;
      for (std::size_t j = 0; j < arrivals[i].links.size(); ++j) {
        carried[arrivals[i].links[j]] += loads.units[i][j];
        sum += loads.units[i][j];
      }
      EXPECT_EQ(sum, arrivals[i].units);
    }
    for (std::size_t l = 0; l < links; ++l) EXPECT_LE(carried[l], slots[l] * loads.steps);
  }
}

/// Most transfers that follow each other in one chunk.
std::uint32_t depth(const Schedule& schedule) {
  std::vector<std::uint32_t> at(std::size_t{schedule.ranks} * schedule.chunks.size(), 0);
  std::uint32_t deepest = 0;
  for (const Transfer& t : schedule.transfers) {
    const std::size_t row = std::size_t{t.chunk} * schedule.ranks;
    at[row + index(t.dst)] = at[row + index(t.src)] + 1;
    deepest = std::max(deepest, at[row + index(t.dst)]);
  }
  return deepest;
}

/// arXiv 2202.03356: on tori and hypercubes the levels fill their links, so that latency (diameter
/// rounds) and bandwidth ((N-1)/degree shard times) are least at once.
TEST(BreadthFirst, IsOptimalInLatencyAndBandwidthOnToriAndHypercubes) {
  for (const char* spec : {"torus:4x4", "torus:5x5", "torus:3x7", "torus:2x5", "torus:4x4x4",
                           "torus:2x3x4", "hypercube:3", "hypercube:5", "ring:9", "full:7"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const Bounds bounds = compute_bounds(topology);
    const Schedule schedule = make_schedule("breadth-first", topology, Collective::AllGather);
    const auto pieces = static_cast<std::int64_t>(schedule.chunks.size() / schedule.ranks);
    EXPECT_EQ(Rational(schedule.num_steps(), pieces), bounds.all_gather);
    EXPECT_EQ(depth(schedule), bounds.diameter);
  }
}

/// Elsewhere at least the rounds are as few as possible, whatever the links.
TEST(BreadthFirst, HasDiameterRoundsOnAnyDirectNetwork) {
  for (const char* spec : {"mesh:3x5", "mesh:2x2x4", "torus:4x4?without=0-1,5-6",
                           "torus:4x4?bw=16GB/s,48GB/s", "ring:1", "ring:2"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const Bounds bounds = compute_bounds(topology);
    const Schedule schedule = make_schedule("breadth-first", topology, Collective::AllGather);
    EXPECT_EQ(depth(schedule), bounds.diameter);
  }
}

/// One round a dimension.
TEST(Exchange, HasAsManyRoundsAsDimensions) {
  EXPECT_EQ(make_schedule("exchange", make_topology("full:6")).num_steps(), 1U);
  EXPECT_EQ(make_schedule("exchange", make_topology("hypercube:4")).num_steps(), 4U);
  EXPECT_EQ(make_schedule("exchange", make_topology("torus:3x3x3")).num_steps(), 3U);
  EXPECT_EQ(make_schedule("exchange", make_topology("torus:2x1x3")).num_steps(), 2U);
  EXPECT_THROW(make_schedule("exchange", make_topology("torus:4x4")), Error);
}

}  // namespace
}  // namespace multitree
