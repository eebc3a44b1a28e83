// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The breadth-first search against distances by relaxation, again and again on random graphs.
#include "algorithms/breadth_first_internal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace multitree {
namespace {

using Graph = std::vector<std::vector<std::uint32_t>>;

Graph random_graph(std::mt19937_64& random, std::uint32_t vertices, std::uint32_t edges) {
  Graph graph(vertices);
  for (std::uint32_t i = 0; i < edges; ++i) {
    graph[random() % vertices].push_back(static_cast<std::uint32_t>(random() % vertices));
  }
  return graph;
}

/// Coming to vertices from `free` on costs nothing, to others a hop.
std::vector<std::uint32_t> relaxed(const Graph& graph, std::uint32_t start, std::uint32_t free) {
  std::vector<std::uint32_t> hops(graph.size(), kFar);
  hops[start] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t v = 0; v < graph.size(); ++v) {
      if (hops[v] == kFar) continue;
      for (const std::uint32_t to : graph[v]) {
        const std::uint32_t there = hops[v] + (to >= free ? 0 : 1);
        if (there >= hops[to]) continue;
        hops[to] = there;
        changed = true;
      }
    }
  }
  return hops;
}

TEST(BreadthFirst, FindsTheFewestHops) {
  std::mt19937_64 random(5);
  BreadthFirst search(1);
  for (int i = 0; i < 200; ++i) {
    const auto vertices = static_cast<std::uint32_t>(1 + random() % 30);
    const Graph graph = random_graph(random, vertices, static_cast<std::uint32_t>(random() % 90));
    const auto start = static_cast<std::uint32_t>(random() % vertices);
    const std::vector<std::uint32_t> expected = relaxed(graph, start, vertices);
    EXPECT_EQ(hops_from(vertices, start,
                        [&](std::uint32_t v, const auto& meet) {
                          for (const std::uint32_t to : graph[v]) meet(to);
                        }),
              expected);
    search.grow(vertices);
    EXPECT_TRUE(search.run(start, [&](std::uint32_t v) {
      for (const std::uint32_t to : graph[v]) search.meet(to);
    }));
    for (std::uint32_t v = 0; v < vertices; ++v) EXPECT_EQ(search.hops(v), expected[v]);
    EXPECT_TRUE(std::ranges::is_sorted(search.order(), {},
                                       [&](std::uint32_t v) { return search.hops(v); }));
    EXPECT_EQ(std::ssize(search.order()),
              std::ranges::count_if(expected, [](std::uint32_t hops) { return hops != kFar; }));
  }
}

/// As switches beside ranks.
TEST(BreadthFirst, SomeVerticesCostNoHop) {
  std::mt19937_64 random(6);
  BreadthFirst search(40);
  for (int i = 0; i < 200; ++i) {
    const auto free = static_cast<std::uint32_t>(1 + random() % 20);
    const auto vertices = static_cast<std::uint32_t>(free + random() % 20);
    const Graph graph = random_graph(random, vertices, static_cast<std::uint32_t>(random() % 120));
    search.run(0, [&](std::uint32_t v) {
      for (const std::uint32_t to : graph[v]) {
        if (to >= free) {
          search.meet_beside(to);
        } else {
          search.meet(to);
        }
      }
    });
    const std::vector<std::uint32_t> expected = relaxed(graph, 0, free);
    for (std::uint32_t v = 0; v < vertices; ++v) EXPECT_EQ(search.hops(v), expected[v]);
  }
}

TEST(BreadthFirst, EndsWhereItIsTold) {
  BreadthFirst search(10);
  std::vector<std::uint32_t> seen;
  const auto chain = [&](std::uint32_t last) {
    seen.clear();
    return search.run(0, [&](std::uint32_t v) {
      seen.push_back(v);
      if (v == last) return false;
      if (v + 1 < 10) search.meet(v + 1);
      return true;
    });
  };
  EXPECT_FALSE(chain(3));
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_FALSE(search.has_met(4));
  EXPECT_EQ(search.hops(4), kFar);
  EXPECT_TRUE(chain(20));
  EXPECT_EQ(seen.size(), 10U);
}

}  // namespace
}  // namespace multitree
