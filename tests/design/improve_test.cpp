// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cable that helps most, where one can see it, and against all pairs.
#include "algorithms/design/improve.hpp"

#include <gtest/gtest.h>

#include "algorithms/certificate/certify.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

TEST(Improve, ClosesALineToARing) {
  // All that a line of 5 gathers at its end comes over one link; closed, over two.
  const Improvements found = improve_by_cable(make_topology("mesh:5"), Collective::AllGather);
  ASSERT_FALSE(found.cables.empty());
  EXPECT_EQ(found.before, 4);
  EXPECT_EQ(found.cables.front().first, Rank{0});
  EXPECT_EQ(found.cables.front().second, Rank{4});
  EXPECT_EQ(found.cables.front().bound, 2);
}

TEST(Improve, SaysThatNothingHelpsWhereAllAreAlike) {
  const Improvements found = improve_by_cable(make_topology("torus:4x4"), Collective::AllGather);
  EXPECT_TRUE(found.cables.empty());
  EXPECT_EQ(found.before, Exact(15, 4));
  EXPECT_GT(found.tried, 0U);
}

TEST(Improve, MissesNoPairThatHelps) {
  for (const char* spec :
       {"mesh:3x3", "torus:3x3?without=0-1", "star:4?slow=1:0.5", "dgx-a100:1"}) {
    const Topology topology = make_topology(spec);
    for (const Collective collective :
         {Collective::AllReduce, Collective::AllGather, Collective::Broadcast}) {
      const Improvements found = improve_by_cable(topology, collective);
      ASSERT_EQ(found.tried, found.possible) << spec;
      Exact best = found.before;
      for (std::uint32_t a = 0; a < topology.num_ranks(); ++a) {
        for (std::uint32_t b = a + 1; b < topology.num_ranks(); ++b) {
          const Topology more =
              with_cable(topology, Rank{a}, Rank{b}, topology.unit_bandwidth(), Time{150'000});
          const Bounds bounds = compute_bounds(more);
          best = std::min(best, certify(more, bounds, collective, Rank{0}, 0).certificate.bound);
        }
      }
      EXPECT_EQ(found.cables.empty() ? found.before : found.cables.front().bound, best)
          << spec << " " << to_string(collective);
    }
  }
}

}  // namespace
}  // namespace multitree
