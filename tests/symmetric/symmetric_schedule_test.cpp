// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Implicit schedules against explicit ones, transfer by transfer, and the checker on broken trees.
#include "algorithms/symmetric/symmetric_schedule.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "algorithms/symmetric/cayley_network.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// An implicit schedule written out, owner by owner.
Schedule written_out(const SymmetricSchedule& implicit, const CayleyNetwork& network) {
  Schedule schedule;
  schedule.collective = implicit.collective();
  schedule.ranks = implicit.graph().size();
  for (std::uint32_t c = 0; c < schedule.ranks * implicit.chunks(); ++c) {
    schedule.chunks.push_back(Chunk::rooted(Rank{c / implicit.chunks()}, c, 1));
  }
  for (std::uint32_t step = 0; step < implicit.num_steps(); ++step) {
    for (std::uint32_t owner = 0; owner < schedule.ranks; ++owner) {
      for (const SymmetricTransfer& t : implicit.transfers_of_owner(Rank{owner}, step)) {
        const LinkId link = network.link(index(t.src), t.generator);
        schedule.add(t.step, t.op, t.chunk, t.src, t.dst, {&link, 1});
      }
    }
  }
  return schedule;
}

struct Case {
  const char* spec;
  std::uint32_t chunks;
};

class Implicit : public testing::TestWithParam<Case> {
 protected:
  CayleyNetwork network() const {
    std::string reason;
    auto found = find_cayley_network(topology, reason);
    EXPECT_TRUE(found) << reason;
    return std::move(*found);
  }
  Topology topology = make_topology(GetParam().spec);
};

constexpr Collective kCollectives[] = {Collective::AllGather, Collective::ReduceScatter,
                                       Collective::AllReduce};

TEST_P(Implicit, IsTheExplicitSchedule) {
  for (const Collective collective : kCollectives) {
    SCOPED_TRACE(to_string(collective));
    const SymmetricSchedule implicit(network().graph, GetParam().chunks, collective);
    Schedule schedule = written_out(implicit, network());
    EXPECT_TRUE(verify(schedule, topology, {.replay_always = true}).ok());
    schedule.algorithm = fmt::format("symmetric?chunks={}", GetParam().chunks);
    const Schedule explicit_one = make_schedule(schedule.algorithm, topology, collective);
    EXPECT_EQ(explicit_one.num_steps(), implicit.num_steps());
    // Reversal pairs parallel links in its own way.
    if (std::string(GetParam().spec).find("double") == std::string::npos) {
      Schedule canonical = schedule;
      canonical.canonicalize();
      EXPECT_EQ(canonical, schedule) << "transfers_of_owner() is not in canonical order";
      EXPECT_EQ(schedule, explicit_one);
    }
  }
}

TEST_P(Implicit, TellsARankWhatItSendsAndReceives) {
  for (const Collective collective : kCollectives) {
    const SymmetricSchedule implicit(network().graph, GetParam().chunks, collective);
    for (std::uint32_t step = 0; step < implicit.num_steps(); ++step) {
      std::vector<std::vector<SymmetricTransfer>> expected(topology.num_ranks());
      for (std::uint32_t owner = 0; owner < topology.num_ranks(); ++owner) {
        for (const SymmetricTransfer& t : implicit.transfers_of_owner(Rank{owner}, step)) {
          expected[index(t.src)].push_back(t);
          expected[index(t.dst)].push_back(t);
        }
      }
      for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
        EXPECT_EQ(implicit.transfers_of_rank(Rank{r}, step), expected[r])
            << "rank " << r << " step " << step;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Implicit,
    testing::Values(Case{"torus:1", 1}, Case{"ring:2", 1}, Case{"ring:2", 3}, Case{"torus:4x3", 1},
                    Case{"torus:4x3", 4}, Case{"torus:4x3", 7}, Case{"torus:2x2x3", 1},
                    Case{"torus:2x3?double=1", 2}, Case{"full:6", 5}, Case{"hypercube:4", 1},
                    Case{"circulant:11?offsets=1,4", 1}, Case{"twisted-torus:4x4?twist=1", 4},
                    Case{"cayley:3x4?generators=1,4,7", 1}, Case{"star-graph:4", 1},
                    Case{"pancake:4", 3}, Case{"bubble-sort:4", 2}),
    [](const auto& c) {
      std::string name = fmt::format("{}_{}", c.param.spec, c.param.chunks);
      std::ranges::replace_if(
          name, [](unsigned char x) { return std::isalnum(x) == 0; }, '_');
      return name;
    });

TEST(SymmetricOption, ChunksAreCountedPerRank) {
  const Topology topology = make_topology("torus:3x3");
  const auto steps = [&](const char* algorithm) {
    return make_schedule(algorithm, topology, Collective::AllGather).num_steps();
  };
  EXPECT_EQ(steps("symmetric"), 2U);
  EXPECT_EQ(steps("symmetric?chunks=degree"), 8U);
  EXPECT_EQ(make_schedule("symmetric?chunks=degree", topology).chunks.size(), 36U);
  EXPECT_EQ(steps("symmetric?chunks=3"), 6U);
  EXPECT_THROW(steps("symmetric?chunks=0"), Error);
  EXPECT_THROW(steps("symmetric?chunks=two"), Error);
  EXPECT_TRUE(
      verify(make_schedule("symmetric?chunks=2", topology, Collective::Reduce, Rank{4}), topology)
          .ok());
}

TEST(SymmetricSchedule, SaysWhatItTakesAndWhatIsLeast) {
  const SymmetricSchedule one(CayleyGraph::torus({4, 4})), four(CayleyGraph::torus({4, 4}), 4);
  EXPECT_EQ(one.num_steps(), 8U);
  EXPECT_EQ(one.bound_steps(), 8U);
  EXPECT_EQ(one.load(), Rational(8));
  EXPECT_EQ(one.load_bound(), Rational(15, 2));
  EXPECT_EQ(four.num_steps(), 30U);
  EXPECT_EQ(four.load(), Rational(15, 2));
  EXPECT_EQ(one.memory(), (16U * 2 + 15 + 5) * sizeof(std::uint32_t));
  EXPECT_EQ(SymmetricSchedule(CayleyGraph::torus({1})).load(), Rational(0));
  EXPECT_THROW(SymmetricSchedule(CayleyGraph::torus({4}), 1, Collective::Broadcast), Error);
}

TEST(SymmetricSchedule, KeepsAFewNumbersARank) {
  const SymmetricSchedule schedule(CayleyGraph::torus({256, 256}));
  EXPECT_EQ(find_fault(schedule.graph(), schedule.tree()).value_or(""), "");
  EXPECT_EQ(schedule.num_steps(), schedule.bound_steps());
  EXPECT_LE(schedule.memory(), 13U * 65536 + 1024);
}

TEST(FindFault, NamesWhatIsBroken) {
  const CayleyGraph graph = CayleyGraph::torus({5, 4});
  const TranslationTree good = make_translation_tree(graph, 2);
  ASSERT_FALSE(find_fault(graph, good));
  const auto fault = [&](const auto& change) {
    TranslationTree broken = good;
    change(broken);
    return find_fault(graph, broken).value_or("");
  };
  using testing::HasSubstr;
  EXPECT_THAT(fault([](auto& t) { t.step.pop_back(); }), HasSubstr("expected 40 elements"));
  EXPECT_THAT(fault([](auto& t) { t.step[7] = t.steps; }), HasSubstr("element 7 joins"));
  EXPECT_THAT(fault([](auto& t) { t.generator[27] = 4; }), HasSubstr("element 27 joins"));
  EXPECT_THAT(fault([](auto& t) { t.step[7] = TranslationTree::kNone; }), HasSubstr("element 7"));
  // Any element but a last one, with the step of another arc of the same generator.
  EXPECT_THAT(fault([](auto& t) {
                for (std::uint32_t e = 1; e < 20; ++e) {
                  for (std::uint32_t other = e + 1; other < 20; ++other) {
                    if (t.generator[e] != t.generator[other]) continue;
                    t.step[e] = t.step[other] = t.steps - 1;
                    return;
                  }
                }
              }),
              testing::AnyOf(HasSubstr("is used 2 times"), HasSubstr("its parent")));
}

/// Every change of one number of a tree is found, unless what it makes is right as well.
TEST(FindFault, IsNeverFooled) {
  const CayleyGraph graph = CayleyGraph::torus({3, 3});
  const TranslationTree good = make_translation_tree(graph);
  std::string reason;
  const auto network = find_cayley_network(make_topology("torus:3x3"), reason);
  ASSERT_TRUE(network);
  for (std::uint32_t e = 1; e < graph.size(); ++e) {
    for (std::uint32_t s = 0; s < graph.degree(); ++s) {
      for (std::uint32_t step = 0; step < good.steps; ++step) {
        TranslationTree changed = good;
        changed.generator[e] = s;
        changed.step[e] = step;
        Schedule schedule;
        schedule.collective = Collective::AllGather;
        schedule.ranks = graph.size();
        schedule.chunks = one_chunk_per_rank(graph.size());
        for (std::uint32_t owner = 0; owner < graph.size(); ++owner) {
          for (std::uint32_t x = 1; x < graph.size(); ++x) {
            const std::uint32_t to = graph.group().multiply(owner, x);
            const std::uint32_t from = graph.apply(to, graph.inverse(changed.generator[x]));
            const LinkId link = network->link(from, changed.generator[x]);
            schedule.add(changed.step[x], Op::Copy, owner, Rank{from}, Rank{to}, {&link, 1});
          }
        }
        schedule.canonicalize();
        EXPECT_EQ(!find_fault(graph, changed),
                  verify(schedule, make_topology("torus:3x3"), {.replay_always = true}).ok());
      }
    }
  }
}

}  // namespace
}  // namespace multitree
