// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Predicted times against hand calculation.
#include "algorithms/cost.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

LinkId link_between(const Topology& topology, std::uint32_t src, std::uint32_t dst) {
  for (const LinkId id : topology.out_links(topology.node_of(Rank{src}))) {
    if (topology.link(id).dst == topology.node_of(Rank{dst})) return id;
  }
  throw std::logic_error("no such link");
}

/// All-gather on a unidirectional ring.
Schedule ring_all_gather(const Topology& topology) {
  Schedule schedule;
  schedule.collective = Collective::AllGather;
  schedule.ranks = topology.num_ranks();
  schedule.chunks = one_chunk_per_rank(schedule.ranks);
  for (std::uint32_t step = 0; step + 1 < schedule.ranks; ++step) {
    for (std::uint32_t r = 0; r < schedule.ranks; ++r) {
      const std::uint32_t next = (r + 1) % schedule.ranks;
      const LinkId link = link_between(topology, r, next);
      schedule.add(step, Op::Copy, (r + schedule.ranks - step) % schedule.ranks, Rank{r},
                   Rank{next}, {&link, 1});
    }
  }
  schedule.canonicalize();
  return schedule;
}

TEST(Cost, OfARingIsItsStepsTimesAlphaPlusBeta) {
  const Topology topology = make_topology("ring:8?bw=1GB/s&lat=500ns");
  // 7 steps of 1000 bytes at 1 ns/B plus 500 ns each.
  EXPECT_EQ(predict_time(ring_all_gather(topology), topology, 8000).picoseconds,
            7 * (1'000'000 + 500'000));
  EXPECT_EQ(predict_time(ring_all_gather(topology), topology, 0).picoseconds, 7 * 500'000);
}

TEST(Cost, EndsTakeTheirLatencyOnceAMessageAndLinksTheirsOnEach) {
  const Topology topology = make_topology("mesh:4?bw=1GB/s&lat=500ns");
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.ranks = 4;
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 1)};
  const LinkId first = link_between(topology, 0, 1), second = link_between(topology, 1, 2),
               third = link_between(topology, 2, 3);
  schedule.add(0, Op::Copy, 0, Rank{0}, Rank{2}, std::array{first, second});
  schedule.add(1, Op::Copy, 0, Rank{2}, Rank{3}, {&third, 1});
  schedule.canonicalize();
  const CostModel model{.message_latency = Time{20'000'000}};
  EXPECT_EQ(predict_time(schedule, topology, 1000).picoseconds, 2 * 1'000'000 + 3 * 500'000);
  EXPECT_EQ(predict_time(schedule, topology, 1000, model).picoseconds,
            2 * 1'000'000 + 3 * 500'000 + 2 * 20'000'000);
}

/// Two chunks from rank 0 to rank 1, and one to rank 2; then another to rank 1.
TEST(Cost, WhatIsReadyWhileAnotherIsToLeaveLeavesWithIt) {
  const Topology topology = make_topology("full:3?bw=1GB/s&lat=0ns");
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.ranks = 3;
  for (std::uint32_t c = 0; c < 4; ++c) schedule.chunks.push_back(Chunk::rooted(Rank{0}, c, 1));
  const LinkId one = link_between(topology, 0, 1), two = link_between(topology, 0, 2);
  schedule.add(0, Op::Copy, 0, Rank{0}, Rank{1}, {&one, 1});
  schedule.add(0, Op::Copy, 1, Rank{0}, Rank{1}, {&one, 1});
  schedule.add(0, Op::Copy, 2, Rank{0}, Rank{2}, {&two, 1});
  schedule.canonicalize();
  const auto us = [&](std::uint32_t percent) {
    const CostModel model{.message_overhead = Time{10'000'000}, .together_percent = percent};
    return static_cast<double>(predict_time(schedule, topology, 0, model).picoseconds) / 1e6;
  };
  EXPECT_EQ(us(100), 30);
  EXPECT_EQ(us(20), 22);  // one, a fifth, and the one to another rank
  // What waits for something else leaves by itself.
  const LinkId back = link_between(topology, 1, 0);
  schedule.add(1, Op::Copy, 3, Rank{1}, Rank{0}, {&back, 1});
  schedule.add(2, Op::Copy, 3, Rank{0}, Rank{1}, {&one, 1});
  schedule.canonicalize();
  EXPECT_EQ(us(20), 32);
}

/// Rank 0 passes on what it gets from rank 1, and has something of its own to send, which a
/// schedule lists later.
TEST(Cost, WhatIsNotReadyKeepsNothingElseWaiting) {
  const Topology topology = make_topology("full:3?bw=1GB/s&lat=0ns");
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.ranks = 3;
  for (std::uint32_t c = 0; c < 3; ++c) schedule.chunks.push_back(Chunk::rooted(Rank{0}, c, 1));
  const LinkId in = link_between(topology, 1, 0), out = link_between(topology, 0, 2);
  const LinkId back = link_between(topology, 0, 1);
  schedule.add(0, Op::Copy, 0, Rank{1}, Rank{0}, {&in, 1});
  schedule.add(1, Op::Copy, 0, Rank{0}, Rank{2}, {&out, 1});
  schedule.add(2, Op::Copy, 1, Rank{0}, Rank{1}, {&back, 1});
  schedule.canonicalize();
  const auto us = [&] {
    const CostModel model{.message_overhead = Time{10'000'000}};
    return static_cast<double>(predict_time(schedule, topology, 0, model).picoseconds) / 1e6;
  };
  EXPECT_EQ(us(), 20);  // its own leaves while it waits for rank 1's
  schedule.add(2, Op::Copy, 2, Rank{0}, Rank{1}, {&back, 1});
  schedule.canonicalize();
  EXPECT_EQ(us(), 30);  // two do not: one message at a time
}

/// Rank 0 sends to three others, one of which answers.
TEST(Cost, WhatIsReadyWhileItsSenderIsAwakeCostsTheHostLess) {
  const Topology topology = make_topology("full:4?bw=1GB/s&lat=0ns");
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.ranks = 4;
  schedule.chunks.push_back(Chunk::rooted(Rank{0}, 0, 1));
  for (std::uint32_t to = 1; to < 4; ++to) {
    const LinkId link = link_between(topology, 0, to);
    schedule.add(0, Op::Copy, 0, Rank{0}, Rank{to}, {&link, 1});
  }
  schedule.canonicalize();
  const auto us = [&](std::uint32_t percent, const std::vector<Rank>& ranks) {
    const CostModel model{.hosts = {{ranks, Time{10'000'000}, {}, percent}}};
    return static_cast<double>(predict_time(schedule, topology, 0, model).picoseconds) / 1e6;
  };
  const std::vector<Rank> all{Rank{0}, Rank{1}, Rank{2}, Rank{3}};
  EXPECT_EQ(us(100, all), 30);
  EXPECT_EQ(us(40, all), 18);       // the first wakes, two find their sender awake
  EXPECT_EQ(us(40, {Rank{0}}), 9);  // half of a message with one end here
  const LinkId back = link_between(topology, 1, 0);
  schedule.add(1, Op::Copy, 0, Rank{1}, Rank{0}, {&back, 1});
  schedule.canonicalize();
  EXPECT_EQ(us(40, all), 28);
}

TEST(Cost, MessagesOfSeveralChunksCostTheirSenderOne) {
  const Topology topology = make_topology("ring:4?bw=1GB/s&lat=500ns");
  Schedule schedule = make_schedule("swing?rounds=1&parts=one", topology);
  ASSERT_EQ(schedule.coalesces, 131072);
  // Half of 400 bytes, a quarter, and back; chunk by chunk a half is two messages.
  const CostModel model{.message_overhead = Time{1'000'000}};
  const std::int64_t links = 2 * (200'000 + 100'000) + 4 * 500'000;
  EXPECT_EQ(predict_time(schedule, topology, 400, model).picoseconds, links + 4 * 1'000'000);
  schedule.coalesces = 0;
  const Time apart = predict_time(schedule, topology, 400, model);
  EXPECT_GT(apart.picoseconds, links + 4 * 1'000'000);
  // Where messages cost nothing, as in hardware, there is nothing to be saved.
  const Time free = predict_time(schedule, topology, 400);
  schedule.coalesces = 131072;
  EXPECT_EQ(predict_time(schedule, topology, 400), free);
  // Long chunks travel by themselves.
  schedule.coalesces = 0;
  const Time long_ones = predict_time(schedule, topology, 400'000, model);
  schedule.coalesces = 131072;
  EXPECT_EQ(predict_time(schedule, topology, 400'000, model), long_ones);
}

TEST(Cost, WhereSwitchesAddMessagesAreThoseOfSwitches) {
  const Topology topology = make_topology("star:4?switches=add,copy");
  Schedule schedule = make_schedule("in-network", topology);
  ASSERT_TRUE(schedule.in_network);
  const CostModel model{.message_overhead = Time{1'000'000}};
  const Time apart = predict_time(schedule, topology, 4096, model);
  schedule.coalesces = true;
  EXPECT_EQ(predict_time(schedule, topology, 4096, model), apart);
}

/// A vector of rank 0 along `hops` links of its own speed each.
Schedule chain(const Topology& topology, std::uint32_t hops) {
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.ranks = topology.num_ranks();
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 1)};
  for (std::uint32_t hop = 0; hop < hops; ++hop) {
    const LinkId link = link_between(topology, hop, hop + 1);
    schedule.add(hop, Op::Copy, 0, Rank{hop}, Rank{hop + 1}, {&link, 1});
  }
  schedule.canonicalize();
  return schedule;
}

TEST(Cost, SegmentsArePassedOnAtOnce) {
  const Topology topology = make_topology("ring:5?bw=1GB/s&lat=500ns");
  const Schedule schedule = chain(topology, 4);
  const auto ns = [&](std::uint64_t bytes, const CostModel& model) {
    return predict_time(schedule, topology, bytes, model).picoseconds / 1000;
  };
  EXPECT_EQ(ns(8000, {}), 4 * (8000 + 500));
  // Eight segments follow each other: the last is behind the first by seven.
  EXPECT_EQ(ns(8000, {.segment_bytes = 1000}), (8 + 3) * 1000 + 4 * 500);
  EXPECT_EQ(ns(1000, {.segment_bytes = 1000}), 4 * (1000 + 500));
  EXPECT_EQ(ns(0, {.segment_bytes = 1000}), 4 * 500);
  // Each of them is a message of its sender's.
  EXPECT_EQ(ns(8000, {.message_overhead = Time{100'000}, .segment_bytes = 1000}),
            4 * 100 + (8 + 3) * 1000 + 4 * 500);
  // A slow link holds the others up, wherever it is.
  const Topology slow = make_topology("ring:5?bw=1GB/s&lat=500ns&slow=1-2:0.5");
  EXPECT_EQ(predict_time(chain(slow, 4), slow, 8000, {.segment_bytes = 1000}).picoseconds / 1000,
            1000 + 8 * 2000 + 2 * 1000 + 4 * 500);
}

TEST(Cost, ABurstTakesNoTimeAndIsNoGift) {
  const Topology topology = make_topology("ring:5?bw=1GB/s&lat=500ns");
  const auto ns = [&](const Schedule& schedule, std::uint64_t bytes, std::uint64_t burst) {
    return predict_time(schedule, topology, bytes, {.burst_bytes = burst}).picoseconds / 1000;
  };
  const Schedule four = chain(topology, 4);
  EXPECT_EQ(ns(four, 3000, 1000), 4 * (2000 + 500));
  EXPECT_EQ(ns(four, 1000, 1000), 4 * 500);
  // What a link lets through at once it makes up for: nothing is done before all its bytes are.
  EXPECT_EQ(ns(four, 10'000, 10'000), 10'000);
  Schedule twice = chain(topology, 1);
  twice.chunks.push_back(Chunk::rooted(Rank{0}, 0, 1));
  const LinkId link = link_between(topology, 0, 1);
  twice.add(0, Op::Copy, 1, Rank{0}, Rank{1}, {&link, 1});
  twice.canonicalize();
  EXPECT_EQ(ns(twice, 6000, 100), 6000 - 100 + 500);
  EXPECT_EQ(ns(twice, 6000, 1000), 6000);
}

TEST(Cost, PortsOfSwitchesLoseTimeWithEveryFurtherSender) {
  const Topology star = make_topology("star:5?bw=1GB/s&lat=0s");
  const auto us = [](const Schedule& schedule, const Topology& on, std::uint32_t loss) {
    return predict_time(schedule, on, 5'000'000, {.port_loss = loss}).seconds() * 1e6;
  };
  // One sender a port, whatever it is that it sends.
  const Schedule ring = make_schedule("ring", star, Collective::AllGather);
  EXPECT_NEAR(us(ring, star, 0), 4000, 1);
  EXPECT_NEAR(us(ring, star, 10), 4000, 1);
  // Each rank sends to each other: four a port, on the way down only.
  const Schedule each = make_schedule("allreduce-optimal", star, Collective::AllGather);
  EXPECT_NEAR(us(each, star, 0), 4000, 1);
  EXPECT_NEAR(us(each, star, 10), 4000 * 1.03, 1);
  // Links between ranks have one sender in any case.
  const Topology torus = make_topology("torus:3x3?bw=1GB/s&lat=0s");
  const Schedule trees = make_schedule("multitree", torus, Collective::AllGather);
  EXPECT_EQ(us(trees, torus, 0), us(trees, torus, 10));
}

TEST(Cost, PooledLinksCarryForEachOther) {
  const Topology topology = make_topology("ring:4?bw=1GB/s&lat=500ns&parallel=3");
  Schedule schedule = chain(topology, 1);
  const auto ns = [&](const CostModel& model) {
    return predict_time(schedule, topology, 6000, model).picoseconds / 1000;
  };
  EXPECT_EQ(ns({}), 6000 + 500);
  EXPECT_EQ(ns({.pooled = true}), 6000 / 3 + 500);
  schedule.chunks.push_back(Chunk::rooted(Rank{0}, 0, 1));
  const LinkId link = link_between(topology, 0, 1);
  schedule.add(0, Op::Copy, 1, Rank{0}, Rank{1}, {&link, 1});
  schedule.canonicalize();
  EXPECT_EQ(ns({.pooled = true}), 6000 / 3 + 500);
  EXPECT_EQ(ns({.burst_bytes = 1000, .pooled = true}), (6000 - 1000) / 3 + 500);
}

TEST(Cost, ChunksWithoutElementsAreNotSent) {
  const Topology topology = make_topology("torus:4x4?bw=1GB/s&lat=500ns");
  const Schedule schedule = make_schedule("allreduce-optimal?trees=4&segments=1", topology);
  const Schedule one = make_schedule("allreduce-optimal?trees=1&segments=1", topology);
  const auto time = [&](const Schedule& which, std::uint64_t bytes, std::uint32_t element) {
    const CostModel model{.message_overhead = Time{1'000'000}, .element_bytes = element};
    return predict_time(which, topology, bytes, model);
  };
  // Two elements have two trees to go by, and not four.
  EXPECT_LT(time(schedule, 8, 4), time(schedule, 8, 0));
  EXPECT_EQ(time(schedule, 16, 4), time(schedule, 16, 0));
  EXPECT_EQ(time(one, 8, 4), time(one, 8, 0));
}

TEST(Cost, TransfersThatShareALinkQueue) {
  const Topology topology = make_topology("ring:2?bw=1GB/s&lat=1us");
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.ranks = 2;
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 1), Chunk::rooted(Rank{0}, 0, 3)};
  const LinkId link = link_between(topology, 0, 1);
  schedule.add(0, Op::Copy, 0, Rank{0}, Rank{1}, {&link, 1});
  schedule.add(0, Op::Copy, 1, Rank{0}, Rank{1}, {&link, 1});
  schedule.canonicalize();
  // 1000 + 3000 bytes one after the other, then one latency.
  EXPECT_EQ(predict_time(schedule, topology, 4000).picoseconds, 4'000'000 + 1'000'000);
}

TEST(Cost, AStepReadsWhatWasThereBeforeIt) {
  // Both ranks swap the same chunk in one step: neither waits for the other.
  const Topology topology = make_topology("ring:2?bw=1GB/s&lat=1us");
  Schedule schedule;
  schedule.ranks = 2;
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 1)};
  for (const std::uint32_t r : {0U, 1U}) {
    const LinkId link = link_between(topology, r, 1 - r);
    schedule.add(0, Op::Reduce, 0, Rank{r}, Rank{1 - r}, {&link, 1});
  }
  schedule.canonicalize();
  EXPECT_EQ(predict_time(schedule, topology, 1000).picoseconds, 2'000'000);
}

TEST(Cost, SaysWhenATimeIsTooLong) {
  const Topology topology = make_topology("ring:8?bw=1B/s");
  EXPECT_DOUBLE_EQ(predict_time(ring_all_gather(topology), topology, 8000000).seconds(),
                   7e6 + 7 * 150e-9);
  EXPECT_THROW(predict_time(ring_all_gather(topology), topology, 1ULL << 60), Error);
}

TEST(Cost, ARouteIsAsSlowAsItsSlowestLinkAndAddsAllLatencies) {
  TopologyBuilder builder("line");
  const NodeId a = builder.add_endpoint(), b = builder.add_endpoint(), s = builder.add_switch("s");
  builder.add_duplex(a, s, Bandwidth{4'000'000'000}, Time{100'000});
  builder.add_duplex(s, b, Bandwidth{1'000'000'000}, Time{300'000});
  const Topology topology = std::move(builder).build();
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.ranks = 2;
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 1)};
  const std::array route = {LinkId{0}, LinkId{2}};
  schedule.add(0, Op::Copy, 0, Rank{0}, Rank{1}, route);
  EXPECT_EQ(predict_time(schedule, topology, 1000).picoseconds, 1'000'000 + 400'000);
}

/// Rank 0 reaches rank 1 by a slow link and rank 2 by a fast one, both through one fast port.
struct SharedPort {
  Topology topology;
  std::array<LinkId, 2> to_slow, to_fast;
};

SharedPort shared_port() {
  TopologyBuilder builder("port");
  const NodeId a = builder.add_endpoint(), slow = builder.add_endpoint(),
               fast = builder.add_endpoint(), s = builder.add_switch("s");
  builder.add_duplex(a, s, Bandwidth{4'000'000'000}, Time{0});
  builder.add_duplex(s, slow, Bandwidth{1'000'000'000}, Time{0});
  builder.add_duplex(s, fast, Bandwidth{4'000'000'000}, Time{0});
  return {std::move(builder).build(), {LinkId{0}, LinkId{2}}, {LinkId{0}, LinkId{4}}};
}

TEST(Cost, AFastLinkIsBusyOnlyForItsOwnTime) {
  const auto [topology, to_slow, to_fast] = shared_port();
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.ranks = 3;
  schedule.chunks = std::vector<Chunk>(4, Chunk::rooted(Rank{0}, 0, 1));
  // The second message waits for the slow link; the port has been left by 500 ns all the same.
  schedule.add(0, Op::Copy, 0, Rank{0}, Rank{1}, to_slow);
  schedule.add(1, Op::Copy, 1, Rank{0}, Rank{1}, to_slow);
  schedule.add(2, Op::Copy, 2, Rank{0}, Rank{2}, to_fast);
  schedule.add(3, Op::Copy, 3, Rank{0}, Rank{2}, to_fast);
  EXPECT_EQ(predict_time(schedule, topology, 4000).picoseconds, 2'000'000);
  schedule.transfers.erase(schedule.transfers.begin(), schedule.transfers.begin() + 2);
  EXPECT_EQ(predict_time(schedule, topology, 4000).picoseconds, 500'000);
}

TEST(Cost, OfOneStepAndLinkWhatIsReadyFirstGoesFirst) {
  TopologyBuilder builder("line");
  const NodeId a = builder.add_endpoint(), b = builder.add_endpoint(), c = builder.add_endpoint();
  builder.add_duplex(a, b, Bandwidth{1'000'000'000}, Time{0});
  builder.add_duplex(b, c, Bandwidth{2'000'000'000}, Time{0});
  const Topology topology = std::move(builder).build();
  const LinkId first = link_between(topology, 0, 1), second = link_between(topology, 1, 2);
  Schedule schedule;
  schedule.collective = Collective::AllGather;
  schedule.ranks = 3;
  schedule.chunks = one_chunk_per_rank(3);
  schedule.add(0, Op::Copy, 0, Rank{0}, Rank{1}, {&first, 1});
  schedule.add(1, Op::Copy, 0, Rank{1}, Rank{2}, {&second, 1});
  schedule.add(1, Op::Copy, 1, Rank{1}, Rank{2}, {&second, 1});
  // 1000 bytes each: chunk 1 leaves while chunk 0 is on its way to rank 1.
  EXPECT_EQ(predict_time(schedule, topology, 3000).picoseconds, 1'000'000 + 500'000);
}

}  // namespace
}  // namespace multitree
