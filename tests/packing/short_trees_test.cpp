// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// allreduce-optimal in its short form: right on all networks without switches, in few hops, and
/// near the least time of sizes at which latency counts.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "algorithms/certificate/streams.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

Schedule short_form(const Topology& topology, const std::string& size, const std::string& piece) {
  return make_schedule("allreduce-optimal?form=short&size=" + size + "&piece=" + piece, topology);
}

/// make_schedule() verifies them.
TEST(ShortTrees, ServeAllNetworksWithoutSwitches) {
  for (const char* spec : {"ring:2", "ring:3", "ring:8", "mesh:1x4", "mesh:3x5", "torus:2x4",
                           "torus:4x4x4", "torus:4x4?without=0-1", "torus:4x4?slow=5:0.25",
                           "hypercube:4", "full:6", "star-graph:4"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const Schedule schedule = short_form(topology, "32KiB", "1KiB");
    // As many for each rank, if there are as many.
    const std::uint32_t ranks = topology.num_ranks();
    EXPECT_EQ(schedule.chunks.size(), ranks > 32 ? 32U : (32 + ranks / 2) / ranks * ranks);
    for (const Transfer& transfer : schedule.transfers) EXPECT_EQ(transfer.route_size, 1U);
    EXPECT_EQ(schedule, short_form(topology, "32KiB", "1KiB"));
  }
}

TEST(ShortTrees, RefuseSwitchesAndManyRanks) {
  for (const char* spec : {"star:4", "torus:32x17"}) {
    try {
      short_form(make_topology(spec), "32KiB", "1KiB");
      FAIL() << spec;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported) << spec;
    }
  }
}

/// With one root a piece passes 16 hops on both networks, 14 where four ranks in its middle
/// exchange their sums: the corners of a mesh are so far apart.
TEST(ShortTrees, SavesHopsByExchangingInTheMiddle) {
  for (const char* spec : {"torus:8x8", "mesh:8x8"}) {
    const Topology topology = make_topology(spec);
    const Schedule schedule = short_form(topology, "64B", "64B");
    const double hop = 150e-9 + 64 / 16e9;
    EXPECT_NEAR(predict_time(schedule, topology, 64).seconds(), 14 * hop, 1e-12) << spec;
  }
}

/// The bound does not know that a rank cannot reduce and spread an element at the same time.
TEST(ShortTrees, AreNearTheLeastTimeOfFewBytes) {
  constexpr std::uint64_t kBytes = 31'400;
  const std::map<std::string, std::pair<std::string, double>> cells{
      {"torus:8x8", {"128B", 1.4}},
      {"mesh:8x8", {"256B", 1.25}},
      {"torus:8x8?without=0-1", {"128B", 1.35}},
      {"torus:4x4?slow=5:0.25", {"512B", 1.25}}};
  for (const auto& [spec, cell] : cells) {
    const Topology topology = make_topology(spec);
    const Schedule schedule = short_form(topology, "31400B", cell.first);
    EXPECT_LE(predict_time(schedule, topology, kBytes).seconds(),
              cell.second * Streams(topology).at(kBytes).bound.seconds())
        << spec;
  }
}

}  // namespace
}  // namespace multitree
