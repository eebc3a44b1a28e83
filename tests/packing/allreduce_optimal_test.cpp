// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// allreduce-optimal: right, and within 5 % of the bound at 64 MiB.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <utility>
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

/// A third of the time to fill the pipeline: nearer to the bound, in more chunks.
TEST(AllreduceOptimal, FillSaysHowFineThePiecesAre) {
  for (const char* spec : {"mesh:4x4", "mesh:8x8", "torus:4x4?without=0-1"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const Schedule usual = make_schedule("allreduce-optimal?form=trees", topology);
    const Schedule fine = make_schedule("allreduce-optimal?form=trees&fill=5", topology);
    EXPECT_GT(fine.chunks.size(), 2 * usual.chunks.size());
    EXPECT_LT(time_over_bound(fine, topology), time_over_bound(usual, topology) - 0.004);
    EXPECT_EQ(make_schedule("allreduce-optimal?form=trees&fill=15", topology).chunks, usual.chunks);
  }
}

/// The pairs of neighbours in a schedule's trees, with the ways between them.
std::set<std::vector<std::uint32_t>> ways_of(const Schedule& schedule) {
  std::set<std::vector<std::uint32_t>> ways;
  for (const Transfer& transfer : schedule.transfers) {
    std::vector<std::uint32_t> way{index(transfer.src), index(transfer.dst)};
    for (const LinkId link : schedule.route(transfer)) way.push_back(index(link));
    ways.insert(std::move(way));
  }
  return ways;
}

/// Whatever the size, and verified by make_schedule().
TEST(AllreduceOptimal, PieceSaysHowLargeThePiecesAre) {
  constexpr std::uint64_t kPiece = 64 << 10;
  for (const char* spec : {"dgx-a100:2", "mesh:3x3", "fattree:2x2", "star:3", "ring:2"}) {
    for (const std::string algorithm : {"allreduce-optimal", "forest"}) {
      SCOPED_TRACE(fmt::format("{} on {}", algorithm, spec));
      const Topology topology = make_topology(spec);
      const auto chunks = [&](const char* size, const char* rest) {
        Schedule schedule =
            make_schedule(fmt::format("{}?piece=64KiB&size={}{}", algorithm, size, rest), topology);
        EXPECT_TRUE(verify(schedule, topology).ok());
        return schedule;
      };
      const Schedule large = chunks("64MiB", ""), small = chunks("256KiB", "");
      const double mean = static_cast<double>(k64MiB) / static_cast<double>(large.chunks.size());
      EXPECT_LE(mean, 1.01 * kPiece);
      EXPECT_GE(mean, 0.5 * kPiece);
      EXPECT_LT(small.chunks.size(), large.chunks.size());
      EXPECT_EQ(ways_of(small), ways_of(large));
      // What messages cost changes nothing.
      EXPECT_EQ(chunks("64MiB", "&message=1us").chunks, large.chunks);
    }
  }
}

TEST(AllreduceOptimal, RefusesPiecesThatMakeNoSense) {
  const Topology ring = make_topology("ring:4");
  for (const std::string algorithm : {"allreduce-optimal", "forest"}) {
    for (const auto& [option, words] : std::vector<std::pair<std::string, std::string>>{
             {"piece=0", "piece: expected a size of at least a byte, as 64KiB, got '0'"},
             {"piece=large", "piece: expected a size of at least a byte, as 64KiB, got 'large'"},
             {"piece=1KiB&segments=4", "piece: expected none beside segments"}}) {
      try {
        (void)make_schedule(algorithm + "?" + option, ring);
        ADD_FAILURE() << algorithm << ' ' << option;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
        EXPECT_THAT(error.what(), testing::HasSubstr(words));
      }
    }
  }
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

/// Three ranks and three switches with links of 1, 2 and 4 GB/s, of which reduce-scatter and
/// all-gather use half at best, though the bound of them is that of all all-reduces.
Topology uneven_switches() {
  TopologyBuilder builder("uneven");
  std::vector<NodeId> ranks, switches;
  for (int i = 0; i < 3; ++i) ranks.push_back(builder.add_endpoint());
  for (int i = 0; i < 3; ++i) switches.push_back(builder.add_switch(fmt::format("s{}", i)));
  const auto link = [&](NodeId a, NodeId b, const char* there, const char* back) {
    builder.add_link(a, b, parse_bandwidth(there), parse_time("150ns"));
    builder.add_link(b, a, parse_bandwidth(back), parse_time("150ns"));
  };
  link(switches[0], ranks[2], "1GB/s", "2GB/s");
  link(switches[0], ranks[0], "4GB/s", "4GB/s");
  link(switches[0], ranks[1], "1GB/s", "2GB/s");
  link(switches[0], switches[1], "1GB/s", "2GB/s");
  link(switches[1], switches[2], "2GB/s", "2GB/s");
  link(switches[2], ranks[1], "2GB/s", "4GB/s");
  link(switches[0], ranks[2], "4GB/s", "4GB/s");
  return std::move(builder).build();
}

/// Also where the bound of reduce-scatter + all-gather is the optimum, which no schedule of theirs
/// need reach.
TEST(AllreduceOptimal, AlwaysConsidersTrees) {
  for (const Topology& topology : {uneven_switches(), make_topology("torus:4x4?ranks=0,1,4,5"),
                                   make_topology("dgx-a100:2"), make_topology("star:5")}) {
    for (const char* size : {"64KiB", "1MiB", "64MiB"}) {
      SCOPED_TRACE(fmt::format("{} {}", topology.name(), size));
      const auto time = [&](const char* algorithm) {
        const std::string spec = fmt::format("{}size={}", algorithm, size);
        return predict_time(make_schedule(spec, topology), topology, parse_bytes(size)).seconds();
      };
      const double trees = time("allreduce-optimal?form=trees&");
      EXPECT_LE(time("allreduce-optimal?"), 1.01 * trees);
      EXPECT_LE(time("auto?"), 1.01 * trees);
    }
  }
}

/// Pieces fill a pipeline, and each is a message that its sender works on.
TEST(AllreduceOptimal, PiecesAreWorthTheirMessages) {
  const CostModel cost{parse_time("1us")};
  for (const char* spec : {"mesh:4x4", "torus:4x4?without=0-1", "star:4?slow=1:0.5", "mesh:1"}) {
    const Topology topology = make_topology(spec);
    for (const char* size : {"1KiB", "256KiB", "64MiB"}) {
      const auto time = [&](const std::string& options) {
        const Schedule schedule =
            make_schedule(fmt::format("allreduce-optimal?{}&size={}", options, size), topology);
        return predict_time(schedule, topology, parse_bytes(size), cost).seconds();
      };
      for (const char* pieces : {"segments=1", "segments=4", "segments=16", "message=0ns"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", spec, size, pieces));
        EXPECT_LE(time("form=trees&message=1us"),
                  1.25 * time(fmt::format("form=trees&{}", pieces)));
      }
    }
  }
}

/// Where a message costs its sender a microsecond.
TEST(AllreduceOptimal, FewerTreesWhereMessagesCostMoreThanLinksGain) {
  for (const char* name : {"mesh:4x4x4", "torus:5x3"}) {
    const Topology topology = make_topology(name);
    const std::uint64_t bytes = topology.num_ranks() > 16 ? 1 << 20 : 64 << 10;
    const auto size = fmt::format("size={}", format_bytes(bytes));
    const CostModel cost{Time{1'000'000}};
    const auto made = [&](const std::string& options) {
      return make_schedule("allreduce-optimal?" + size + options, topology);
    };
    const Time fewer = predict_time(made("&message=1us"), topology, bytes, cost);
    const Time all = predict_time(made("&message=1us&form=trees"), topology, bytes, cost);
    const Time one = predict_time(made("&message=1us&trees=1"), topology, bytes, cost);
    EXPECT_LT(fewer.seconds(), 0.9 * std::min(all, one).seconds()) << name;
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
  EXPECT_THROW(make_schedule("allreduce-optimal?message=5", make_topology("mesh:2")), Error);
  EXPECT_THROW(make_schedule("allreduce-optimal?chunks=2", make_topology("mesh:2")), Error);
}

}  // namespace
}  // namespace multitree
