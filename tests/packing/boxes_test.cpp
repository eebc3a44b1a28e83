// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Chains of boxes: as little between boxes as an all-reduce can, and messages that meet nowhere.
#include "algorithms/packing/trees/boxes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "algorithms/certificate/all_reduce_lp.hpp"
#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// Optimal where links between boxes are what limits an all-reduce; near it where boxes do.
TEST(Boxes, AreNearTheOptimumAndMeetNowhere) {
  const std::map<std::string, double> over = {
      {"dgx-a100:2", 1.02}, {"dgx-a100:3", 1}, {"dgx-a100:4", 1}, {"dgx-h100:2", 1.04}};
  for (const auto& [spec, most] : over) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const auto packing = pack_boxes(topology);
    ASSERT_TRUE(packing.has_value());
    EXPECT_EQ(packing->trees.size(), topology.num_ranks());
    const Exact optimum = solve_all_reduce_lp(topology).time;
    EXPECT_GE(load(*packing, topology), optimum);
    EXPECT_LE(load(*packing, topology).convert_to<double>(), most * optimum.convert_to<double>());
    // Whatever passes a link comes from one rank and goes to one.
    std::map<LinkId, std::pair<Rank, Rank>> users;
    for (const PackedTree& tree : packing->trees) {
      for (const auto* arcs : {&tree.reduce, &tree.gather}) {
        EXPECT_EQ(arcs->size(), topology.num_ranks() - 1);
        for (const TreeArc& arc : *arcs) {
          for (const LinkId link : packing->route(arc)) {
            const auto user = std::pair(arc.src, arc.dst);
            EXPECT_EQ(users.emplace(link, user).first->second, user);
          }
        }
      }
    }
  }
}

TEST(Boxes, Verify) {
  for (const char* spec : {"dgx-a100:2", "dgx-a100:3?nic=100GB/s", "dgx-h100:4"}) {
    const Topology topology = make_topology(spec);
    const auto packing = pack_boxes(topology);
    ASSERT_TRUE(packing.has_value()) << spec;
    for (std::uint32_t segments = 1; segments <= 3; ++segments) {
      const Schedule schedule =
          time_trees(*packing, topology, {.segments = segments, .lag = 1, .lag_parts = 8});
      const VerifyReport report = verify(schedule, topology);
      ASSERT_TRUE(report.ok()) << spec << ": " << report.violations.front().message;
    }
  }
}

TEST(Boxes, AreChosenForLargeSizesOnly) {
  const Topology topology = make_topology("dgx-a100:2");
  const auto transfers = [&](const char* size) {
    return make_schedule(fmt::format("allreduce-optimal?size={}", size), topology).transfers;
  };
  const auto neighbours_only = [&](const char* size) {
    std::map<Rank, std::map<Rank, bool>> peers;
    for (const Transfer& transfer : transfers(size)) peers[transfer.src][transfer.dst] = true;
    std::size_t most = 0;
    for (const auto& [rank, to] : peers) most = std::max(most, to.size());
    return most == 2;
  };
  EXPECT_TRUE(neighbours_only("256MiB"));
  EXPECT_FALSE(neighbours_only("4KiB"));
}

TEST(Boxes, AreNotFoundElsewhere) {
  for (const char* spec : {"dgx-a100:1", "fattree:4x4", "torus:4x4", "star:4", "dgx2",
                           "dgx-a100:2?ranks=0-12", "dgx-a100:2?nic=300GB/s"}) {
    EXPECT_FALSE(pack_boxes(make_topology(spec)).has_value()) << spec;
  }
}

}  // namespace
}  // namespace multitree
