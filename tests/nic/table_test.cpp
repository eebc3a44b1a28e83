// SPDX-License-Identifier: BSD-3-Clause
#include "nic/table/table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "algorithms/registry.hpp"
#include "nic/encode/image.hpp"
#include "nic/table/relative.hpp"
#include "table_runner.hpp"
#include "topologies/error.hpp"
#include "topologies/families.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::compile_tables;
using nic::Opcode;
using nic::Tables;
using test::Buffers;
using test::Issue;

Buffers inputs(const Tables& tables) {
  Buffers buffers(tables.ranks, std::vector<std::uint64_t>(tables.elements));
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    for (std::uint64_t i = 0; i < tables.elements; ++i) buffers[r][i] = 1 + i * 1000 + 7 * r * r;
  }
  return buffers;
}

void expect_all_reduce(const Tables& tables, Issue issue, std::uint64_t seed) {
  Buffers buffers = inputs(tables);
  std::vector<std::uint64_t> sums(tables.elements, 0);
  for (const auto& buffer : buffers) {
    for (std::uint64_t i = 0; i < tables.elements; ++i) sums[i] += buffer[i];
  }
  ASSERT_TRUE(test::run_tables(tables, issue, seed, buffers)) << "something waits for ever";
  for (const auto& buffer : buffers) ASSERT_EQ(buffer, sums);
}

class TablesOf : public testing::TestWithParam<const char*> {};

TEST_P(TablesOf, AddUpInLockstepAndInAnyOrder) {
  const Topology topology = make_topology(GetParam());
  for (const char* algorithm : {"multitree", "ring", "forest", "allreduce-optimal",
                                "allreduce-optimal?form=trees&segments=3", "double-binary-tree"}) {
    SCOPED_TRACE(algorithm);
    const Schedule schedule = make_schedule(algorithm, topology);
    for (const std::uint64_t shard : {0U, 1U, 5U}) {
      const Tables tables =
          compile_tables(schedule, topology, {.elements = shard * schedule.ranks});
      expect_all_reduce(tables, Issue::Lockstep, 1);
      for (const std::uint64_t seed : {2U, 3U}) {
        expect_all_reduce(tables, Issue::AsSoonAsPossible, seed);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, TablesOf,
                         testing::Values("mesh:1", "ring:2", "mesh:2x2", "torus:4x4", "mesh:3x5",
                                         "torus:4x4?without=0-1", "star:5", "fattree:4x4",
                                         "torus:4x4?bw=2GB/s,1GB/s", "bigraph:2x4"));

// The worked example of the paper (Figs. 3 and 5): three Reduce and three Gather messages a node.
TEST(Table, OfA2x2MeshHasTheEntriesOfThePaper) {
  const Topology topology = make_topology("mesh:2x2");
  const Tables tables =
      compile_tables(make_schedule("multitree", topology), topology, {.elements = 4});
  EXPECT_EQ(tables.steps, 4U);
  std::size_t reductions = 0, all = 0;
  for (const auto& entries : tables.of_rank) {
    for (const nic::Entry& entry : entries) reductions += entry.op == Opcode::Reduce ? 1 : 0;
    all += entries.size();
  }
  EXPECT_EQ(reductions, 12U);
  EXPECT_EQ(all, 24U);
}

TEST(Table, NopsFillTheStepsWithoutMessages) {
  const Topology topology = make_topology("mesh:8x8");
  const Schedule schedule = make_schedule("multitree", topology);
  const Tables dense = compile_tables(schedule, topology, {.elements = 64, .nops = true}),
               sparse = compile_tables(schedule, topology, {.elements = 64});
  bool any = false;
  for (std::uint32_t r = 0; r < 64; ++r) {
    std::vector<bool> covered(dense.steps, false);
    std::vector<nic::Entry> messages;
    for (const nic::Entry& entry : dense.of_rank[r]) {
      covered[entry.step] = true;
      any = any || entry.op == Opcode::Nop;
      if (entry.op != Opcode::Nop) messages.push_back(entry);
    }
    EXPECT_EQ(std::accumulate(covered.begin(), covered.end(), 0U), dense.steps);
    EXPECT_EQ(messages, sparse.of_rank[r]);
  }
  EXPECT_TRUE(any);
}

TEST(Table, ServesPhasesAlone) {
  const Topology topology = make_topology("torus:4x4");
  for (const Collective collective : {Collective::AllGather, Collective::Broadcast}) {
    const Schedule schedule = make_schedule("multitree", topology, collective, Rank{3});
    const Tables tables = compile_tables(schedule, topology, {.elements = 32});
    Buffers buffers = inputs(tables);
    const auto ranges = chunk_ranges(schedule, 32);
    std::vector<std::uint64_t> expected(32);
    for (std::size_t c = 0; c < ranges.size(); ++c) {
      const auto& from = buffers[index(schedule.chunks[c].root())];
      for (std::uint64_t i = ranges[c].begin; i < ranges[c].begin + ranges[c].count; ++i) {
        expected[i] = from[i];
      }
    }
    ASSERT_TRUE(test::run_tables(tables, Issue::AsSoonAsPossible, 4, buffers));
    for (const auto& buffer : buffers) EXPECT_EQ(buffer, expected);
  }
}

// Translated to every rank, the one table is what the written-out schedule compiles to.
TEST(RelativeTable, ExpandsToTheTablesOfAllRanks) {
  for (const auto& [spec, chunks] :
       {std::pair("torus:4x4", 1U), std::pair("torus:3x5", 1U), std::pair("torus:2x3x4", 2U),
        std::pair("hypercube:4", 1U), std::pair("star-graph:4", 1U), std::pair("ring:5", 2U)}) {
    for (const Collective collective : {Collective::AllReduce, Collective::AllGather}) {
      for (const bool nops : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", spec, chunks, to_string(collective)));
        const Topology topology = make_topology(spec);
        const auto graph = cayley_graph(Spec::parse(spec), 1000);
        ASSERT_TRUE(graph.has_value());
        const Schedule schedule =
            make_schedule(fmt::format("symmetric?chunks={}", chunks), topology, collective);
        const nic::TableOptions options{
            .elements = std::uint64_t{topology.num_ranks()} * chunks * 3, .nops = nops};
        Tables tables = compile_tables(schedule, topology, options);
        const Tables one =
            nic::compile_relative_tables(SymmetricSchedule(*graph, chunks, collective), options);
        ASSERT_EQ(one.of_rank.size(), 1U);
        ASSERT_EQ(one.routes.size(), 1U);
        EXPECT_EQ(one.classes, 1U);
        for (const nic::Entry& entry : one.of_rank.front()) {
          if (entry.op == Opcode::Nop) continue;
          const nic::TableRoute route{
              .peer = entry.peer, .port = entry.port, .hops = {}, .ejection = 0};
          ASSERT_EQ(one.routes.front().at(entry.route), route);
        }
        EXPECT_EQ(one.steps, tables.steps);
        for (std::uint32_t r = 0; r < tables.ranks; ++r) {
          std::vector<nic::Entry> expanded = nic::entries_of(one, *graph, Rank{r});
          // Ports are links of the topology here, generators there; turns of one step follow them.
          for (auto* entries : {&expanded, &tables.of_rank[r]}) {
            for (nic::Entry& entry : *entries) entry.port = entry.route = entry.turn = 0;
          }
          ASSERT_EQ(expanded, tables.of_rank[r]) << "rank " << r;
        }
        EXPECT_EQ(nic::read_image(nic::write_image(one), "x"), one);
      }
    }
  }
}

TEST(RelativeTable, RefusesUnevenChunks) {
  const SymmetricSchedule schedule(CayleyGraph::torus({4, 4}));
  EXPECT_THROW(static_cast<void>(nic::compile_relative_tables(schedule, {.elements = 17})), Error);
}

// Mutations: what the runner catches.
TEST(Table, ABrokenTableGivesAWrongSumOrNone) {
  const Topology topology = make_topology("torus:4x4");
  const Schedule schedule = make_schedule("multitree", topology);
  const Tables good = compile_tables(schedule, topology, {.elements = 16});
  const auto is_right = [&](const Tables& tables) {
    Buffers buffers = inputs(tables), expected = inputs(tables);
    EXPECT_TRUE(test::run_tables(good, Issue::AsSoonAsPossible, 5, expected));
    return test::run_tables(tables, Issue::AsSoonAsPossible, 5, buffers) && buffers == expected;
  };
  EXPECT_TRUE(is_right(good));
  Tables late = good, early = good, astray = good;
  ++late.of_rank[0].back().wait;
  for (auto& entries : early.of_rank) {
    for (nic::Entry& entry : entries) entry.wait = 0;
  }
  nic::Entry& entry = astray.of_rank[5].front();
  entry.peer = Rank{(index(entry.peer) + 1) % 16};
  EXPECT_FALSE(is_right(late));
  EXPECT_FALSE(is_right(early));
  EXPECT_FALSE(is_right(astray));
}

// Ranks that swap sums would add what they have already overwritten, without `after`.
TEST(Table, ServesExchanges) {
  const Topology topology = make_topology("torus:4x4");
  for (const char* algorithm : {"recursive-doubling", "swing?variant=latency", "ring2d"}) {
    SCOPED_TRACE(algorithm);
    const Schedule schedule = make_schedule(algorithm, topology);
    Tables tables = compile_tables(schedule, topology, {.elements = 32});
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      expect_all_reduce(tables, Issue::Lockstep, seed);
      expect_all_reduce(tables, Issue::AsSoonAsPossible, seed);
    }
    if (std::string_view(algorithm) == "ring2d") continue;
    for (auto& entries : tables.of_rank) {
      for (nic::Entry& entry : entries) entry.after = 0;
    }
    Buffers buffers = inputs(tables);
    const Buffers before = buffers;
    ASSERT_TRUE(test::run_tables(tables, Issue::AsSoonAsPossible, 1, buffers));
    std::uint64_t sum = 0;
    for (const auto& buffer : before) sum += buffer[0];
    EXPECT_NE(buffers[0][0], sum);
  }
}

}  // namespace
}  // namespace multitree
