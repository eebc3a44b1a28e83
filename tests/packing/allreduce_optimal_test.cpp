// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// allreduce-optimal: right, and within 5 % of the bound at 64 MiB.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "algorithms/certificate/strength.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

constexpr std::uint64_t k64MiB = 64 << 20;

/// Predicted time over buffer / (bandwidth * strength).
double time_over_bound(const Schedule& schedule, const Topology& topology) {
  const double bound = static_cast<double>(k64MiB) /
                       (strength(topology).value.convert_to<double>() *
                        static_cast<double>(topology.unit_bandwidth().bytes_per_second));
  return predict_time(schedule, topology, k64MiB).seconds() / bound;
}

/// make_schedule() verifies.
TEST(AllreduceOptimal, MeshesWithin5PercentOfTheBound) {
  for (const char* spec : {"mesh:4x4", "mesh:5x5", "mesh:6x6", "mesh:7x7", "mesh:8x8", "mesh:9x9",
                           "mesh:12x12", "mesh:4x8", "mesh:3x9", "mesh:4x4x4"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    EXPECT_LT(time_over_bound(make_schedule("allreduce-optimal", topology), topology), 1.05);
  }
}

TEST(AllreduceOptimal, Mesh16x16Within5PercentOfTheBound) {
  const Topology topology = make_topology("mesh:16x16");
  EXPECT_LT(time_over_bound(make_schedule("allreduce-optimal", topology), topology), 1.05);
}

/// 1 to 8 dead links anywhere, as long as all ranks are still reached.
TEST(AllreduceOptimal, DamagedToriWithin5PercentOfTheBound) {
  std::mt19937_64 random(3);
  const Topology whole = make_topology("torus:8x8");
  for (std::uint32_t dead = 1; dead <= 8; ++dead) {
    std::string list;
    for (std::uint32_t i = 0; i < dead; ++i) {
      const Link& link =
          whole.link(LinkId{static_cast<std::uint32_t>(random() % whole.num_links())});
      const std::string name = fmt::format("{}-{}", index(link.src), index(link.dst));
      const std::string back = fmt::format("{}-{}", index(link.dst), index(link.src));
      const std::string padded = "," + list + ",";
      if (padded.find("," + name + ",") != std::string::npos ||
          padded.find("," + back + ",") != std::string::npos) {
        --i;
        continue;
      }
      list += (list.empty() ? "" : ",") + name;
    }
    SCOPED_TRACE(list);
    const Topology topology = make_topology("torus:8x8?without=" + list);
    EXPECT_LT(time_over_bound(make_schedule("allreduce-optimal", topology), topology), 1.05);
  }
}

/// Where reduce-scatter and all-gather are as good or latency decides, they are taken.
TEST(AllreduceOptimal, NeverSlowerThanTwoPhases) {
  for (const char* spec : {"torus:4x4", "torus:3x5", "hypercube:4", "full:6", "ring:8", "mesh:4x4",
                           "torus:8x8", "torus:4x4?without=0-1"}) {
    const Topology topology = make_topology(spec);
    for (const char* size : {"1KiB", "64KiB", "1MiB", "64MiB"}) {
      SCOPED_TRACE(fmt::format("{} {}", spec, size));
      const Schedule schedule =
          make_schedule(fmt::format("allreduce-optimal?size={}", size), topology);
      const auto time = [&](const Schedule& s) {
        return predict_time(s, topology, parse_bytes(size));
      };
      EXPECT_LE(time(schedule), time(make_schedule("multitree", topology)));
    }
  }
}

TEST(AllreduceOptimal, ServesAllCollectivesAndSizes) {
  for (const char* spec : {"mesh:1", "mesh:1x1x1", "mesh:2", "mesh:2x1", "mesh:2x2", "mesh:3",
                           "torus:2x2", "mesh:2x3x4", "full:3", "mesh:3x3?bw=1GB/s,2.5GB/s"}) {
    const Topology topology = make_topology(spec);
    for (const Collective collective :
         {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter,
          Collective::Broadcast, Collective::Reduce}) {
      SCOPED_TRACE(fmt::format("{} {}", spec, to_string(collective)));
      EXPECT_NO_THROW(make_schedule("allreduce-optimal", topology, collective));
    }
    for (const char* options : {"trees=1", "trees=5", "segments=3", "trees=2&segments=7"}) {
      SCOPED_TRACE(fmt::format("{} {}", spec, options));
      EXPECT_NO_THROW(make_schedule(fmt::format("allreduce-optimal?{}", options), topology));
    }
  }
}

TEST(AllreduceOptimal, SaysWhatItExpects) {
  EXPECT_THROW(make_schedule("allreduce-optimal?form=both", make_topology("mesh:2")), Error);
  EXPECT_THROW(make_schedule("allreduce-optimal?form=lockstep", make_topology("mesh:2")), Error);
  EXPECT_THROW(make_schedule("allreduce-optimal?trees=0", make_topology("mesh:2")), Error);
  EXPECT_THROW(make_schedule("allreduce-optimal?size=big", make_topology("mesh:2")), Error);
  EXPECT_THROW(make_schedule("allreduce-optimal?chunks=2", make_topology("mesh:2")), Error);
}

}  // namespace
}  // namespace multitree
