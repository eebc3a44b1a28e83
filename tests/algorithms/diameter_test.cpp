// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The diameter, which is found without a search from every rank, against the distances between all
/// ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "algorithms/bounds.hpp"
#include "tests/topologies/drawn_networks.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// Hops from rank to rank, to ranks through switches, by way of one node after the other (Floyd
/// 1962): coming to a rank is a hop, coming to a switch is none.
std::vector<std::vector<std::uint32_t>> all_hops(const Topology& topology) {
  constexpr std::uint32_t kNone = UINT32_MAX / 4;
  const std::uint32_t nodes = topology.num_nodes();
  std::vector<std::vector<std::uint32_t>> hops(nodes, std::vector<std::uint32_t>(nodes, kNone));
  for (std::uint32_t v = 0; v < nodes; ++v) hops[v][v] = 0;
  for (const Link& link : topology.links()) {
    std::uint32_t& least = hops[index(link.src)][index(link.dst)];
    least = std::min(least, topology.node(link.dst).is_switch() ? 0U : 1U);
  }
  for (std::uint32_t via = 0; via < nodes; ++via) {
    for (std::uint32_t from = 0; from < nodes; ++from) {
      for (std::uint32_t to = 0; to < nodes; ++to) {
        hops[from][to] = std::min(hops[from][to], hops[from][via] + hops[via][to]);
      }
    }
  }
  std::vector<std::vector<std::uint32_t>> between(topology.num_ranks());
  for (std::uint32_t from = 0; from < topology.num_ranks(); ++from) {
    for (std::uint32_t to = 0; to < topology.num_ranks(); ++to) {
      between[from].push_back(
          hops[index(topology.node_of(Rank{from}))][index(topology.node_of(Rank{to}))]);
    }
  }
  return between;
}

/// \returns the diameter
std::uint32_t expect_distances(const Topology& topology) {
  const auto hops = all_hops(topology);
  std::uint32_t most = 0;
  for (std::uint32_t from = 0; from < topology.num_ranks(); ++from) {
    const auto farthest = std::ranges::max_element(hops[from]);
    most = std::max(most, *farthest);
    const FarthestRank found = farthest_rank(topology, Rank{from});
    EXPECT_EQ(found.hops, *farthest) << "from " << from;
    if (*farthest > 0) {
      EXPECT_EQ(index(found.rank), farthest - hops[from].begin()) << "from " << from;
    }
    EXPECT_EQ(farthest_hops(topology, Rank{from}), *farthest) << "from " << from;
  }
  const Bounds bounds = compute_bounds(topology);
  EXPECT_EQ(bounds.diameter, most);
  const auto [one, other] = bounds.far_apart;
  EXPECT_EQ(hops[index(one)][index(other)], most);
  return most;
}

TEST(Diameter, OfRandomNetworksIsThatOfAllPairs) {
  std::mt19937_64 random(11);
  for (const DrawnKind& kind : drawn_kinds(12)) {
    std::uint32_t longest = 0;
    for (int i = 0; i < 250; ++i) {
      SCOPED_TRACE(fmt::format("{} {}", to_string(kind), i));
      longest = std::max(longest, expect_distances(draw_network(random, kind)));
    }
    EXPECT_GE(longest, 6U) << to_string(kind);
  }
}

TEST(Diameter, OfLongRandomNetworksIsThatOfAllPairs) {
  std::mt19937_64 random(12);
  for (const DrawnKind& kind : drawn_kinds(120)) {
    for (int i = 0; i < 10; ++i) {
      SCOPED_TRACE(fmt::format("{} {}", to_string(kind), i));
      expect_distances(draw_network(random, kind));
    }
  }
}

/// Most ranks of these are told from a rank in the middle alone, or none is.
TEST(Diameter, OfFamiliesIsThatOfAllPairs) {
  for (const char* network :
       {"mesh:17x8", "mesh:5x5x5", "torus:9x8", "ring:1", "ring:2", "ring:31", "hypercube:6",
        "full:9", "star:9", "fattree:4x4x2", "dragonfly:4x2x2", "bigraph:4x8", "dgx-a100:3",
        "mesh:9x9?dead=22-25,40-44", "mesh:8x8?ranks=0,9,18,27,36,45", "torus:6x6?ranks=3-30:3"}) {
    SCOPED_TRACE(network);
    expect_distances(make_topology(network));
  }
}

}  // namespace
}  // namespace multitree
