// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Groups by their laws, Cayley graphs and their families by formulas written out here.
#include "topologies/cayley.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "tests/topologies/error_matcher.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

using Numbers = std::vector<std::uint32_t>;

void check_group(const FiniteGroup& group) {
  const std::uint32_t n = group.size();
  for (std::uint32_t a = 0; a < n; ++a) {
    EXPECT_EQ(group.multiply(a, 0), a);
    EXPECT_EQ(group.multiply(0, a), a);
    EXPECT_EQ(group.multiply(a, group.inverse(a)), 0U);
    for (std::uint32_t b = 0; b < n; ++b) {
      ASSERT_LT(group.multiply(a, b), n);
      const std::uint32_t c = (a * 7 + b * 3 + 1) % n;
      ASSERT_EQ(group.multiply(group.multiply(a, b), c), group.multiply(a, group.multiply(b, c)));
    }
  }
}

TEST(FiniteGroup, ObeysTheLawsOfGroups) {
  for (const Numbers& sizes : std::vector<Numbers>{{}, {1}, {7}, {1, 5}, {4, 3}, {3, 2, 5}}) {
    check_group(FiniteGroup::grid(sizes));
  }
  for (std::uint32_t twist = 0; twist < 6; ++twist) check_group(FiniteGroup::grid({6, 4}, twist));
  check_group(FiniteGroup::grid({3, 2, 4}, 2));
  check_group(FiniteGroup::grid({5, 1}, 3));
  for (std::uint32_t symbols = 1; symbols <= 5; ++symbols) {
    EXPECT_EQ(FiniteGroup::permutations(symbols).size(), Numbers({1, 1, 2, 6, 24, 120})[symbols]);
    check_group(FiniteGroup::permutations(symbols));
  }
}

TEST(FiniteGroup, NumbersPermutationsInLexicographicOrder) {
  Numbers order{0, 1, 2, 3, 4};
  std::uint32_t number = 0;
  do {
    EXPECT_EQ(FiniteGroup::permutation_number(order), number++);
  } while (std::ranges::next_permutation(order).found);
  EXPECT_EQ(number, 120U);
}

TEST(FiniteGroup, MultipliesPermutationsByComposing) {
  const auto number = [](const Numbers& order) { return FiniteGroup::permutation_number(order); };
  const FiniteGroup group = FiniteGroup::permutations(4);
  EXPECT_EQ(group.multiply(number({2, 0, 3, 1}), number({1, 0, 2, 3})), number({0, 2, 3, 1}));
  EXPECT_EQ(group.inverse(number({2, 0, 3, 1})), number({1, 3, 0, 2}));
}

/// Every arc has one back, and multiplying on the left moves arcs to arcs.
void check_graph(const CayleyGraph& graph) {
  for (std::uint32_t s = 0; s < graph.degree(); ++s) {
    EXPECT_EQ(graph.inverse(graph.inverse(s)), s);
    for (std::uint32_t x = 0; x < graph.size(); ++x) {
      const std::uint32_t to = graph.apply(x, s);
      ASSERT_EQ(to, graph.group().multiply(x, graph.generators()[s]));
      ASSERT_EQ(graph.apply(to, graph.inverse(s)), x);
      ASSERT_EQ(graph.apply(x + 3 * graph.size(), s), to + 3 * graph.size());
    }
  }
}

TEST(CayleyGraph, IsTheGroupWithItsGenerators) {
  for (const char* spec :
       {"torus:1", "torus:5x1x2", "torus:4x3x2?double=1", "ring:2", "hypercube:0", "hypercube:5",
        "full:1", "full:6", "circulant:2", "circulant:12?offsets=2,3,6",
        "twisted-torus:6x4?twist=5", "twisted-torus:2x2?twist=1", "twisted-torus:4x3x2",
        "cayley:4x3?generators=1,5", "star-graph:1", "star-graph:5", "pancake:5",
        "bubble-sort:4"}) {
    SCOPED_TRACE(spec);
    const auto graph = cayley_graph(Spec::parse(spec));
    ASSERT_TRUE(graph);
    check_graph(*graph);
  }
  EXPECT_FALSE(cayley_graph(Spec::parse("mesh:3x3")));
}

TEST(CayleyGraph, IsTheNetworkOfItsSpec) {
  for (const TopologyFamily& family : topology_families()) {
    for (const std::string parameters : {"", "?double=1"}) {
      if (!parameters.empty() && family.name != "torus") continue;
      const std::string spec =
          parameters.empty() ? std::string(family.example) : "torus:2x3x2" + parameters;
      const auto graph = cayley_graph(Spec::parse(spec));
      if (!graph) continue;
      const Topology topology = make_topology(spec);
      ASSERT_EQ(structure_of(topology).group->size(), topology.num_ranks()) << spec;
      for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
        std::multiset<std::uint32_t> links, arcs;
        for (const LinkId id : topology.out_links(topology.node_of(Rank{r}))) {
          links.insert(index(topology.link(id).dst));
        }
        for (std::uint32_t s = 0; s < graph->degree(); ++s) arcs.insert(graph->apply(r, s));
        ASSERT_EQ(links, arcs) << spec << " rank " << r;
      }
    }
  }
}

TEST(CayleyGraph, RefusesGeneratorsWithoutTheirInverses) {
  const auto graph = [](const Numbers& generators) {
    return CayleyGraph(FiniteGroup::grid({6}), generators);
  };
  EXPECT_NO_THROW(graph({1, 5, 3, 3}));
  for (const Numbers& wrong : std::vector<Numbers>{{1}, {1, 1, 5}, {0}, {1, 5, 6}, {2, 3}}) {
    EXPECT_THROW(graph(wrong), Error);
  }
}

TEST(Circulant, LinksRanksAtTheOffsets) {
  const Topology topology = make_topology("circulant:10?offsets=2,5,9");
  EXPECT_EQ(topology.num_links(), 10U * 5);
  for (const Link& link : topology.links()) {
    const std::uint32_t offset = (index(link.dst) + 10 - index(link.src)) % 10;
    EXPECT_THAT((Numbers{1, 2, 5, 8, 9}), testing::Contains(offset));
  }
}

//  twisted-torus:4x3?twist=1    rank 8 + x is linked to rank (x + 1) % 4
TEST(TwistedTorus, WrapsToAPlaceFurther) {
  const Topology topology = make_topology("twisted-torus:4x3?twist=1");
  std::set<std::pair<std::uint32_t, std::uint32_t>> links, expected;
  for (const Link& link : topology.links()) links.emplace(index(link.src), index(link.dst));
  for (std::uint32_t y = 0; y < 3; ++y) {
    for (std::uint32_t x = 0; x < 4; ++x) {
      const std::uint32_t from = x + 4 * y;
      for (const std::uint32_t to : {(x + 1) % 4 + 4 * y, y < 2 ? from + 4 : (x + 1) % 4}) {
        expected.emplace(from, to);
        expected.emplace(to, from);
      }
    }
  }
  EXPECT_EQ(links, expected);
}

TEST(TwistedTorus, WithoutATwistIsATorus) {
  const Topology twisted = make_topology("twisted-torus:5x4?twist=0"),
                 torus = make_topology("torus:5x4");
  std::multiset<std::pair<NodeId, NodeId>> a, b;
  for (const Link& link : twisted.links()) a.emplace(link.src, link.dst);
  for (const Link& link : torus.links()) b.emplace(link.src, link.dst);
  EXPECT_EQ(a, b);
}

/// The n-th order of the symbols.
Numbers order_of(std::uint32_t symbols, std::uint32_t n) {
  Numbers order(symbols);
  std::iota(order.begin(), order.end(), 0U);
  while (n-- > 0) std::ranges::next_permutation(order);
  return order;
}

TEST(PermutationNetworks, LinkOrdersThatOneMoveTurnsIntoEachOther) {
  for (const std::string family : {"star-graph", "pancake", "bubble-sort"}) {
    const Topology topology = make_topology(family + ":4");
    EXPECT_EQ(topology.num_links(), 24U * 3);
    for (const Link& link : topology.links()) {
      const Numbers a = order_of(4, index(link.src)), b = order_of(4, index(link.dst));
      Numbers places;
      for (std::uint32_t i = 0; i < 4; ++i) {
        if (a[i] != b[i]) places.push_back(i);
      }
      if (family == "pancake") {
        bool turned = false;
        for (std::uint32_t k = 2; k <= 4; ++k) {
          Numbers c = a;
          std::reverse(c.begin(), c.begin() + k);
          turned = turned || c == b;
        }
        EXPECT_TRUE(turned);
        continue;
      }
      ASSERT_EQ(places.size(), 2U);
      EXPECT_TRUE(family == "star-graph" ? places[0] == 0 : places[1] == places[0] + 1);
    }
  }
}

TEST(Torus, DoublesTheLinksOfSizeTwoDimensionsOnRequest) {
  const Topology topology = make_topology("torus:2x3x2?double=1");
  EXPECT_EQ(topology.num_links(), 12U * 6);
  EXPECT_EQ(topology.shape(), (Shape{"torus", {2, 3, 2}}));
  EXPECT_TRUE(topology.is_symmetric());
}

TEST(CayleyFamilies, SayWhatIsWrong) {
  const auto error = [](const char* spec) -> std::string {
    try {
      static_cast<void>(make_topology(spec));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(error("circulant:8?offsets=2"), HasSubstr("rank 0 (n0) cannot reach rank 1"));
  EXPECT_THAT(error("circulant:8?offsets=1,8"), HasSubstr("offsets: expected numbers from 1 to 7"));
  EXPECT_THAT(error("circulant:8?offsets=1,7"), HasSubstr("offsets: 7 or what undoes it"));
  EXPECT_THAT(error("circulant:1"), HasSubstr("each size must be a number >= 2"));
  EXPECT_THAT(error("cayley:4x4?generators=1,x"), HasSubstr("generators: expected numbers"));
  EXPECT_THAT(error("twisted-torus:4x4?twist=4"),
              HasSubstr("twist: expected a number from 0 to 3"));
  EXPECT_THAT(error("twisted-torus:4"), HasSubstr("at least 2"));
  EXPECT_THAT(error("pancake:10"), HasSubstr("at most 9 symbols"));
  EXPECT_THAT(error("torus:4x2?double=2"), HasSubstr("double: expected a number from 0 to 1"));
  EXPECT_THAT(error("mesh:4x2?double=1"), HasSubstr("unknown parameter 'double'"));
}

}  // namespace
}  // namespace multitree
