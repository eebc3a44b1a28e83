// SPDX-License-Identifier: BSD-3-Clause
/// Receive engines against cycles worked out by hand from docs/nic-spec.md.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "algorithms/registry.hpp"
#include "pipelined.hpp"
#include "simulation.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::FlowControl;
using nic::Parameters;
using nic::Reduction;
using nic::Simulation;
using namespace test::pipelined;
using test::Recorder;
using testing::HasSubstr;

/// A message alone: up to the arrival of its header, in cycle latency + 2, then a word a cycle.
TEST(Pipelined, OneLink) {
  const Sum one = run({150});
  EXPECT_EQ(one.seen.issues_of(0, 0, 0), in_a_row(153));
  EXPECT_EQ(one.seen.taken_at(0, 0, 1), 153 + kFlits - 1 + kLag);
  EXPECT_EQ(one.result.cycles, 152 + kFlits + kLag);
}

// Memory that takes its time: with more words under way than that the first word waits for it, and
// each one's sum; all else is as ever.
TEST(Pipelined, SlowMemoryAndWordsEnough) {
  for (const std::uint32_t cycles : {1U, 2U, 20U, 100U, 400U}) {
    Parameters p = kPipelined;
    p.memory_cycles = cycles;
    p.send_words = p.add_words = cycles + 1;
    const Sum one = run({150}, 1, p);
    EXPECT_EQ(one.seen.issues_of(0, 0, 0), in_a_row(152 + cycles)) << cycles;
    EXPECT_EQ(one.result.cycles, 151 + cycles + kFlits + kLag + cycles - 1) << cycles;
  }
}

// With fewer a port sends so many in the cycles that memory takes for one, and adds so many in one
// more.
TEST(Pipelined, SlowMemoryAndFewWords) {
  Parameters p = kPipelined;
  p.memory_cycles = 20;
  p.add_words = 21;
  p.send_words = 4;
  std::vector<std::uint64_t> sent;
  for (std::uint64_t w = 0; w < kFlits; ++w) sent.push_back(172 + w / 4 * 21 + w % 4);
  EXPECT_EQ(run({150}, 1, p).seen.issues_of(0, 0, 0), sent);
  p.send_words = 21;
  p.add_words = 2;
  std::vector<std::uint64_t> added;
  for (std::uint64_t w = 0; w < kFlits; ++w) added.push_back(172 + w / 2 * 21 + w % 2);
  EXPECT_EQ(run({150}, 1, p).seen.issues_of(0, 0, 0), added);
}

// Half a buffer one way, the sum back as soon as it is written.
TEST(Pipelined, ThereAndBack) {
  for (const std::uint32_t cycles : {0U, 3U, 10U}) {
    const Parameters p = with(kPipelined, &Parameters::reduction_cycles, cycles);
    EXPECT_EQ(test::simulate_checked({"mesh:2", "multitree", 8192}, p).cycles,
              2 * (256 + 152 + 2 + cycles));
  }
}

// Children whose messages come together: each is behind the one before it by the adder's lag, and
// the cycle in which an engine finds that it may start.
TEST(Pipelined, ChildrenThatComeTogether) {
  for (const std::uint64_t children : {2U, 3U, 5U}) {
    const Sum together = run(std::vector<std::uint64_t>(children, 150));
    for (std::uint32_t turn = 0; turn < children; ++turn) {
      EXPECT_EQ(together.seen.issues_of(0, 0, turn), in_a_row(153 + turn * (kLag + 1))) << turn;
    }
    EXPECT_EQ(together.result.cycles, 152 + kFlits + (children - 1) * (kLag + 1) + kLag);
  }
}

// The second's header comes before or after the first's: it follows as soon as the first word of
// the first is visible, in cycle 158, and not before its own.
TEST(Pipelined, OneHeaderBeforeTheOther) {
  for (const std::uint64_t latency : {100U, 149U, 150U, 151U, 155U, 156U, 157U, 200U, 500U}) {
    const Sum apart = run({150, latency});
    EXPECT_EQ(apart.seen.issues_of(0, 0, 0), in_a_row(153));
    EXPECT_EQ(apart.seen.issues_of(0, 0, 1), in_a_row(std::max<std::uint64_t>(159, latency + 3)))
        << latency;
  }
}

// All of it waits beside the buffer, and goes a word a cycle when it is due.
TEST(Pipelined, LongBeforeItsTurn) {
  const Sum early = run({1000, 5});
  EXPECT_EQ(early.seen.issues_of(0, 0, 0), in_a_row(1003));
  EXPECT_EQ(early.seen.issues_of(0, 0, 1), in_a_row(1003 + kLag + 1));
  EXPECT_EQ(early.result.cycles, 1002 + kFlits + kLag + 1 + kLag);
}

// Messages that follow each other on a link: an engine is free in the cycle of the next header.
TEST(Pipelined, BackToBack) {
  const Sum three = run({150}, 3);
  for (std::uint32_t piece = 0; piece < 3; ++piece) {
    EXPECT_EQ(three.seen.issues_of(0, piece, 0), in_a_row(153 + piece * (kFlits + 1)));
  }
  EXPECT_EQ(three.result.cycles, 152 + 3 * kFlits + 2 + kLag);
}

// Of several pieces from two children the second's engine is always behind: it goes on with what
// is parked, losing no more than the cycle in which it looks.
TEST(Pipelined, BehindForSeveralPieces) {
  const Sum two = run({150, 150}, 3);
  for (std::uint32_t piece = 0; piece < 3; ++piece) {
    EXPECT_EQ(two.seen.issues_of(0, piece, 0), in_a_row(153 + piece * (kFlits + 1)));
    EXPECT_EQ(two.seen.issues_of(0, piece, 1), in_a_row(159 + piece * (kFlits + 1)));
  }
}

// Packets of 16 flits: the words of a message stay in order.
TEST(Pipelined, Packets) {
  Parameters p = kPipelined;
  p.flow_control = FlowControl::Packet;
  const Sum one = run({150}, 1, p);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t word = 0; word < kFlits; ++word) expected.push_back(153 + word + word / 16);
  EXPECT_EQ(one.seen.issues_of(0, 0, 0), expected);
  EXPECT_EQ(one.result.cycles, 152 + kFlits + 3 + kLag);
  // The second starts a packet when the first's is visible, so it needs one place.
  p.park_slots = 1;
  const Sum two = run({150, 150}, 1, p);
  EXPECT_EQ(two.seen.issues_of(0, 0, 0), expected);
  for (std::uint64_t& cycle : expected) cycle += kLag + 1;
  EXPECT_EQ(two.seen.issues_of(0, 0, 1), expected);
}

// Early packets of one message are put together in one place. They go no further than the message
// before has begun, so here too the second follows the first packet by packet.
TEST(Pipelined, EarlyPacketsArePutTogether) {
  Parameters p = kPipelined;
  p.flow_control = FlowControl::Packet;
  p.park_slots = 1;
  const Sum early = run({1000, 5}, 1, p);
  std::vector<std::uint64_t> expected;
  for (std::uint64_t word = 0; word < kFlits; ++word) {
    expected.push_back(1003 + kLag + 1 + word + word / 16);
  }
  EXPECT_EQ(early.seen.issues_of(0, 0, 1), expected);
}

// A port that follows another in one piece and is followed in the next: would packets wait for
// packets that have not started, these trees would come to a standstill.
TEST(Pipelined, PacketsDoNotWaitInACircle) {
  const Topology topology = make_topology("torus:4x4");
  const Parameters p{.flow_control = FlowControl::Packet,
                     .reduction = Reduction::Pipelined,
                     .park_slots = 4096,
                     .watchdog_cycles = 5000};
  const auto result =
      nic::simulate(make_schedule("forest", topology), topology, 256 << 10, p, {.data = true});
  EXPECT_TRUE(result.checked);
}

TEST(Pipelined, PlacesRunOut) {
  const Sum enough = run({1000, 5}, 2, with(kPipelined, &Parameters::park_slots, 2));
  EXPECT_TRUE(enough.result.errors.empty());
  // The second header of the early child: after the first message's flits.
  const Sum one = run({1000, 5}, 2, with(kPipelined, &Parameters::park_slots, 1));
  ASSERT_EQ(one.result.errors.size(), 1U);
  EXPECT_EQ(one.result.errors[0],
            fmt::format("cycle {}: rank 0 port 1: the reduce of flow 0 piece 1 from rank 2 to 0 in "
                        "step 1 is early, and none of park_slots (1) is free",
                        7 + kFlits + 1));
}

/// A root whose children each send a piece of their own.
Sum run_own_pieces(const std::vector<std::pair<Op, std::uint64_t>>& children,
                   const Parameters& parameters) {
  std::vector<std::uint64_t> latencies;
  for (const auto& child : children) latencies.push_back(child.second);
  const Topology topology = star(latencies);
  Schedule schedule;
  schedule.collective = Collective::Reduce;
  schedule.algorithm = "by hand";
  schedule.ranks = topology.num_ranks();
  schedule.chunks.assign(children.size(), {});
  for (std::uint32_t c = 0; c < children.size(); ++c) {
    const LinkId up = topology.out_links(topology.node_of(Rank{c + 1})).front();
    schedule.add(0, children[c].first, c, Rank{c + 1}, Rank{0}, std::vector<LinkId>{up});
  }
  schedule.canonicalize();
  Sum run;
  run.result = nic::simulate(schedule, topology, children.size() * kFlits * 16, parameters,
                             {.data = true, .observer = &run.seen});
  EXPECT_TRUE(run.result.checked);
  return run;
}

/// Words every other cycle.
std::vector<std::uint64_t> in_turn(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> cycles(count);
  for (std::uint64_t i = 0; i < count; ++i) cycles[i] = first + 2 * i;
  return cycles;
}

// Ports 0 and 1 share a unit, ports 2 and 3, and port 4 has one for itself.
TEST(Pipelined, PortsThatShareAUnitTakeTurns) {
  const Parameters p = with(kPipelined, &Parameters::ports_per_unit, 2);
  const Sum five = run_own_pieces({{Op::Reduce, 150},
                                   {Op::Reduce, 150},
                                   {Op::Reduce, 150},
                                   {Op::Reduce, 150},
                                   {Op::Reduce, 150}},
                                  p);
  for (std::uint32_t port = 0; port < 4; ++port) {
    EXPECT_EQ(five.seen.issues_of(0, port, 0), in_turn(153 + port % 2, kFlits)) << port;
  }
  EXPECT_EQ(five.seen.issues_of(0, 4, 0), in_a_row(153));
  EXPECT_EQ(five.result.cycles, 153 + 2 * kFlits - 1 + kLag);
}

// The upper port is alone for 10 cycles, then the lower one is served first, for it was not last;
// then they take turns until the upper one has caught up.
TEST(Pipelined, WhoWasNotServedLastGoesFirst) {
  const Parameters p = with(kPipelined, &Parameters::ports_per_unit, 2);
  const Sum two = run_own_pieces({{Op::Reduce, 160}, {Op::Reduce, 150}}, p);
  std::vector<std::uint64_t> upper = in_a_row(153, 10);
  for (std::uint64_t i = 0; i < kFlits - 10; ++i) upper.push_back(164 + 2 * i);
  EXPECT_EQ(two.seen.issues_of(0, 1, 0), upper);
  // The upper one's last word, then a word in each cycle from beside the buffer.
  std::vector<std::uint64_t> lower = in_turn(163, kFlits - 10);
  for (std::uint64_t i = 0; i < 10; ++i) lower.push_back(upper.back() + 1 + i);
  EXPECT_EQ(two.seen.issues_of(0, 0, 0), lower);
}

TEST(Pipelined, CopiesDoNotWaitForAUnit) {
  const Parameters p = with(kPipelined, &Parameters::ports_per_unit, 2);
  const Sum two = run_own_pieces({{Op::Copy, 150}, {Op::Reduce, 150}}, p);
  EXPECT_EQ(two.seen.issues_of(0, 0, 0), in_a_row(153));
  EXPECT_EQ(two.seen.issues_of(0, 1, 0), in_a_row(153));
}

// The sums of many trees, whose order is the schedule's whoever gets the unit.
TEST(Pipelined, SharedUnitsHaveTheSameSums) {
  for (const char* network : {"torus:3x3", "mesh:3x3", "fattree:2x2"}) {
    for (const FlowControl flow_control : {FlowControl::Message, FlowControl::Packet}) {
      Parameters p{.flow_control = flow_control,
                   .reduction = Reduction::Pipelined,
                   .park_slots = 4096,
                   .watchdog_cycles = 5000};
      const std::uint64_t own = test::simulate_checked({network, "multitree", 8192}, p).cycles;
      p.ports_per_unit = 2;
      const std::uint64_t shared = test::simulate_checked({network, "multitree", 8192}, p).cycles;
      EXPECT_GE(shared, own) << network;
      EXPECT_LE(shared, 2 * own) << network;
    }
  }
}

// A header alone, an empty word.
TEST(Pipelined, MessagesWithoutElements) {
  const Sum one = run({150}, 1, kPipelined, 0);
  EXPECT_EQ(one.seen.issues_of(0, 0, 0), in_a_row(153, 1));
  EXPECT_EQ(one.result.cycles, 153 + kLag);
  EXPECT_EQ(one.result.link_flits, 1U);
  const Sum two = run({150, 150}, 1, kPipelined, 0);
  // The second may start when the first is in.
  EXPECT_EQ(two.seen.issues_of(0, 0, 1), in_a_row(153 + kLag + 1, 1));
  EXPECT_EQ(test::simulate_checked({"mesh:2", "multitree", 0}, kPipelined).cycles,
            2 * (153 + kLag));
}

// Both send all they have and add what comes: in a ring of 2, and twice on a torus.
TEST(Pipelined, Exchanges) {
  EXPECT_EQ(
      test::simulate_checked({"ring:2", "recursive-doubling", kFlits * 16}, kPipelined).cycles,
      152 + kFlits + kLag);
  EXPECT_EQ(
      test::simulate_checked({"torus:2x2", "recursive-doubling", kFlits * 16}, kPipelined).cycles,
      2 * (152 + kFlits + kLag));
}

// Rank 1 begins in cycle 1000. What has come for it may be added as far as it has sent: its first
// word leaves in cycle 1001, is seen in 1002, and the engine issues from 1003 on.
TEST(Pipelined, WordsWaitUntilTheOwnAreRead) {
  const Topology topology = make_topology("ring:2");
  const Schedule schedule = make_schedule("recursive-doubling", topology);
  Recorder seen;
  const Simulation result = nic::simulate(
      schedule, topology, kFlits * 16, kPipelined,
      {.data = true,
       .faults = {{.kind = nic::Fault::Kind::LateInterface, .rank = Rank{1}, .cycle = 1000}},
       .observer = &seen});
  EXPECT_TRUE(result.checked);
  EXPECT_EQ(seen.issues_of(1, 0, 0), in_a_row(1003));
  EXPECT_EQ(seen.issues_of(0, 0, 0), in_a_row(1153));
  EXPECT_EQ(result.cycles, 1152 + kFlits + kLag);
}

// A link of half the speed: words are read every other cycle, and so are those that wait for them.
TEST(Pipelined, EnginesWaitForFlits) {
  const Topology topology = make_topology("mesh:2?bw=8GB/s");
  const Schedule schedule = make_schedule("multitree", topology);
  Parameters p = kPipelined;
  EXPECT_EQ(test::simulate_checked(schedule, topology, 8192, p).cycles, 2 * (152 + 256 * 2 + kLag));
}

// A step that a tail ends is over for all ports in the next cycle, and lasts a cycle at least.
TEST(Pipelined, StepsEndACycleAfterTheirLastTail) {
  for (const Reduction reduction : {Reduction::Streaming, Reduction::Pipelined}) {
    const Topology topology = make_topology("mesh:3");
    const std::vector<test::Hand> copies = {{0, 0, 1, 0}, {1, 1, 1, 2}, {1, 2, 1, 0}};
    Recorder seen;
    const Parameters p{.issue = nic::Issue::Lockstep, .step_discount = 10, .reduction = reduction};
    Schedule schedule = test::broadcast_by_hand(topology, 3, copies);
    schedule.root = Rank{1};
    const auto result = nic::simulate(schedule, topology, 3 * kFlits * 16, p, {.observer = &seen});
    EXPECT_TRUE(result.errors.empty());
    const std::uint64_t change = kFlits + 1;  // the first tail leaves in the cycle before
    const auto of_rank = [](const auto& all) {
      std::vector<std::uint64_t> cycles;
      for (const auto& event : all) {
        if (event.rank == 1) cycles.push_back(event.cycle);
      }
      return cycles;
    };
    EXPECT_EQ(of_rank(seen.steps), (std::vector<std::uint64_t>{change}));
    EXPECT_EQ(of_rank(seen.begins), (std::vector<std::uint64_t>{0, change, change}));
  }
}

TEST(Pipelined, ChildrenThatAreStuckAreNamed) {
  const Topology topology = star({150, 150});
  const Schedule schedule = sums(topology, 1);
  // The first child's message is lost: the second's stays parked.
  const auto result = nic::simulate(
      schedule, topology, kFlits * 16, kPipelined,
      {.faults = {{.kind = nic::Fault::Kind::DeadLink, .link = LinkId{1}, .cycle = 0}}});
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_THAT(result.errors[0],
              HasSubstr("rank 0 port 1 has added 0 of 60 flits of the reduce of flow 0 piece 0 "
                        "from rank 2 to 0 in step 0: 0 of 1 messages before it are in, and 0 of 0 "
                        "sent; network: "));
  EXPECT_THAT(result.errors[0], HasSubstr("60 flits of the reduce of flow 0 piece 0 from rank 1"));
}

std::string refusal(const Parameters& parameters, nic::Model model = nic::Model::Flit) {
  const Topology topology = make_topology("mesh:2");
  try {
    (void)nic::simulate(make_schedule("multitree", topology), topology, 64, parameters,
                        {.model = model});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    return error.what();
  }
  return "no error";
}

TEST(Pipelined, IsForTheFlitModelWithOneEjectionChannel) {
  EXPECT_THAT(refusal(kPipelined, nic::Model::Message), HasSubstr("message model: expected "));
  EXPECT_THAT(refusal(kPipelined, nic::Model::AlphaBeta), HasSubstr("alphabeta model: expected "));
  EXPECT_THAT(refusal({.ejection_channels = 1}, nic::Model::Message),
              HasSubstr("ejection_channels 0"));
  EXPECT_THAT(refusal({.ejection_channels = 2, .reduction = Reduction::Pipelined}),
              HasSubstr("expected ejection_channels 0 or 1"));
  EXPECT_EQ(refusal({.ejection_channels = 1, .reduction = Reduction::Pipelined}), "no error");
}

// The hardware lags 5 cycles at each of 10 joins.
TEST(Pipelined, MultitreeIsNearTheIdeal) {
  const struct {
    const char* network;
    std::uint64_t bytes, ideal, pipelined;
  } cases[] = {{"torus:4x4", 256 << 10, 10'854, 10'904}, {"torus:8x8", 1 << 20, 35'454, 35'504}};
  for (const auto& [network, bytes, ideal, pipelined] : cases) {
    const Topology topology = make_topology(network);
    const Schedule schedule = make_schedule("multitree", topology);
    Parameters p{.shared_inputs = true, .ejection_channels = 1};
    EXPECT_EQ(nic::simulate(schedule, topology, bytes, p, {}).cycles, ideal);
    p.reduction = Reduction::Pipelined;
    EXPECT_EQ(nic::simulate(schedule, topology, bytes, p, {}).cycles, pipelined);
    p.flow_control = FlowControl::Packet;
    const std::uint64_t packets = nic::simulate(schedule, topology, bytes, p, {}).cycles;
    p.reduction = Reduction::Streaming;
    const std::uint64_t ideal_packets = nic::simulate(schedule, topology, bytes, p, {}).cycles;
    EXPECT_GE(packets, ideal_packets);
    EXPECT_LE(packets, ideal_packets + ideal_packets / 100);
  }
}

}  // namespace
}  // namespace multitree
