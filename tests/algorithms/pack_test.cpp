// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Routes and list scheduling.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "algorithms/pack.hpp"
#include "algorithms/routing.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

Schedule header(const Topology& topology, Collective collective = Collective::AllGather) {
  Schedule schedule;
  schedule.collective = collective;
  schedule.ranks = topology.num_ranks();
  schedule.chunks = one_chunk_per_rank(topology.num_ranks());
  return schedule;
}

/// The step of the transfer of `chunk` from `src` to `dst`.
std::uint32_t step_of(const Schedule& schedule, std::uint32_t chunk, std::uint32_t src,
                      std::uint32_t dst) {
  for (const Transfer& t : schedule.transfers) {
    if (t.chunk == chunk && t.src == Rank{src} && t.dst == Rank{dst}) return t.step;
  }
  ADD_FAILURE() << "no transfer of chunk " << chunk << " from " << src << " to " << dst;
  return 0;
}

TEST(Router, MeasuresInLinks) {
  const Topology topology = make_topology("mesh:4x4");
  Router router(topology);
  EXPECT_EQ(router.distance(NodeId{0}, NodeId{15}), 6U);
  EXPECT_EQ(router.distance(NodeId{5}, NodeId{5}), 0U);
}

TEST(Router, FindsOnlyShortestRoutesOverUsableLinks) {
  const Topology topology = make_topology("mesh:3x3");
  Router router(topology);
  std::vector<LinkId> route;
  std::set<LinkId> blocked;
  const auto usable = [&](LinkId link) { return !blocked.contains(link); };
  // The six monotone ways from corner to corner: block the middle of each that is found.
  std::set<std::vector<LinkId>> found;
  while (router.find(NodeId{0}, NodeId{8}, usable, route)) {
    ASSERT_EQ(route.size(), 4U);
    NodeId at{0};
    for (const LinkId link : route) {
      EXPECT_EQ(topology.link(link).src, at);
      EXPECT_TRUE(usable(link));
      at = topology.link(link).dst;
    }
    EXPECT_EQ(at, NodeId{8});
    EXPECT_TRUE(found.insert(route).second);
    blocked.insert(route[1]);
  }
  EXPECT_EQ(found.size(), 4U);  // one for each link between the first and the second diagonal
}

TEST(Router, ReportsUnreachableNodes) {
  TopologyBuilder builder("sink");
  const NodeId rank = builder.add_endpoint(), sink = builder.add_switch("sink");
  builder.add_link(rank, sink, {1}, {});
  const Topology topology = std::move(builder).build();
  Router router(topology);
  std::vector<LinkId> route;
  EXPECT_EQ(router.distance(sink, rank), Router::kUnreachable);
  EXPECT_FALSE(router.find(
      sink, rank, [](LinkId) { return true; }, route));
}

TEST(Pack, SendsAfterReceiving) {
  const Topology topology = make_topology("mesh:4");
  const std::vector<Message> messages = {{Op::Copy, 0, Rank{0}, Rank{1}},
                                         {Op::Copy, 0, Rank{1}, Rank{2}},
                                         {Op::Copy, 0, Rank{2}, Rank{3}}};
  const Schedule schedule = pack(header(topology), messages, topology);
  EXPECT_EQ(step_of(schedule, 0, 0, 1), 0U);
  EXPECT_EQ(step_of(schedule, 0, 1, 2), 1U);
  EXPECT_EQ(step_of(schedule, 0, 2, 3), 2U);
}

TEST(Pack, FillsEarlierStepsThatAreStillFree) {
  const Topology topology = make_topology("mesh:2");
  std::vector<Message> messages;
  for (std::uint32_t chunk = 0; chunk < 2; ++chunk) {
    messages.push_back({Op::Reduce, chunk, Rank{0}, Rank{1}});
  }
  messages.push_back({Op::Copy, 0, Rank{1}, Rank{0}});
  const Schedule schedule = pack(header(topology, Collective::AllReduce), messages, topology);
  EXPECT_EQ(step_of(schedule, 0, 0, 1), 0U);
  EXPECT_EQ(step_of(schedule, 1, 0, 1), 1U);
  EXPECT_EQ(step_of(schedule, 0, 1, 0), 1U);
}

TEST(Pack, ReducesOnlyWhenTheOldValueWasSent) {
  const Topology topology = make_topology("ring:3");
  // Rank 1 sends chunk 0 twice over one link, then receives into it: not before the second sending,
  // but in the same step.
  const std::vector<Message> messages = {{Op::Reduce, 0, Rank{1}, Rank{2}},
                                         {Op::Reduce, 0, Rank{1}, Rank{2}},
                                         {Op::Reduce, 0, Rank{0}, Rank{1}}};
  const Schedule schedule = pack(header(topology, Collective::AllReduce), messages, topology);
  EXPECT_EQ(step_of(schedule, 0, 0, 1), 1U);
}

TEST(Pack, LetsReductionsShareAStepAndCopiesNot) {
  const Topology topology = make_topology("ring:3");
  const Schedule reduced = pack(
      header(topology, Collective::AllReduce),
      std::vector<Message>{{Op::Reduce, 0, Rank{1}, Rank{0}}, {Op::Reduce, 0, Rank{2}, Rank{0}}},
      topology);
  EXPECT_EQ(reduced.num_steps(), 1U);
  for (const auto& [first, second] :
       {std::pair(Op::Reduce, Op::Copy), std::pair(Op::Copy, Op::Reduce),
        std::pair(Op::Copy, Op::Copy)}) {
    const Schedule schedule =
        pack(header(topology, Collective::AllReduce),
             std::vector<Message>{{first, 0, Rank{1}, Rank{0}}, {second, 0, Rank{2}, Rank{0}}},
             topology);
    EXPECT_EQ(step_of(schedule, 0, 1, 0), 0U);
    EXPECT_EQ(step_of(schedule, 0, 2, 0), 1U);
  }
}

Message swap_of(std::uint32_t chunk, std::uint32_t a, std::uint32_t b) {
  return {Op::Reduce, chunk, Rank{a}, Rank{b}, true};
}

TEST(Pack, SwapsBothWaysInOneStep) {
  const Topology topology = make_topology("hypercube:2");
  Schedule start = header(topology, Collective::AllReduce);
  start.chunks.resize(1);
  const Schedule schedule = pack(
      start, std::vector{swap_of(0, 0, 1), swap_of(0, 2, 3), swap_of(0, 0, 2), swap_of(0, 1, 3)},
      topology);
  EXPECT_TRUE(verify(schedule, topology).ok());
  EXPECT_EQ(schedule.transfers.size(), 8U);
  EXPECT_EQ(schedule.num_steps(), 2U);
}

TEST(Pack, DelaysBothWaysOfASwapWhenOneIsBlocked) {
  const Topology topology = make_topology("mesh:3");
  // One way between ranks 0 and 1 is taken in steps 0 and 1.
  const std::vector<Message> messages = {
      {Op::Reduce, 1, Rank{1}, Rank{0}}, {Op::Reduce, 2, Rank{1}, Rank{0}}, swap_of(0, 0, 2)};
  const Schedule schedule = pack(header(topology, Collective::AllReduce), messages, topology);
  EXPECT_EQ(step_of(schedule, 0, 0, 2), 2U);
  EXPECT_EQ(step_of(schedule, 0, 2, 0), 2U);
  EXPECT_FALSE(verify(schedule, topology).has(ViolationKind::LinkConflict));
}

/// Ranks 0 and 1 reach each other over the one link x->y, which carries `slots` transfers a step.
Schedule swapped_over_one_link(std::uint64_t slots) {
  TopologyBuilder builder("bottleneck");
  const NodeId a = builder.add_endpoint(), b = builder.add_endpoint();
  const NodeId x = builder.add_switch("x"), y = builder.add_switch("y");
  for (const NodeId rank : {a, b}) {
    builder.add_link(rank, x, {1000}, {});
    builder.add_link(y, rank, {1000}, {});
  }
  builder.add_link(x, y, {1000 * slots}, {});
  const Topology topology = std::move(builder).build();
  Schedule start = header(topology, Collective::AllReduce);
  start.chunks.resize(1);
  Schedule schedule = pack(start, std::vector{swap_of(0, 0, 1)}, topology);
  EXPECT_TRUE(verify(schedule, topology).ok());
  return schedule;
}

TEST(Pack, CopiesTheSumBackWhereASwapHasNoRoom) {
  const Schedule one = swapped_over_one_link(1);
  ASSERT_EQ(one.transfers.size(), 2U);
  EXPECT_EQ(one.transfers[0].op, Op::Reduce);
  EXPECT_EQ(one.transfers[1].op, Op::Copy);
  EXPECT_EQ(one.num_steps(), 2U);
  const Schedule two = swapped_over_one_link(2);
  EXPECT_EQ(two.transfers[1].op, Op::Reduce);
  EXPECT_EQ(two.num_steps(), 1U);
}

TEST(Pack, RefusesASwapOfCopies) {
  const Topology topology = make_topology("mesh:2");
  const std::vector<Message> messages = {{Op::Copy, 0, Rank{0}, Rank{1}, true}};
  EXPECT_THROW(pack(header(topology), messages, topology), Error);
}

TEST(Pack, UsesAllSlotsOfAFastLinkAndNoMore) {
  const Topology topology = make_topology("torus:4x2?bw=75GB/s,25GB/s");
  std::vector<Message> messages;
  for (std::uint32_t chunk = 0; chunk < 7; ++chunk) {
    messages.push_back({Op::Reduce, chunk, Rank{0}, Rank{1}});
  }
  const Schedule schedule = pack(header(topology, Collective::AllReduce), messages, topology);
  EXPECT_EQ(schedule.num_steps(), 3U);  // 3 + 3 + 1
  EXPECT_FALSE(verify(schedule, topology).has(ViolationKind::LinkConflict));
}

TEST(Pack, TakesAnotherShortestRouteBeforeItWaits) {
  const Topology topology = make_topology("mesh:2x2");
  const std::vector<Message> messages = {{Op::Reduce, 0, Rank{0}, Rank{3}},
                                         {Op::Reduce, 1, Rank{0}, Rank{3}},
                                         {Op::Reduce, 2, Rank{0}, Rank{3}}};
  const Schedule schedule = pack(header(topology, Collective::AllReduce), messages, topology);
  EXPECT_EQ(schedule.num_steps(), 2U);  // two routes of two links
  for (const Transfer& t : schedule.transfers) EXPECT_EQ(t.route_size, 2U);
}

TEST(Pack, ManyMessagesOverOneLinkStayInOrder) {
  const Topology topology = make_topology("ring:2");
  Schedule start = header(topology, Collective::AllReduce);
  start.chunks.assign(5000, {});
  std::vector<Message> messages;
  for (std::uint32_t chunk = 0; chunk < 5000; ++chunk) {
    messages.push_back({Op::Reduce, chunk, Rank{0}, Rank{1}});
  }
  const Schedule schedule = pack(start, messages, topology);
  for (std::uint32_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(schedule.transfers[i].step, i);
    EXPECT_EQ(schedule.transfers[i].chunk, i);
  }
}

}  // namespace
}  // namespace multitree
