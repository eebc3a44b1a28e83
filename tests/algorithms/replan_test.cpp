// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules after failures: they verify, keep what did not fail, and carry little more than they
/// must.
#include "algorithms/replan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "algorithms/bounds.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "tests/topologies/error_matcher.hpp"
#include "topologies/degrade.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

Schedule make(std::string_view algorithm, const Topology& topology, Collective collective) {
  return generate_schedule(algorithm, topology, collective, Rank{0});
}

/// What must hold of any replanned schedule.
void check(const Replan& result, const Topology& topology, Collective collective) {
  const VerifyReport report = verify(result.schedule, topology);
  ASSERT_TRUE(report.ok()) << report.violations.front().message;
  EXPECT_EQ(result.schedule.collective, collective);
  EXPECT_GE(result.report.load_after, result.report.bound);
  Schedule canonical = result.schedule;
  canonical.canonicalize();
  EXPECT_EQ(canonical, result.schedule);
}

/// `count` dead links between distinct pairs that leave the network connected, as `without=`.
std::string random_failures(const Topology& topology, std::mt19937& random, int count) {
  std::string without;
  for (int tries = 0; count > 0 && tries < 100; ++tries) {
    const Link& link =
        topology.link(LinkId{static_cast<std::uint32_t>(random() % topology.num_links())});
    const std::string more =
        fmt::format("{}{}{}{}", without, without.empty() ? "" : ",", topology.node(link.src).name,
                    "-" + topology.node(link.dst).name);
    try {
      change_network(topology, {.without = more});
    } catch (const Error&) {
      continue;
    }
    without = more;
    --count;
  }
  return without;
}

/// A chunk's arcs: who sends it to whom over which nodes.
using Arcs = std::set<std::tuple<Op, std::string, std::string, std::vector<std::string>>>;
std::vector<Arcs> arcs_of(const Schedule& schedule, const Topology& topology) {
  std::vector<Arcs> arcs(schedule.chunks.size());
  const auto name = [&](NodeId node) { return topology.node(node).name; };
  for (const Transfer& t : schedule.transfers) {
    std::vector<std::string> way;
    for (const LinkId link : schedule.route(t)) way.push_back(name(topology.link(link).dst));
    arcs[t.chunk].emplace(t.op, name(topology.node_of(t.src)), name(topology.node_of(t.dst)), way);
  }
  return arcs;
}

struct Case {
  std::string_view topology, algorithm;
};

class Failures : public testing::TestWithParam<Case> {};

TEST_P(Failures, OfLinksAreRepaired) {
  const Topology whole = make_topology(GetParam().topology);
  std::mt19937 random(11);
  for (const Collective collective : all_collectives()) {
    const Schedule old = make(GetParam().algorithm, whole, collective);
    for (const int count : {1, 2, 4}) {
      const std::string without = random_failures(whole, random, count);
      if (without.empty()) continue;
      SCOPED_TRACE(fmt::format("{} without {}", to_string(collective), without));
      const Topology less = change_network(whole, {.without = without});
      const Replan result = replan(old, whole, less);
      check(result, less, collective);
      EXPECT_EQ(result.schedule, replan(old, whole, less).schedule);
    }
  }
}

TEST_P(Failures, OfRanksAreRepaired) {
  const Topology whole = make_topology(GetParam().topology);
  for (const Collective collective : all_collectives()) {
    const Schedule old = make(GetParam().algorithm, whole, collective);
    for (const std::string_view dead : {"1", "2,5"}) {
      SCOPED_TRACE(fmt::format("{} dead {}", to_string(collective), dead));
      const Topology less = change_network(whole, {.dead = std::string(dead)});
      check(replan(old, whole, less), less, collective);
    }
  }
}

TEST_P(Failures, AndTheirEnd) {
  const Topology whole = make_topology(GetParam().topology);
  const Topology less = change_network(whole, {.dead = "3"});
  if (find_algorithm(GetParam().algorithm).unsupported(less)) return;  // a power of two no more
  for (const Collective collective : {Collective::AllGather, Collective::AllReduce}) {
    const Schedule old = make(GetParam().algorithm, less, collective);
    check(replan(old, less, whole), whole, collective);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Failures,
    testing::Values(Case{"torus:4x4", "multitree"}, Case{"torus:3x3x3", "multitree"},
                    Case{"mesh:4x3", "multitree"}, Case{"hypercube:4", "bine"},
                    Case{"full:7", "multitree"}, Case{"fattree:4x4", "multitree"},
                    Case{"bigraph:2x4", "multitree"}, Case{"dragonfly:4x1x2", "multitree"},
                    Case{"torus:4x4?slow=0-1:0.5", "multitree"},
                    Case{"torus:4x4?parallel=1-2:3", "ring"},
                    Case{"torus:4x4", "double-binary-tree"}, Case{"dgx-a100:2", "ring"}),
    [](const auto& instance) {
      return slug(fmt::format("{}_{}", instance.param.topology, instance.param.algorithm));
    });

TEST(Replan, LeavesTreesAloneThatDidNotFail) {
  const Topology whole = make_topology("torus:6x6"), less = make_topology("torus:6x6?without=7-8");
  for (const Collective collective : {Collective::AllGather, Collective::AllReduce}) {
    const Schedule old = make("multitree", whole, collective);
    const Replan result = replan(old, whole, less);
    const auto before = arcs_of(old, whole), after = arcs_of(result.schedule, less);
    std::uint32_t kept = 0;
    for (std::size_t c = 0; c < before.size(); ++c) {
      bool used = false;
      for (const auto& [op, src, dst, way] : before[c]) {
        used |= (src == "n7" && dst == "n8") || (src == "n8" && dst == "n7");
      }
      // The load was at the new bound before: there was no need to move anything else.
      EXPECT_EQ(before[c] != after[c], used) << c;
      kept += before[c] == after[c] ? 1 : 0;
    }
    EXPECT_GT(kept, 0U);
    EXPECT_LT(kept, before.size());
    EXPECT_EQ(result.report.kept, collective == Collective::AllReduce ? 2 * kept : kept);
  }
}

TEST(Replan, NothingChangedIsTheSameSchedule) {
  // Where the load is the least possible; elsewhere the trees are improved.
  for (const Case& each : {Case{"torus:4x4", "symmetric"}, Case{"fattree:4x4", "multitree"},
                           Case{"ring:1", "multitree"}, Case{"ring:2", "multitree"}}) {
    const Topology topology = make_topology(each.topology);
    for (const Collective collective :
         {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter}) {
      const Schedule old = make(each.algorithm, topology, collective);
      const Replan result = replan(old, topology, topology);
      EXPECT_EQ(result.schedule, old);
      EXPECT_EQ(result.report.kept, result.report.trees);
      EXPECT_EQ(result.report.load_before, result.report.load_after);
    }
  }
}

TEST(Replan, ReachesTheNewOptimumOfTori) {
  std::mt19937 random(3);
  for (const std::string_view spec : {"torus:4x4", "torus:6x6", "torus:8x8", "torus:4x4x4"}) {
    const Topology whole = make_topology(spec);
    const Schedule old = make("multitree", whole, Collective::AllGather);
    for (int i = 0; i < 5; ++i) {
      const std::string without = random_failures(whole, random, 1 + i % 2);
      const Topology less = change_network(whole, {.without = without});
      const Replan result = replan(old, whole, less);
      EXPECT_FALSE(result.report.regenerated) << spec << " " << without;
      EXPECT_LE(result.report.ratio(), 1.05) << spec << " " << without;
      const Rational bound = compute_bounds(less).all_gather;
      EXPECT_GE(result.report.load_after, Exact(bound.numerator(), bound.denominator()));
    }
  }
}

TEST(Replan, RoutesAroundDeadSwitches) {
  const Topology whole = make_topology("fattree:4x4"),
                 less = make_topology("fattree:4x4?dead=spine2");
  for (const Collective collective : all_collectives()) {
    const Schedule old = make("multitree", whole, collective);
    check(replan(old, whole, less), less, collective);
  }
}

TEST(Replan, SlowLinksCarryLess) {
  const Topology whole = make_topology("torus:4x4"), less = make_topology("torus:4x4?slow=0-1:0.5");
  const Replan result = replan(make("multitree", whole, Collective::AllGather), whole, less);
  check(result, less, Collective::AllGather);
  EXPECT_LT(result.report.load_after, result.report.load_before * 3 / 2);
}

TEST(Replan, RefusesAScheduleThatDoesNotVerify) {
  const Topology whole = make_topology("torus:4x4"), less = make_topology("torus:4x4?without=0-1");
  Schedule old = make("multitree", whole, Collective::AllReduce);
  old.transfers.erase(old.transfers.begin() + 17);
  EXPECT_THAT(error_of(ErrorCode::InvalidInput, [&] { replan(old, whole, less); }),
              HasSubstr("the old schedule does not verify: "));
}

TEST(Replan, RefusesADeadRoot) {
  const Topology whole = make_topology("torus:4x4"), less = make_topology("torus:4x4?dead=0");
  const Schedule old = make("multitree", whole, Collective::Broadcast);
  EXPECT_THAT(error_of(ErrorCode::InvalidArgument, [&] { replan(old, whole, less); }),
              HasSubstr("the root of the broadcast, rank 0 (n0), is gone"));
}

TEST(Replan, MakesAnewWhatTravelsNoTrees) {
  const Topology whole = make_topology("torus:4x4"), less = make_topology("torus:4x4?without=0-1");
  const Schedule old = make("recursive-doubling", whole, Collective::AllReduce);
  const Replan result = replan(old, whole, less);
  check(result, less, Collective::AllReduce);
  EXPECT_TRUE(result.report.regenerated);
  EXPECT_THAT(result.report.reason, HasSubstr("does not travel along a tree"));
}

TEST(Replan, ChunksThatTravelTogetherStillDo) {
  const Topology whole = make_topology("torus:4x4"), less = make_topology("torus:4x4?without=0-1");
  const Replan result = replan(make("swing?rounds=1", whole, Collective::AllReduce), whole, less);
  EXPECT_FALSE(result.report.regenerated);
  EXPECT_TRUE(result.schedule.coalesces);
}

TEST(Replan, TakesForestWhereTheAlgorithmDoesNotServeWhatIsLeft) {
  const Topology whole = make_topology("torus:4x2"), less = make_topology("torus:4x2?dead=3");
  const Replan result = replan(make("ring2d", whole, Collective::AllReduce), whole, less);
  check(result, less, Collective::AllReduce);
  EXPECT_TRUE(result.report.regenerated);
  EXPECT_THAT(result.schedule.algorithm, HasSubstr("forest"));
}

TEST(Replan, NewNumbersForTreesThatPart) {
  const Topology whole = make_topology("ring:6"), less = make_topology("ring:6?without=2-3");
  const Schedule old = make("double-binary-tree?segments=4", whole, Collective::Broadcast);
  const Replan result = replan(old, whole, less);
  check(result, less, Collective::Broadcast);
  std::map<std::uint32_t, Arcs> by_tree;
  const auto arcs = arcs_of(result.schedule, less);
  for (std::size_t c = 0; c < arcs.size(); ++c) {
    const auto [entry, is_new] = by_tree.emplace(result.schedule.chunks[c].tree, arcs[c]);
    EXPECT_EQ(entry->second, arcs[c]) << c;
  }
}

}  // namespace
}  // namespace multitree
