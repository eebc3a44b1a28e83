// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The verifier on broken schedules: each rule has a schedule that breaks just that one.
#include "algorithms/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

class Verify : public testing::Test {
 protected:
  Transfer& first(Op op) {
    const auto found = std::ranges::find(schedule.transfers, op, &Transfer::op);
    return *found;
  }
  VerifyReport report() const { return verify(schedule, topology, {.max_violations = 1000}); }

  Topology topology = make_topology("torus:3x3");
  Schedule schedule = make_schedule("multitree", topology);
};

TEST_F(Verify, AcceptsWhatIsRight) {
  const VerifyReport good = report();
  EXPECT_TRUE(good.ok());
  EXPECT_TRUE(good.violations.empty());
}

TEST_F(Verify, RefusesAnotherRankCount) {
  EXPECT_TRUE(verify(schedule, make_topology("torus:2x2")).has(ViolationKind::BadHeader));
}

TEST_F(Verify, RefusesOwnersRootsAndWeightsOutOfRange) {
  Schedule broken = schedule;
  broken.root = Rank{9};
  EXPECT_TRUE(verify(broken, topology).has(ViolationKind::BadHeader));
  broken = schedule;
  broken.chunks[4].set_root(Rank{77});
  EXPECT_TRUE(verify(broken, topology).has(ViolationKind::BadHeader));
  broken = schedule;
  broken.chunks[4].weight = 0;
  EXPECT_TRUE(verify(broken, topology).has(ViolationKind::BadHeader));
  broken = schedule;
  broken.chunks[4].weight = kMaxWeights;
  EXPECT_TRUE(verify(broken, topology).has(ViolationKind::BadHeader));
  broken.chunks[4].weight -= broken.chunks.size() - 1;
  EXPECT_TRUE(verify(broken, topology).ok());
  broken = schedule;
  broken.chunks.clear();
  EXPECT_TRUE(verify(broken, topology).has(ViolationKind::BadHeader));
}

TEST_F(Verify, RefusesAReduceScatterThatLeavesARankWithoutAShard) {
  Schedule scatter = make_schedule("multitree", topology, Collective::ReduceScatter);
  scatter.chunks[3].set_root(Rank{4});
  EXPECT_TRUE(verify(scatter, topology).has(ViolationKind::BadHeader));
}

TEST_F(Verify, RefusesABroadcastOfChunksThatTheRootDoesNotOwn) {
  Schedule broadcast = make_schedule("ring", topology, Collective::Broadcast, Rank{2});
  broadcast.chunks[0].set_root(Rank{4});
  EXPECT_TRUE(verify(broadcast, topology).has(ViolationKind::BadHeader));
}

TEST_F(Verify, RefusesChunksWhoseEndsDoNotFitTheCollective) {
  Schedule gather = make_schedule("ring", topology, Collective::Gather, Rank{2});
  EXPECT_TRUE(verify(gather, topology).ok());
  gather.chunks[0].target = Rank{4};  // not the root
  EXPECT_TRUE(verify(gather, topology).has(ViolationKind::BadHeader));
  Schedule scatter = make_schedule("ring", topology, Collective::Scatter, Rank{2});
  EXPECT_TRUE(verify(scatter, topology).ok());
  scatter.chunks[0].source = Rank{4};
  EXPECT_TRUE(verify(scatter, topology).has(ViolationKind::BadHeader));
  Schedule all_gather = make_schedule("ring", topology, Collective::AllGather);
  all_gather.chunks[1].target = Rank{2};  // everybody wants it: there is no other end
  EXPECT_TRUE(verify(all_gather, topology).has(ViolationKind::BadHeader));
}

TEST_F(Verify, NamesWhatAGatherOrScatterLacks) {
  Schedule gather = make_schedule("multitree", topology, Collective::Gather, Rank{2});
  gather.transfers.pop_back();
  EXPECT_TRUE(verify(gather, topology).has(ViolationKind::MissingChunk));
  Schedule scatter = make_schedule("multitree", topology, Collective::Scatter, Rank{2});
  scatter.transfers.erase(scatter.transfers.begin());
  EXPECT_FALSE(verify(scatter, topology).ok());
}

TEST_F(Verify, NamesTheTransferToAMissingRankOrChunk) {
  first(Op::Copy).dst = Rank{9};
  EXPECT_TRUE(report().has(ViolationKind::BadTransfer));
  first(Op::Reduce).chunk = 1000;
  EXPECT_GE(report().total_violations, 2U);
}

TEST_F(Verify, NamesATransferToItself) {
  first(Op::Copy).dst = first(Op::Copy).src;
  EXPECT_TRUE(report().has(ViolationKind::BadTransfer));
}

TEST_F(Verify, NamesATransferOutOfStepOrder) {
  schedule.transfers.back().step = 0;
  EXPECT_TRUE(report().has(ViolationKind::BadTransfer));
}

TEST_F(Verify, NamesALinkThatDoesNotExist) {
  schedule.routes[first(Op::Copy).route_begin] = LinkId{9999};
  EXPECT_TRUE(report().has(ViolationKind::BadRoute));
}

TEST_F(Verify, NamesARouteOutsideThePool) {
  first(Op::Copy).route_begin = static_cast<std::uint32_t>(schedule.routes.size());
  EXPECT_TRUE(report().has(ViolationKind::BadRoute));
}

TEST_F(Verify, NamesARouteThatDoesNotConnect) {
  Transfer& transfer = first(Op::Copy);
  LinkId& link = schedule.routes[transfer.route_begin];
  link = topology.out_links(topology.link(link).dst)[0];
  const VerifyReport broken = report();
  ASSERT_TRUE(broken.has(ViolationKind::BadRoute));
  const auto violation =
      std::ranges::find(broken.violations, ViolationKind::BadRoute, &Violation::kind);
  EXPECT_EQ(violation->step, transfer.step);
  EXPECT_EQ(violation->chunk, transfer.chunk);
  EXPECT_EQ(violation->src, transfer.src);
  EXPECT_EQ(violation->link, link);
}

TEST_F(Verify, NamesAnOverloadedLinkAndTheStep) {
  // The ring sends over every link of the ring once a step; the second chunk follows a step later.
  schedule = make_schedule("ring", topology, Collective::AllGather);
  for (Transfer& transfer : schedule.transfers) transfer.step /= 2;
  schedule.canonicalize();
  const VerifyReport broken = report();
  ASSERT_TRUE(broken.has(ViolationKind::LinkConflict));
  const auto violation =
      std::ranges::find(broken.violations, ViolationKind::LinkConflict, &Violation::kind);
  EXPECT_TRUE(violation->step && violation->link && violation->chunk && violation->src &&
              violation->dst);
  EXPECT_NE(violation->message.find("carries 2 transfers in this step, has room for 1"),
            std::string::npos)
      << violation->message;
}

TEST_F(Verify, AllowsAFastLinkAsManyTransfersAsItHasSlots) {
  TopologyBuilder builder("fast and slow");
  const NodeId a = builder.add_endpoint(), b = builder.add_endpoint();
  builder.add_link(a, b, Bandwidth{3'000'000'000}, Time{0});
  builder.add_link(b, a, Bandwidth{1'000'000'000}, Time{0});
  const Topology pair = std::move(builder).build();
  Schedule broadcast;
  broadcast.collective = Collective::Broadcast;
  broadcast.ranks = 2;
  const LinkId link{0};
  for (std::uint32_t c = 0; c < 4; ++c) {
    broadcast.chunks.push_back(Chunk::rooted(Rank{0}, 0, 1));
    broadcast.add(0, Op::Copy, c, Rank{0}, Rank{1}, {&link, 1});
  }
  EXPECT_TRUE(verify(broadcast, pair).has(ViolationKind::LinkConflict));
  broadcast.transfers.back().step = 1;
  EXPECT_TRUE(verify(broadcast, pair).ok());
}

TEST_F(Verify, CatchesADroppedCopy) {
  schedule.transfers.pop_back();
  EXPECT_TRUE(report().has(ViolationKind::MissingContribution));
  Schedule gather = make_schedule("multitree", topology, Collective::AllGather);
  gather.transfers.pop_back();
  EXPECT_TRUE(verify(gather, topology).has(ViolationKind::MissingChunk));
}

TEST_F(Verify, CatchesADroppedReduce) {
  schedule.transfers.erase(schedule.transfers.begin());
  const VerifyReport broken = report();
  EXPECT_TRUE(broken.has(ViolationKind::MissingContribution));
  EXPECT_FALSE(broken.has(ViolationKind::DoubleCount));
}

TEST_F(Verify, CatchesAContributionCountedTwice) {
  // The same partial sum once more, in a step of its own at the very beginning.
  for (Transfer& transfer : schedule.transfers) ++transfer.step;
  Transfer again = schedule.transfers.front();
  again.step = 0;
  schedule.transfers.insert(schedule.transfers.begin(), again);
  const VerifyReport broken = report();
  EXPECT_TRUE(broken.has(ViolationKind::DoubleCount));
  const auto violation =
      std::ranges::find(broken.violations, ViolationKind::DoubleCount, &Violation::kind);
  EXPECT_EQ(violation->src, again.src);
  EXPECT_EQ(violation->chunk, again.chunk);
}

TEST_F(Verify, CountsBeyondTheSaturationOfACounterAreStillWrong) {
  // 2^10 times the same contribution: doubling between two ranks ten times.
  const Topology pair = make_topology("ring:2");
  Schedule doubling;
  doubling.ranks = 2;
  doubling.chunks = {Chunk::rooted(Rank{0}, 0, 1)};
  for (std::uint32_t step = 0; step < 10; ++step) {
    for (const std::uint32_t r : {0U, 1U}) {
      const LinkId link = pair.out_links(pair.node_of(Rank{r}))[0];
      doubling.add(step, Op::Reduce, 0, Rank{r}, Rank{1 - r}, {&link, 1});
    }
  }
  doubling.canonicalize();
  const VerifyReport broken = verify(doubling, pair);
  EXPECT_EQ(broken.total_violations, 4U);
  EXPECT_TRUE(broken.has(ViolationKind::DoubleCount));
}

TEST_F(Verify, ASwapInOneStepReadsTheOldValues) {
  const Topology pair = make_topology("ring:2");
  Schedule swap;
  swap.ranks = 2;
  swap.chunks = {Chunk::rooted(Rank{0}, 0, 1)};
  for (const std::uint32_t r : {0U, 1U}) {
    const LinkId link = pair.out_links(pair.node_of(Rank{r}))[0];
    swap.add(0, Op::Reduce, 0, Rank{r}, Rank{1 - r}, {&link, 1});
  }
  EXPECT_TRUE(verify(swap, pair).ok());
}

TEST_F(Verify, CatchesSendingWhatIsNotThereYet) {
  Schedule gather = make_schedule("ring", topology, Collective::AllGather);
  std::ranges::reverse(gather.transfers);
  const std::uint32_t last = gather.transfers.front().step;
  for (Transfer& transfer : gather.transfers) transfer.step = last - transfer.step;
  EXPECT_TRUE(verify(gather, topology).has(ViolationKind::MissingData));
}

TEST_F(Verify, CatchesReducingIntoNothing) {
  Schedule gather = make_schedule("multitree", topology, Collective::AllGather);
  gather.transfers.front().op = Op::Reduce;
  EXPECT_TRUE(verify(gather, topology).has(ViolationKind::MissingData));
}

TEST_F(Verify, CatchesTwoWritesInOneStep) {
  Schedule gather = make_schedule("multitree", topology, Collective::AllGather);
  gather.transfers.push_back(gather.transfers.back());
  EXPECT_TRUE(verify(gather, topology).has(ViolationKind::WriteConflict));
}

TEST_F(Verify, CountsAllViolationsButKeepsTheFirst) {
  schedule.transfers.clear();
  const VerifyReport broken = verify(schedule, topology, {.max_violations = 3});
  EXPECT_EQ(broken.violations.size(), 3U);
  EXPECT_EQ(broken.total_violations, 9U * 9U * 8U);  // chunks x ranks x missing contributors
}

}  // namespace
}  // namespace multitree
