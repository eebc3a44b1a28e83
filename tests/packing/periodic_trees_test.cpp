// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Periods of trees: places that fit together, times that follow the load, schedules that are
/// right.
#include "algorithms/packing/steps/periodic_trees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "algorithms/cost.hpp"
#include "algorithms/generators/pieces_internal.hpp"
#include "algorithms/packing/trees/spanning_trees.hpp"
#include "algorithms/packing/trees/switched_all_reduce.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/report.hpp"
#include "algorithms/verify.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

const TreeArc& arc_of(const TreePacking& packing, const PeriodicArc& arc) {
  const PackedTree& tree = packing.trees[arc.tree];
  return arc.arc < tree.reduce.size() ? tree.reduce[arc.arc]
                                      : tree.gather[arc.arc - tree.reduce.size()];
}

/// How often a link is used twice in a slot of a period, where all transfers take one.
std::size_t collisions(const Period& period, const TreePacking& packing) {
  std::set<std::pair<LinkId, std::uint64_t>> used;
  std::size_t twice = 0;
  for (const PeriodicArc& arc : period.arcs) {
    for (const LinkId link : packing.route(arc_of(packing, arc))) {
      twice += used.emplace(link, arc.start % period.slots).second ? 0 : 1;
    }
  }
  return twice;
}

/// Each arc comes behind what it waits for.
void expect_in_order(const Period& period, const TreePacking& packing) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, Rank>, std::uint64_t> there;
  for (const PeriodicArc& arc : period.arcs) {
    const TreeArc& one = arc_of(packing, arc);
    const auto known = there.find({arc.tree, arc.copy, one.src});
    if (known != there.end()) {
      EXPECT_GE(arc.start, known->second);
    }
    std::uint64_t& arrival = there[{arc.tree, arc.copy, one.dst}];
    arrival = std::max(arrival, arc.start + 1);
  }
}

/// Slots that the busiest link is busy in a period.
std::uint64_t busiest(const Period& period, const TreePacking& packing) {
  std::map<LinkId, std::uint64_t> busy;
  std::uint64_t most = 0;
  for (const PeriodicArc& arc : period.arcs) {
    for (const LinkId link : packing.route(arc_of(packing, arc)))
      most = std::max(most, ++busy[link]);
  }
  return most;
}

TEST(Period, IsAsLongAsTheBusiestLinkIsBusy) {
  for (const char* spec : {"torus:4x4?ranks=0-5", "mesh:4x4?ranks=0-3,12-15", "torus:4x4?ranks=0-8",
                           "ring:12?ranks=0,1,5,6,9", "mesh:6x6?ranks=0-17"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const TreePacking packing = pack_switched_all_reduce(topology);
    const Period period = find_period(packing, topology);
    ASSERT_FALSE(period.arcs.empty());
    expect_in_order(period, packing);
    EXPECT_EQ(collisions(period, packing), 0U);
    EXPECT_EQ(period.slots, busiest(period, packing));
  }
}

TEST(Period, IsLittleLongerOrCollidesLittleWhereThatIsHard) {
  const Topology topology = make_topology("hypercube:4?ranks=0-10");
  const TreePacking packing = pack_switched_all_reduce(topology);
  const Period period = find_period(packing, topology);
  expect_in_order(period, packing);
  EXPECT_LE(collisions(period, packing), period.arcs.size() / 50);
  const std::uint64_t least = busiest(period, packing);
  EXPECT_GE(least, 48U) << "chunks were repeated until a slot more was little";
  EXPECT_LE(period.slots, least + least / 8);
}

TEST(Period, HasWeightsInProportion) {
  const Topology topology = make_topology("mesh:5x5?ranks=0-24:3");
  const TreePacking packing = pack_switched_all_reduce(topology);
  const Period period = find_period(packing, topology);
  ASSERT_EQ(period.chunks.size(), packing.trees.size());
  double weight = 0, chunks = 0;
  for (std::size_t t = 0; t < packing.trees.size(); ++t) {
    weight += static_cast<double>(packing.trees[t].weight);
    chunks += period.chunks[t];
  }
  for (std::size_t t = 0; t < packing.trees.size(); ++t) {
    EXPECT_GE(period.chunks[t], 1U);
    EXPECT_NEAR(period.chunks[t], static_cast<double>(packing.trees[t].weight) / weight * chunks,
                1.5);
  }
  EXPECT_EQ(period.arcs.size(), arcs_of_period(packing));
}

TEST(Period, IsTheSameEachTime) {
  const Topology topology = make_topology("torus:4x4?ranks=0-8");
  const TreePacking packing = pack_switched_all_reduce(topology);
  const Period one = find_period(packing, topology), other = find_period(packing, topology);
  EXPECT_EQ(one.slots, other.slots);
  EXPECT_TRUE(
      std::ranges::equal(one.arcs, other.arcs, {}, &PeriodicArc::start, &PeriodicArc::start));
}

TEST(PeriodicTrees, AreRightAndTendToTheLoad) {
  for (const char* spec : {"torus:4x4?ranks=0-5", "mesh:4x4?ranks=0-3,12-15", "mesh:3x3"}) {
    const Topology topology = make_topology(spec);
    const TreePacking packing = topology.has_switches() ? pack_switched_all_reduce(topology)
                                                        : pack_spanning_trees(topology, 0);
    const Period period = find_period(packing, topology);
    double before = 0;
    for (const std::uint32_t periods : {1U, 3U, 40U}) {
      SCOPED_TRACE(std::string(spec) + " in " + std::to_string(periods));
      const Schedule schedule = periodic_trees(packing, topology, period, periods);
      EXPECT_TRUE(verify(schedule, topology).ok());
      EXPECT_EQ(schedule.transfers.size(), period.arcs.size() * periods);
      const std::uint64_t bytes = std::uint64_t{1} << 36;  // latencies are nothing
      const double links = seconds_of(load(packing, topology), topology, bytes);
      const double over = predict_time(schedule, topology, bytes).seconds() / links;
      const double ends =
          static_cast<double>(period.arcs.back().start + 1) / static_cast<double>(period.slots);
      EXPECT_LE(over, (periods + ends) / periods * 1.001);
      if (periods > 1) {
        EXPECT_LT(over, before);
      }
      before = over;
    }
    EXPECT_LT(before, 1.2);
  }
}

TEST(PeriodicTrees, ServeLongRoutesOfOneRate) {
  const auto serve = [](const char* spec) {
    const Topology topology = make_topology(spec);
    return serves_periods(pack_switched_all_reduce(topology), topology);
  };
  EXPECT_TRUE(serve("torus:4x4?ranks=0-5"));
  EXPECT_FALSE(serve("torus:4x4?ranks=0-5&slow=0-1:0.5"));
  EXPECT_FALSE(serve("ring:4"));
}

/// What groups get: as list scheduling alone was 1.14 and more above their optimum.
TEST(PeriodicTrees, MakeGroupsAsGoodAsTheirCertificates) {
  const std::uint64_t bytes = std::uint64_t{1} << 30;
  for (const char* spec :
       {"torus:4x4?ranks=0-5", "mesh:4x4?ranks=0-3,12-15", "torus:4x4?ranks=0-8"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const Schedule schedule = make_schedule("allreduce-optimal?size=1GiB&message=1us", topology);
    const double least =
        seconds_of(load(pack_switched_all_reduce(topology), topology), topology, bytes);
    EXPECT_LE(predict_time(schedule, topology, bytes, {kMessageOverhead}).seconds(), 1.03 * least);
  }
}

}  // namespace
}  // namespace multitree
