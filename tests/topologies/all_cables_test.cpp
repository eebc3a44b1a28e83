// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Several cables between two hosts in networks that count one.
#include <gtest/gtest.h>

#include "topologies/cluster/cluster.hpp"
#include "topologies/registry.hpp"

namespace multitree::cluster {
namespace {

Cable cable(const std::string& a, const std::string& b, std::uint64_t rate) {
  const Bandwidth both{rate};
  return {{{a, "p0", "fe80::1", 0, both, both}, {b, "p0", "fe80::2", 0, both, both}}, "", {1000}};
}

/// Bytes a second of all links between two ranks.
double rate(const Topology& network, std::uint32_t a, std::uint32_t b) {
  double sum = 0;
  for (const Link& link : network.links()) {
    const bool is = link.src == network.node_of(Rank{a}) && link.dst == network.node_of(Rank{b});
    if (is) sum += static_cast<double>(link.bandwidth.bytes_per_second);
  }
  return sum;
}

class AllCables : public testing::Test {
 protected:
  /// Three cables between the first two, of which one has half the rate, and one to the third.
  Cluster cluster_{{},
                   {cable("desk0", "desk1", 5'000'000'000), cable("desk1", "desk0", 5'000'000'000),
                    cable("desk0", "desk1", 2'500'000'000), cable("desk1", "desk2", 5'000'000'000)},
                   std::nullopt};
  std::vector<std::string> hosts_{"desk0", "desk1", "desk2"};
};

TEST_F(AllCables, CountByTheirRatesWhereALinkStandsForOne) {
  const Topology line = make_topology("mesh:3?bw=1GB/s");
  const Topology all = with_all_cables(line, cluster_, hosts_);
  EXPECT_EQ(rate(all, 0, 1), 2.5e9);
  EXPECT_EQ(rate(all, 1, 0), 2.5e9);
  EXPECT_EQ(rate(all, 1, 2), 1e9);
  EXPECT_EQ(all.name(), line.name());
  EXPECT_EQ(all.shape(), line.shape());
}

TEST_F(AllCables, AreThoseOfTheHostsOfRanks) {
  const Topology line = make_topology("mesh:3?bw=1GB/s");
  const Topology turned = with_all_cables(line, cluster_, {"desk2", "desk1", "desk0"});
  EXPECT_EQ(rate(turned, 1, 2), 2.5e9);
  EXPECT_EQ(rate(turned, 0, 1), 1e9);
}

TEST_F(AllCables, ChangeNothingWhereTheNetworkCountsThemOrThereAreNone) {
  const Topology counted = make_topology("mesh:3?bw=1GB/s&parallel=0-1:3");
  EXPECT_EQ(with_all_cables(counted, cluster_, hosts_), counted);
  const Topology ring = make_topology("ring:3?bw=1GB/s");
  EXPECT_EQ(rate(with_all_cables(ring, cluster_, hosts_), 0, 2), 1e9);
  EXPECT_EQ(with_all_cables(ring, cluster_, {"a", "b", "c"}), ring);
}

}  // namespace
}  // namespace multitree::cluster
