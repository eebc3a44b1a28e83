// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All tori up to a size, and all small networks of other kinds: steps and depth are least.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "algorithms/symmetric/symmetric_schedule.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using Sizes = std::vector<std::uint32_t>;

/// Counts of elements by distance, by a search of its own.
std::vector<std::uint64_t> levels(const CayleyGraph& graph) {
  std::vector<bool> seen(graph.size(), false);
  std::vector<std::uint32_t> level{0}, next;
  std::vector<std::uint64_t> counts;
  for (seen[0] = true; !level.empty(); level.swap(next)) {
    counts.push_back(level.size());
    next.clear();
    for (const std::uint32_t x : level) {
      for (std::uint32_t s = 0; s < graph.degree(); ++s) {
        const std::uint32_t to = graph.apply(x, s);
        if (!seen[to]) next.push_back(to);
        seen[to] = true;
      }
    }
  }
  return counts;
}

/// `least` is what the caller knows; the depth must be the diameter.
void expect_optimal(const CayleyGraph& graph, std::uint32_t chunks, std::uint32_t least) {
  const TranslationTree tree = make_translation_tree(graph, chunks);
  EXPECT_EQ(tree.least_steps, least);
  EXPECT_EQ(tree.steps, least);
  EXPECT_EQ(tree.depth, levels(graph).size() - 1);
  EXPECT_EQ(tree.diameter, levels(graph).size() - 1);
  EXPECT_EQ(find_fault(graph, tree).value_or(""), "");
}

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

/// max(diameter, 1 + ceil((N - 1 - neighbours) / degree)): in the first step a rank can get only
/// the chunks of its neighbours.
std::uint32_t closed_bound(const CayleyGraph& graph) {
  const std::uint32_t diameter = static_cast<std::uint32_t>(levels(graph).size()) - 1;
  const auto& generators = graph.generators();
  const auto neighbours = static_cast<std::uint32_t>(
      std::set<std::uint32_t>(generators.begin(), generators.end()).size());
  if (graph.size() == 1) return 0;
  return std::max(diameter, 1 + ceil_div(graph.size() - 1 - neighbours, graph.degree()));
}

/// Calls visit(sizes) for all tori of up to `most` ranks with ascending sizes of 2 and more.
void for_each_torus(Sizes& sizes, std::uint32_t size, std::uint32_t most,
                    const std::function<void(const Sizes&)>& visit) {
  for (std::uint32_t n = sizes.empty() ? 2 : sizes.back(); size * n <= most; ++n) {
    sizes.push_back(n);
    visit(sizes);
    for_each_torus(sizes, size * n, most, visit);
    sizes.pop_back();
  }
}

std::vector<Sizes> tori(std::uint32_t most) {
  std::vector<Sizes> all;
  Sizes sizes;
  for_each_torus(sizes, 1, most, [&](const Sizes& found) { all.push_back(found); });
  return all;
}

TEST(Tori, AreAllThereAre) {
  EXPECT_EQ(tori(200).size(), 897U);
  EXPECT_EQ(tori(2000).size(), 17919U);
}

constexpr std::size_t kShards = 8;

class AllTori : public testing::TestWithParam<std::size_t> {};

TEST_P(AllTori, TakeTheLeastStepsAndDepth) {
  const std::vector<Sizes> all = tori(MULTITREE_LARGEST_TORUS);
  for (std::size_t i = GetParam(); i < all.size(); i += kShards) {
    SCOPED_TRACE(fmt::format("torus {}", fmt::join(all[i], "x")));
    std::uint32_t size = 1, degree = 0, diameter = 0;
    for (const std::uint32_t n : all[i]) {
      size *= n;
      degree += std::min(n - 1, 2U);
      diameter += n / 2;
    }
    const CayleyGraph graph = CayleyGraph::torus(all[i]);
    expect_optimal(graph, 1, std::max(diameter, ceil_div(size - 1, degree)));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, AllTori, testing::Range(std::size_t{0}, kShards));

TEST(ToriWithDoubledLinks, TakeTheLeastStepsAndDepth) {
  for (const Sizes& sizes : tori(MULTITREE_LARGEST_TORUS / 4)) {
    SCOPED_TRACE(fmt::format("torus {}", fmt::join(sizes, "x")));
    const CayleyGraph graph = CayleyGraph::torus(sizes, true);
    expect_optimal(graph, 1, closed_bound(graph));
  }
}

// As many chunks as links: N - 1 steps, all links busy in all of them.
TEST(ToriInPieces, ReachTheBandwidthBoundExactly) {
  for (const Sizes& sizes : tori(MULTITREE_LARGEST_TORUS / 8)) {
    SCOPED_TRACE(fmt::format("torus {}", fmt::join(sizes, "x")));
    const CayleyGraph graph = CayleyGraph::torus(sizes);
    expect_optimal(graph, graph.degree(), graph.size() - 1);
    const SymmetricSchedule schedule(graph, graph.degree());
    EXPECT_EQ(schedule.load(), schedule.load_bound());
  }
}

TEST(ToriInPieces, TakeTheLeastStepsForAnyNumberOfPieces) {
  for (const Sizes& sizes : tori(60)) {
    const CayleyGraph graph = CayleyGraph::torus(sizes);
    for (const std::uint32_t chunks : {2U, 3U, 5U, 8U}) {
      SCOPED_TRACE(fmt::format("torus {} in {}", fmt::join(sizes, "x"), chunks));
      const auto diameter = static_cast<std::uint32_t>(levels(graph).size()) - 1;
      expect_optimal(graph, chunks,
                     std::max(diameter, ceil_div(chunks * (graph.size() - 1), graph.degree())));
    }
  }
}

TEST(Circulants, OfTwoOffsetsTakeTheLeastStepsAndDepth) {
  std::uint32_t count = 0;
  for (std::uint32_t n = 3; n <= 40; ++n) {
    for (std::uint32_t a = 1; a <= n / 2; ++a) {
      for (std::uint32_t b = a + 1; b <= n / 2; ++b) {
        const std::set<std::uint32_t> offsets{a, n - a, b, n - b};
        const CayleyGraph graph(FiniteGroup::grid({n}), Sizes(offsets.begin(), offsets.end()));
        std::uint64_t reached = 0;
        for (const std::uint64_t elements : levels(graph)) reached += elements;
        if (reached < n) {
          EXPECT_THROW(make_translation_tree(graph), Error);
          continue;
        }
        SCOPED_TRACE(fmt::format("circulant {} with {} and {}", n, a, b));
        expect_optimal(graph, 1, closed_bound(graph));
        ++count;
      }
    }
  }
  EXPECT_GT(count, 2000U);
}

void expect_optimal(const std::string& spec) {
  SCOPED_TRACE(spec);
  const auto graph = cayley_graph(Spec::parse(spec));
  ASSERT_TRUE(graph);
  expect_optimal(*graph, 1, closed_bound(*graph));
}

TEST(TwistedTori, TakeTheLeastStepsAndDepth) {
  for (std::uint32_t a = 2; a <= 16; ++a) {
    for (std::uint32_t b = 2; b <= 16; ++b) {
      for (std::uint32_t twist = 0; twist < a; ++twist) {
        expect_optimal(fmt::format("twisted-torus:{}x{}?twist={}", a, b, twist));
      }
    }
  }
}

TEST(PermutationNetworks, TakeTheLeastStepsAndDepth) {
  for (const char* family : {"star-graph", "pancake", "bubble-sort"}) {
    for (std::uint32_t symbols = 1; symbols <= (MULTITREE_LARGEST_TORUS < 2000 ? 6 : 8);
         ++symbols) {
      expect_optimal(fmt::format("{}:{}", family, symbols));
    }
  }
}

}  // namespace
}  // namespace multitree
