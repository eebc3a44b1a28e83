// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Timing of tree packings: always right, never slower than work and distance allow.
#include "algorithms/packing/steps/time_trees.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "algorithms/verify.hpp"
#include "random_packings.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// Each tree's chunks must have its share of what it divides.
void check_shares(const TreePacking& packing, const Schedule& schedule) {
  std::vector<std::uint64_t> weights(packing.trees.size(), 0);
  for (const Chunk& chunk : schedule.chunks) {
    weights[chunk.tree] += chunk.weight;
    EXPECT_EQ(chunk.root(), packing.trees[chunk.tree].root);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(weights[i] * packing.trees[0].weight, weights[0] * packing.trees[i].weight);
  }
}

/// Where each rank's sums of each tree come from, in their order, chunk by chunk.
std::map<std::pair<std::uint32_t, Rank>, std::map<std::uint32_t, std::vector<Rank>>> sums_of(
    const Schedule& schedule) {
  std::map<std::pair<std::uint32_t, Rank>, std::map<std::uint32_t, std::vector<Rank>>> sums;
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.op != Op::Reduce) continue;
    const std::pair place{schedule.chunks[transfer.chunk].tree, transfer.dst};
    sums[place][transfer.chunk].push_back(transfer.src);
  }
  return sums;
}

TEST(TimeTrees, SumsAllChunksOfATreeInTheSameOrder) {
  Generator random(2);
  bool differ = false;  // unless they are asked not to
  for (const char* spec : {"torus:3x3", "mesh:4x2", "fattree:4x2x2", "ring:7?bw=3GB/s", "full:5"}) {
    const Topology topology = make_topology(spec);
    for (std::uint32_t segments = 2; segments <= 12; segments += 5) {
      SCOPED_TRACE(fmt::format("{} {}", spec, segments));
      const TreePacking packing = random_packing(topology, Collective::AllReduce, random);
      const Schedule schedule =
          time_trees(packing, topology, {.segments = segments, .same_order = true});
      const VerifyReport report = verify(schedule, topology);
      ASSERT_TRUE(report.ok()) << report.violations.front().message;
      for (const auto& [place, chunks] : sums_of(schedule)) {
        for (const auto& [chunk, order] : chunks) EXPECT_EQ(order, chunks.begin()->second);
      }
      for (const auto& [place, chunks] : sums_of(time_trees(packing, topology, {segments}))) {
        for (const auto& [chunk, order] : chunks) differ |= order != chunks.begin()->second;
      }
    }
  }
  EXPECT_TRUE(differ);
}

TEST(TimeTrees, RandomPackingsVerify) {
  Generator random(1);
  for (const char* spec : {"torus:3x3", "mesh:4x2", "fattree:4x2x2", "mesh:1x1", "mesh:2x1",
                           "bigraph:2x4", "ring:7?bw=3GB/s", "full:5", "dgx2"}) {
    const Topology topology = make_topology(spec);
    for (const Collective collective :
         {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter,
          Collective::Broadcast, Collective::Reduce}) {
      for (std::uint32_t segments = 1; segments <= 4; ++segments) {
        SCOPED_TRACE(fmt::format("{} {} {}", spec, to_string(collective), segments));
        const TreePacking packing = random_packing(topology, collective, random);
        Schedule schedule = time_trees(packing, topology, {.segments = segments});
        check_shares(packing, schedule);
        const VerifyReport report = verify(schedule, topology);
        ASSERT_TRUE(report.ok()) << report.violations.front().message;
        const Schedule before = schedule;
        schedule.canonicalize();
        EXPECT_EQ(schedule, before) << "not canonical";
        EXPECT_EQ(schedule, time_trees(packing, topology, {.segments = segments}));
      }
    }
  }
}

/// A path reduced and spread in pieces: one piece a step, after the way up and down.
TEST(TimeTrees, PipelinesAPathWithoutGaps) {
  const Topology topology = make_topology("mesh:9");
  TreePacking packing = empty_packing(9);
  PackedTree tree;
  tree.root = Rank{4};
  const auto arc = [&](std::uint32_t from, std::uint32_t to) {
    for (const LinkId link : topology.out_links(topology.node_of(Rank{from}))) {
      if (topology.link(link).dst == topology.node_of(Rank{to})) {
        return packing.make_arc(Rank{from}, Rank{to}, {&link, 1});
      }
    }
    return TreeArc{};
  };
  for (std::uint32_t i = 0; i < 4; ++i) {
    tree.reduce.push_back(arc(i, i + 1));
    tree.reduce.push_back(arc(8 - i, 7 - i));
    tree.gather.push_back(arc(4 - i, 3 - i));
    tree.gather.push_back(arc(4 + i, 5 + i));
  }
  packing.trees.push_back(tree);
  for (const std::uint32_t segments : {1U, 2U, 10U, 100U}) {
    EXPECT_EQ(time_trees(packing, topology, {.segments = segments}).num_steps(), 8 + segments - 1);
  }
}

TEST(TimeTrees, HeavierTreesGetMoreChunks) {
  const Topology topology = make_topology("mesh:2");
  TreePacking packing = empty_packing(2);
  const LinkId there = topology.out_links(topology.node_of(Rank{0})).front();
  const LinkId back = topology.out_links(topology.node_of(Rank{1})).front();
  for (const std::uint64_t weight : {std::uint64_t{1}, std::uint64_t{6}, std::uint64_t{2}}) {
    PackedTree tree;
    tree.root = Rank{0};
    tree.weight = weight;
    tree.reduce.push_back(packing.make_arc(Rank{1}, Rank{0}, {&back, 1}));
    tree.gather.push_back(packing.make_arc(Rank{0}, Rank{1}, {&there, 1}));
    packing.trees.push_back(tree);
  }
  const Schedule schedule = time_trees(packing, topology, {.segments = 5});
  std::vector<std::uint32_t> counts(3, 0);
  for (const Chunk& chunk : schedule.chunks) ++counts[chunk.tree];
  EXPECT_EQ(counts, (std::vector<std::uint32_t>{2, 10, 3}));
  check_shares(packing, schedule);
}

/// Weights of more bits than a chunk's weight has: exact as long as the chunks' fit.
TEST(TimeTrees, LargeWeightsStayExact) {
  const Topology topology = make_topology("mesh:2");
  TreePacking packing = empty_packing(2);
  const LinkId there = topology.out_links(topology.node_of(Rank{0})).front();
  const LinkId back = topology.out_links(topology.node_of(Rank{1})).front();
  for (const std::uint64_t weight :
       {std::uint64_t{10'000'000'019}, std::uint64_t{7'000'000'001}, std::uint64_t{3}}) {
    PackedTree tree;
    tree.root = Rank{1};
    tree.weight = weight;
    tree.reduce.push_back(packing.make_arc(Rank{0}, Rank{1}, {&there, 1}));
    tree.gather.push_back(packing.make_arc(Rank{1}, Rank{0}, {&back, 1}));
    packing.trees.push_back(tree);
  }
  check_shares(packing, time_trees(packing, topology, {.segments = 13}));
}

}  // namespace
}  // namespace multitree
