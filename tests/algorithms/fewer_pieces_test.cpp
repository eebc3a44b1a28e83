// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fewer pieces of the same trees: right, of the same load, and as many as fit.
#include "algorithms/interchange/fewer_pieces.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/interchange/interchange.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

TEST(FewerPieces, KeepTheLoadAndVerify) {
  for (const char* network : {"ring:5", "mesh:3x3", "torus:4x4?slow=5:0.25", "dgx-a100:2"}) {
    const Topology topology = make_topology(network);
    const Schedule schedule = make_schedule("allreduce-optimal?segments=16", topology);
    ASSERT_EQ(pieces_of(schedule), 16U) << network;
    for (const std::uint32_t pieces : {1U, 4U, 8U}) {
      const auto made = in_pieces(schedule, pieces, topology);
      ASSERT_TRUE(made) << network;
      EXPECT_EQ(pieces_of(*made), pieces);
      EXPECT_TRUE(verify(*made, topology).ok()) << network;
      EXPECT_EQ(load_of(*made, topology), load_of(schedule, topology)) << network;
      EXPECT_LT(made->transfers.size(), schedule.transfers.size());
    }
  }
}

TEST(FewerPieces, AreAsManyAsFit) {
  const Topology topology = make_topology("mesh:2x3");
  const Schedule schedule = make_schedule("allreduce-optimal?segments=32", topology);
  const auto at_most = [&](std::size_t most) {
    return fitting(schedule, topology,
                   [&](const Schedule& one) { return one.transfers.size() <= most; });
  };
  EXPECT_EQ(*at_most(schedule.transfers.size()), schedule);
  // Pieces are halved until they fit, and no more often.
  const std::size_t fewer = schedule.transfers.size() - 1;
  const auto fitted = at_most(fewer);
  ASSERT_TRUE(fitted);
  EXPECT_LE(fitted->transfers.size(), fewer);
  const std::uint32_t pieces = pieces_of(*fitted);
  EXPECT_TRUE(std::has_single_bit(pieces));
  if (2 * pieces < pieces_of(schedule)) {
    EXPECT_GT(in_pieces(schedule, 2 * pieces, topology)->transfers.size(), fewer);
  }
  EXPECT_FALSE(at_most(1));
}

/// Chunks of one tree that do not go the same way are not one piece.
TEST(FewerPieces, NeedOneWayForATree) {
  const Topology topology = make_topology("ring:4");
  Schedule schedule = make_schedule("allreduce-optimal?segments=2", topology);
  for (Chunk& chunk : schedule.chunks) {
    chunk.set_root(Rank{0});
    chunk.tree = 0;
  }
  EXPECT_FALSE(in_pieces(schedule, 1, topology));
}

/// The flagship fits what has room for few.
TEST(FewerPieces, FitTheLimitsOfMsccl) {
  const MscclOptions options;
  const auto fits = [&](const Schedule& schedule) {
    try {
      return !write_msccl_xml(schedule, options).empty();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      return false;
    }
  };
  for (const char* network : {"ring:5", "mesh:4x4"}) {
    const Topology topology = make_topology(network);
    const Schedule schedule = make_schedule("allreduce-optimal", topology);
    EXPECT_FALSE(fits(schedule)) << network;
    const auto fitted = fitting(schedule, topology, fits);
    ASSERT_TRUE(fitted) << network;
    EXPECT_TRUE(fits(*fitted));
    EXPECT_TRUE(verify(*fitted, topology).ok());
  }
}

}  // namespace
}  // namespace multitree
