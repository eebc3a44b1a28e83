// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Every family against the formulas of its literature.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/topologies/error_matcher.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

// Links on a shortest way from a node to each node.
std::vector<std::uint32_t> distances(const Topology& topology, NodeId from) {
  constexpr std::uint32_t kUnknown = ~0U;
  std::vector<std::uint32_t> distance(topology.num_nodes(), kUnknown);
  std::vector<NodeId> queue{from};
  distance[index(from)] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const LinkId id : topology.out_links(queue[next])) {
      const NodeId dst = topology.link(id).dst;
      if (distance[index(dst)] != kUnknown) continue;
      distance[index(dst)] = distance[index(queue[next])] + 1;
      queue.push_back(dst);
    }
  }
  return distance;
}

std::uint32_t diameter(const Topology& topology) {
  std::uint32_t longest = 0;
  for (std::uint32_t from = 0; from < topology.num_ranks(); ++from) {
    const auto distance = distances(topology, topology.node_of(Rank{from}));
    for (std::uint32_t to = 0; to < topology.num_ranks(); ++to) {
      longest = std::max(longest, distance[index(topology.node_of(Rank{to}))]);
    }
  }
  return longest;
}

struct Expected {
  const char* spec;
  std::uint32_t ranks, nodes, links, degree_of_rank_0, diameter;
};

void PrintTo(const Expected& expected, std::ostream* out) { *out << slug(expected.spec); }

class Family : public testing::TestWithParam<Expected> {};

TEST_P(Family, HasTheSizesOfItsFormulas) {
  const Expected& expected = GetParam();
  const Topology topology = make_topology(expected.spec);
  EXPECT_EQ(topology.name(), expected.spec);
  EXPECT_EQ(topology.num_ranks(), expected.ranks);
  EXPECT_EQ(topology.num_nodes(), expected.nodes);
  EXPECT_EQ(topology.num_links(), expected.links);
  EXPECT_EQ(topology.out_links(topology.node_of(Rank{0})).size(), expected.degree_of_rank_0);
  EXPECT_EQ(diameter(topology), expected.diameter);
  EXPECT_TRUE(topology.is_symmetric());
}

INSTANTIATE_TEST_SUITE_P(
    Direct, Family,
    testing::Values(
        Expected{"ring:1", 1, 1, 0, 0, 0}, Expected{"ring:2", 2, 2, 2, 1, 1},
        Expected{"ring:3", 3, 3, 6, 2, 1}, Expected{"ring:8", 8, 8, 16, 2, 4},
        Expected{"torus:1x1", 1, 1, 0, 0, 0}, Expected{"torus:2x2", 4, 4, 8, 2, 2},
        Expected{"torus:2x1x3", 6, 6, 18, 3, 2}, Expected{"torus:4x4", 16, 16, 64, 4, 4},
        Expected{"torus:8x8", 64, 64, 256, 4, 8},
        Expected{"torus:4x3x2", 24, 24, 24 * 5, 5, 2 + 1 + 1},
        Expected{"torus:3x3x3x3", 81, 81, 81 * 8, 8, 4}, Expected{"mesh:1", 1, 1, 0, 0, 0},
        Expected{"mesh:2", 2, 2, 2, 1, 1}, Expected{"mesh:4x4", 16, 16, 48, 2, 6},
        Expected{"mesh:3x5", 15, 15, 2 * (2 * 5 + 3 * 4), 2, 6},
        Expected{"mesh:2x3x4", 24, 24, 2 * (12 + 16 + 18), 3, 6},
        Expected{"hypercube:0", 1, 1, 0, 0, 0}, Expected{"hypercube:1", 2, 2, 2, 1, 1},
        Expected{"hypercube:6", 64, 64, 384, 6, 6}, Expected{"full:1", 1, 1, 0, 0, 0},
        Expected{"full:2", 2, 2, 2, 1, 1}, Expected{"full:8", 8, 8, 56, 7, 1},
        Expected{"slimfly:3", 18, 18, 18 * 5, 5, 2}, Expected{"slimfly:5", 50, 50, 50 * 7, 7, 2},
        Expected{"slimfly:7", 98, 98, 98 * 11, 11, 2},
        Expected{"slimfly:13", 338, 338, 338 * 19, 19, 2},
        Expected{"tpu-v4:4x2x2", 16, 16, 64, 4, 4}, Expected{"tpu-v4:4x4x4", 64, 64, 384, 6, 6},
        Expected{"torus:2x2?double=1", 4, 4, 16, 4, 2}, Expected{"circulant:2", 2, 2, 2, 1, 1},
        Expected{"circulant:16?offsets=1,5", 16, 16, 64, 4, 4},
        Expected{"twisted-torus:8x4", 32, 32, 128, 4, 4},
        Expected{"cayley:4x4?generators=1,4,5", 16, 16, 96, 6, 2},
        Expected{"star-graph:1", 1, 1, 0, 0, 0}, Expected{"star-graph:4", 24, 24, 72, 3, 3 * 3 / 2},
        Expected{"pancake:4", 24, 24, 72, 3, 4},
        Expected{"bubble-sort:4", 24, 24, 72, 3, 4 * 3 / 2}));

INSTANTIATE_TEST_SUITE_P(
    Switched, Family,
    testing::Values(
        Expected{"star:1", 1, 2, 2, 1, 0}, Expected{"star:8", 8, 9, 16, 1, 2},
        Expected{"fattree:1x1", 1, 3, 4, 1, 0}, Expected{"fattree:2x1", 2, 5, 8, 1, 4},
        Expected{"fattree:8x8", 64, 80, 2 * (64 + 64), 1, 4},
        Expected{"fattree:4x8x2", 32, 38, 2 * (32 + 8), 1, 4},
        Expected{"fattree:4x8?spines=2", 32, 38, 2 * (32 + 8), 1, 4},
        Expected{"fattree:4x8?oversubscription=4", 32, 38, 2 * (32 + 8), 1, 4},
        Expected{"fattree3:2", 2, 7, 12, 1, 6}, Expected{"fattree3:4", 16, 36, 96, 1, 6},
        Expected{"fattree3:8", 128, 128 + 80, 3 * 256, 1, 6},
        Expected{"fattree3:8?oversubscription=2", 128, 128 + 32 + 16 + 8, 256 + 128 + 128, 1, 6},
        Expected{"bigraph:1x2", 2, 4, 6, 1, 3}, Expected{"bigraph:2x4", 8, 12, 24, 1, 4},
        Expected{"bigraph:4x8", 32, 40, 96, 1, 4}, Expected{"bigraph:4x16", 64, 80, 256, 1, 4},
        Expected{"dgx2", 16, 28, 204, 6, 3}, Expected{"dgx-a100:1", 8, 9, 16, 1, 2},
        Expected{"dgx-a100:4", 32, 37, 128, 2, 2}, Expected{"dgx-h100:2", 16, 19, 64, 2, 2},
        Expected{"dgx-b200:1", 8, 9, 16, 1, 2}, Expected{"nvl72:1", 72, 73, 144, 1, 2},
        Expected{"nvl72:2?gpus=36", 72, 75, 288, 2, 2}, Expected{"mi300x:1", 8, 8, 56, 7, 1},
        Expected{"mi300x:2", 16, 17, 112 + 32, 8, 2},
        Expected{"rail:2x4", 8, 16, 2 * (8 + 8 + 4 * 2), 2, 4},
        Expected{"rail:3x8x4", 24, 24 + 3 + 8 + 4, 2 * (24 + 24 + 8 * 4), 2, 4},
        Expected{"dragonfly:1x1x1", 2, 4, 6, 1, 3}, Expected{"dragonfly:4x1x2", 40, 60, 160, 1, 5},
        Expected{"dragonfly:4x2x2", 72, 108, 144 + 9 * 12 + 72, 1, 5},
        Expected{"dragonfly:4x2x2?groups=1", 8, 12, 16 + 12, 1, 3},
        Expected{"dragonfly:2x2x1?groups=3", 6, 12, 12 + 6 + 12, 1, 4}));

TEST(Torus, LinksRanksThatDifferByOneInOneCoordinate) {
  const std::vector<std::uint32_t> dims{5, 4, 3};
  const Topology topology = make_topology("torus:5x4x3");
  EXPECT_EQ(topology.shape(), (Shape{"torus", dims}));
  std::set<std::pair<NodeId, NodeId>> seen;
  for (const Link& link : topology.links()) {
    EXPECT_TRUE(seen.emplace(link.src, link.dst).second);
    std::uint32_t a = index(link.src), b = index(link.dst), differences = 0;
    for (const std::uint32_t size : dims) {
      const std::uint32_t step = (a % size + size - b % size) % size;
      EXPECT_TRUE(step == 0 || step == 1 || step == size - 1);
      differences += step != 0 ? 1 : 0;
      a /= size;
      b /= size;
    }
    EXPECT_EQ(differences, 1U);
  }
}

TEST(Torus, TakesSpeedsPerDimension) {
  const Topology topology = make_topology("torus:4x4?bw=50GB/s,25GB/s&lat=1us,2us");
  for (const Link& link : topology.links()) {
    const bool in_x = index(link.src) / 4 == index(link.dst) / 4;
    EXPECT_EQ(link.bandwidth.bytes_per_second, in_x ? 50'000'000'000U : 25'000'000'000U);
    EXPECT_EQ(link.latency.picoseconds, in_x ? 1'000'000 : 2'000'000);
  }
  EXPECT_EQ(topology.slots(LinkId{0}), 2U);
}

TEST(Families, DefaultToTheLinkOfTheStudy) {
  const Topology topology = make_topology("mesh:2x2");
  EXPECT_EQ(to_string(topology.link(LinkId{0}).bandwidth), "16GB/s");
  EXPECT_EQ(to_string(topology.link(LinkId{0}).latency), "150ns");
}

// How many links lead from one switch to another, by names.
std::map<std::pair<std::string, std::string>, int> trunks(const Topology& topology) {
  std::map<std::pair<std::string, std::string>, int> count;
  for (const Link& link : topology.links()) {
    const Node &src = topology.node(link.src), &dst = topology.node(link.dst);
    if (src.is_switch() && dst.is_switch()) ++count[{src.name, dst.name}];
  }
  return count;
}

TEST(Bigraph, LinksEveryUpperSwitchToEveryLowerOne) {
  const Topology topology = make_topology("bigraph:2x8");
  const auto count = trunks(topology);
  EXPECT_EQ(count.size(), 2U * 4 * 4);
  for (const auto& [pair, links] : count) {
    EXPECT_EQ(links, 1);
    EXPECT_NE(pair.first.starts_with("up"), pair.second.starts_with("up"));
  }
  for (std::uint32_t rank = 0; rank < topology.num_ranks(); ++rank) {
    const NodeId node = topology.node_of(Rank{rank});
    const NodeId at = topology.link(topology.out_links(node)[0]).dst;
    EXPECT_EQ(index(at), topology.num_ranks() + rank / 2);
  }
}

TEST(FatTree3, EverySwitchUsesAllItsPorts) {
  const Topology topology = make_topology("fattree3:6");
  for (std::uint32_t id = 0; id < topology.num_nodes(); ++id) {
    if (!topology.node(NodeId{id}).is_switch()) continue;
    EXPECT_EQ(topology.out_links(NodeId{id}).size(), 6U) << topology.node(NodeId{id}).name;
  }
}

TEST(Dragonfly, JoinsEveryTwoGroupsOnceAndFillsEveryRouter) {
  const Topology topology = make_topology("dragonfly:3x2x1");  // g = 7
  std::map<std::string, int> ports;
  std::map<std::pair<std::string, std::string>, int> joins;
  for (const auto& [pair, links] : trunks(topology)) {
    const auto group = [](const std::string& name) { return name.substr(0, name.find('r')); };
    if (group(pair.first) == group(pair.second)) continue;
    ports[pair.first] += links;
    joins[{group(pair.first), group(pair.second)}] += links;
  }
  EXPECT_EQ(ports.size(), 21U);
  for (const auto& [router, used] : ports) EXPECT_EQ(used, 2) << router;
  EXPECT_EQ(joins.size(), 42U);
  for (const auto& [pair, links] : joins) EXPECT_EQ(links, 1) << pair.first << pair.second;
}

TEST(Machines, HaveTheRatesOfTheirVendors) {
  const auto rates = [](const char* spec) {
    std::map<std::string, std::uint64_t> count;
    const Topology topology = make_topology(spec);
    for (const Link& link : topology.links()) ++count[to_string(link.bandwidth)];
    return count;
  };
  using Rates = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(rates("dgx-b200:2"), (Rates{{"900GB/s", 32}, {"50GB/s", 32}}));
  EXPECT_EQ(rates("nvl72:1"), (Rates{{"900GB/s", 144}}));
  EXPECT_EQ(rates("mi300x:2"), (Rates{{"64GB/s", 112}, {"50GB/s", 32}}));
  EXPECT_EQ(rates("tpu-v4:4x2x2"), (Rates{{"50GB/s", 64}}));
  EXPECT_EQ(rates("tpu-v4:4x2x2?bw=1GB/s,2GB/s,3GB/s").size(), 3U);
  EXPECT_EQ(rates("rail:2x2x1?uplink-bw=25GB/s"),
            (Rates{{"450GB/s", 8}, {"50GB/s", 8}, {"25GB/s", 4}}));
}

TEST(Rail, JoinsGpusOfOneNumberByOneSwitch) {
  const Topology topology = make_topology("rail:4x8x2");
  for (std::uint32_t rank = 0; rank < 32; ++rank) {
    std::set<std::string> switches;
    for (const LinkId link : topology.out_links(topology.node_of(Rank{rank})))
      switches.insert(topology.node(topology.link(link).dst).name);
    EXPECT_EQ(switches,
              (std::set{fmt::format("nvswitch{}", rank / 8), fmt::format("rail{}", rank % 8)}));
  }
  EXPECT_EQ(trunks(topology).size(), 2U * 8 * 2);
}

TEST(SlimFly, TakesPrimeNumbersOnly) {
  for (const char* spec : {"slimfly:2", "slimfly:4", "slimfly:9", "slimfly:223"}) {
    EXPECT_THROW(static_cast<void>(make_topology(spec)), Error) << spec;
  }
}

TEST(Dgx, HasSlotsForTheRatioOfItsLinks) {
  const Topology dgx2 = make_topology("dgx2"), a100 = make_topology("dgx-a100:2"),
                 h100 = make_topology("dgx-h100:2");
  EXPECT_EQ(dgx2.slots(LinkId{0}), 1U);
  EXPECT_EQ(dgx2.slots(LinkId{dgx2.num_links() - 1}), 8U);
  EXPECT_EQ(a100.slots(LinkId{0}), 12U);
  EXPECT_EQ(h100.slots(LinkId{0}), 9U);
  EXPECT_EQ(make_topology("dgx-a100:1").slots(LinkId{0}), 1U);
}

TEST(Uplinks, HaveTheirOwnSpeed) {
  for (const char* spec : {"fattree:2x2?uplink-bw=32GB/s", "fattree3:4?uplink-bw=32GB/s",
                           "bigraph:2x4?uplink-bw=32GB/s"}) {
    const Topology topology = make_topology(spec);
    for (const Link& link : topology.links()) {
      const bool up = topology.node(link.src).is_switch() && topology.node(link.dst).is_switch();
      EXPECT_EQ(to_string(link.bandwidth), up ? "32GB/s" : "16GB/s") << spec;
    }
  }
}

TEST(Registry, IsSortedAndItsExamplesAreSmallAndValid) {
  std::string_view previous;
  for (const TopologyFamily& family : topology_families()) {
    EXPECT_LT(previous, family.name);
    previous = family.name;
    EXPECT_FALSE(family.summary.empty());
    EXPECT_FALSE(family.parameters.empty());
    const Topology topology = make_topology(family.example);
    EXPECT_LE(topology.num_ranks(), 64U);
    EXPECT_EQ(topology.shape().family, family.name);
    EXPECT_TRUE(topology.is_symmetric());
    EXPECT_EQ(make_topology(family.example), topology);
    EXPECT_EQ(topology.transposed().transposed(), topology);
    for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
      EXPECT_EQ(topology.mate(*topology.mate(LinkId{id})), LinkId{id});
    }
  }
}

TEST(Without, RemovesBothDirectionsAndKeepsTheRest) {
  const Topology whole = make_topology("mesh:2x2"), less = make_topology("mesh:2x2?without=0-1");
  EXPECT_EQ(less.shape(), whole.shape());
  EXPECT_TRUE(less.is_symmetric());
  std::vector<Link> expected;
  for (const Link& link : whole.links()) {
    if (index(link.src) + index(link.dst) != 1) expected.push_back(link);
  }
  EXPECT_TRUE(std::ranges::equal(less.links(), expected));
}

TEST(Without, RemovesOneDirection) {
  const Topology less = make_topology("ring:4?without=0>1");
  EXPECT_EQ(less.num_links(), 7U);
  EXPECT_FALSE(less.is_symmetric());
}

TEST(Without, TakesNodeNamesAndParallelLinks) {
  EXPECT_EQ(make_topology("fattree:2x2?without=leaf0-spine1,spine0-leaf1,leaf0-spine1&spines=3")
                .num_links(),
            2U * (4 + 6 - 2));
  // Two rounds of global links: g0r0 and g1r0 are joined once, all their links go.
  EXPECT_EQ(make_topology("dragonfly:2x2x1?groups=2&without=g0r0-g1r0").num_links(),
            2U * (4 + 2 + 4 - 2));
}

}  // namespace
}  // namespace multitree
