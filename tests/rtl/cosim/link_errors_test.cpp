// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links that lose, model and hardware: a link by itself in every cycle, and whole networks, every
/// event of random points in every cycle and every sum.
///
/// MULTITREE_COSIM_LINKS: how many points instead of 32; MULTITREE_COSIM_SEED: others than in CI.
#include "nic/link_errors.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <random>

#include "algorithms/registry.hpp"
#include "nic/network/retry_link.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/sim/node.hpp"
#include "rtl/sim/retry_wire.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint32_t kLinkPointsPerTest = 8;

std::uint32_t link_number_from(const char* name, std::uint32_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

/// The routers at both ends: one sends random flits as it has credits, one gives places back.
struct RandomRouters {
  RandomRouters(std::uint32_t seed, FlitShape of_flits) : random(seed), shape(of_flits) {
    room.fill(kPlaces);
  }

  /// What came out of the link: the flit that was sent first of those that have not come.
  void take(const LinkFlit& arrives, std::uint8_t returns) {
    if (returns != 0) ++room[returns - 1U];
    if (!arrives.valid) return;
    ASSERT_FALSE(order.empty());
    ASSERT_EQ(arrives.vc, order.front().vc);
    ASSERT_EQ(arrives.bits, order.front().bits);
    order.pop_front();
    ++due[arrives.vc];
  }
  /// What goes into it in the next cycle.
  void next(bool may_send) {
    const auto vc = static_cast<std::uint8_t>(random() % 4);
    sent.valid = may_send && room[vc] > 0 && random() % 8 != 0;
    if (sent.valid) {
      sent.vc = vc;
      --room[vc];
      for (std::size_t w = 0; w <= shape.data_words(); ++w) {
        sent.bits[w] = static_cast<std::uint32_t>(random());
      }
      sent.bits[shape.data_words()] &= (1U << (shape.bits() - shape.data_bits())) - 1;
      order.push_back(sent);
      ++count;
    }
    given = 0;
    const auto who = static_cast<std::uint32_t>(random() % 4);
    if (due[who] == 0 || random() % 2 != 0) return;
    --due[who];
    given = static_cast<std::uint8_t>(who + 1);
  }
  [[nodiscard]] bool is_over() const {
    return order.empty() && !sent.valid && given == 0 && due == std::array<std::uint32_t, 4>{};
  }

  static constexpr std::uint32_t kPlaces = 60;
  std::mt19937 random;
  FlitShape shape;
  std::array<std::uint32_t, 4> room{}, due{};
  std::deque<LinkFlit> order;
  LinkFlit sent;
  std::uint8_t given = 0;
  std::uint64_t count = 0;
};

/// Random flits over a link in hardware and in the model: ready, flits, their bits and credits are
/// the same in every cycle, until nothing is left.
void compare_link(std::uint32_t latency, const nic::LinkErrors& errors, std::uint32_t seed,
                  FlitShape shape) {
  SCOPED_TRACE(fmt::format("latency {}, rate {}, seed {}, flits of {} bytes", latency, errors.rate,
                           seed, shape.bytes()));
  const auto made = make_retry_wire(7, latency, errors, shape.bytes());
  RetryWire& wire = *made;
  nic::RetryLink model({.number = 7, .latency = latency, .channels = 4}, errors);
  RandomRouters routers(seed, shape);
  std::uint32_t still = 0;
  constexpr std::uint64_t kSends = 2000, kMost = 2'000'000;
  // The hardware's last answer is in its register for a cycle before it is on the wires.
  for (std::uint64_t now = 0; now < kMost && still < 4; ++now) {
    const bool ready = wire.is_ready();
    ASSERT_EQ(ready, model.is_ready()) << "cycle " << now;
    LinkFlit arrives;
    std::uint8_t returns = 0;
    wire.settle(routers.sent, routers.given, arrives, returns);
    if (routers.sent.valid) model.send(routers.sent.vc);
    if (routers.given != 0) model.give(routers.given - 1U);
    const auto out = model.step(now);
    ASSERT_EQ(arrives.valid, out.arrived != nic::RetryLink::kNone) << "cycle " << now;
    ASSERT_EQ(returns, out.credited == nic::RetryLink::kNone ? 0 : out.credited + 1) << now;
    wire.tick();
    routers.take(arrives, returns);
    if (testing::Test::HasFatalFailure()) return;
    routers.next(now < kSends && ready);
    still = now > kSends && routers.is_over() && model.is_quiet() ? still + 1 : 0;
  }
  EXPECT_TRUE(routers.order.empty());
  EXPECT_EQ(routers.room, (std::array<std::uint32_t, 4>{60, 60, 60, 60}));
  EXPECT_GT(routers.count, 100U);
  EXPECT_EQ(wire.counts().frames, model.counts().frames);
  EXPECT_EQ(wire.counts().bad, model.counts().bad);
  EXPECT_EQ(wire.counts().answers, model.counts().answers);
  EXPECT_FALSE(wire.is_dead());
}

TEST(RetryWire, IsTheModelInEveryCycle) {
  for (const std::uint32_t bytes : kFlitBytes) {
    for (const std::uint32_t latency : {2U, 3U, 8U, 150U, 254U}) {
      std::uint32_t seed = 1;
      for (const double rate : {0.0, 0.0005, 0.02, 0.2, 0.5, 0.75}) {
        compare_link(latency, {rate, seed}, seed, FlitShape(bytes));
        ++seed;
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

struct LinkPoint {
  Topology topology;
  std::string algorithm;
  std::uint64_t bytes = 0;
  nic::Parameters parameters;
  CosimOptions options;
  std::string text;
};

LinkPoint make_link_point(std::uint32_t number) {
  std::mt19937 random(link_number_from("MULTITREE_COSIM_SEED", 1) * 1'000'003 + number);
  constexpr std::array networks = {"ring:2",
                                   "ring:3?lat=3ns",
                                   "mesh:2x2",
                                   "mesh:2x3",
                                   "torus:2x2?lat=9ns",
                                   "torus:3x3?lat=20ns",
                                   "star:4",
                                   "hypercube:3?lat=6ns",
                                   "fattree:2x2?lat=30ns",
                                   "torus:4x4?lat=20ns"};
  constexpr std::array names = {"multitree", "multitree", "ring", "allreduce-optimal"};
  constexpr std::array rates = {0.0, 0.0001, 0.003, 0.02, 0.1, 0.3, 0.5};
  constexpr std::array sizes = {8U, 200U, 1000U, 4096U, 16384U};
  const double rate = rates[random() % rates.size()];
  LinkPoint point{.topology = make_topology(networks[number % networks.size()]),
                  .algorithm = names[random() % names.size()],
                  .bytes = sizes[random() % sizes.size()],
                  .parameters = {},
                  .options = {.type = static_cast<HardwareType>(number % 4)},
                  .text = {}};
  point.options.adders = random() % 2 == 0 ? Adders::Hardware : Adders::Function;
  point.options.link_errors = nic::LinkErrors{rate, random()};
  point.parameters.flow_control =
      random() % 2 == 0 ? nic::FlowControl::Message : nic::FlowControl::Packet;
  point.parameters.issue = random() % 3 == 0 ? nic::Issue::Lockstep : nic::Issue::Dependency;
  point.parameters.buffer_flits = random() % 3 == 0 ? 4 : 318;
  point.text =
      fmt::format("{} {}, {} bytes, type {}, rate {}, buffers of {}, {}",
                  networks[number % networks.size()], point.algorithm, point.bytes,
                  static_cast<int>(point.options.type), rate, point.parameters.buffer_flits,
                  point.parameters.issue == nic::Issue::Lockstep ? "lockstep" : "");
  return point;
}

class LinkCosimulation : public testing::TestWithParam<std::uint32_t> {};

TEST_P(LinkCosimulation, ModelAndHardwareAgreeInEveryCycle) {
  std::uint32_t compared = 0;
  std::uint64_t events = 0, bad = 0;
  for (std::uint32_t i = 0; compared < kLinkPointsPerTest && i < 40 * kLinkPointsPerTest; ++i) {
    const LinkPoint point = make_link_point(GetParam() * 1000 + i);
    SCOPED_TRACE(point.text);
    try {
      const CosimResult result =
          cosimulate(make_schedule(point.algorithm, point.topology), point.topology, point.bytes,
                     point.parameters, point.options);
      EXPECT_EQ(result.difference, "");
      EXPECT_EQ(result.wrong, "");
      for (const std::string& error : result.hardware.errors) ADD_FAILURE() << error;
      EXPECT_EQ(result.hardware.cycles, result.model_cycles);
      ASSERT_TRUE(result.link_counts);
      bad += result.link_counts->bad + result.link_counts->bad_answers;
      events += result.events;
      ++compared;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::Unsupported) << error.what();
    }
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(compared, kLinkPointsPerTest);
  EXPECT_GT(bad, 0U);
  fmt::print("{} points, {} events compared; {} frames and answers lost or corrupt\n", compared,
             events, bad);
}

INSTANTIATE_TEST_SUITE_P(Random, LinkCosimulation,
                         testing::Range(0U, (link_number_from("MULTITREE_COSIM_LINKS", 32) +
                                             kLinkPointsPerTest - 1) /
                                                kLinkPointsPerTest));

/// Two ranks whose link is cut while they run.
TEST(LinkCut, IsReportedByNameAndNobodyIsDone) {
  const Topology topology = make_topology("ring:2?lat=5ns");
  const Schedule schedule = make_schedule("ring", topology);
  const nic::Parameters parameters = hardware_parameters({}, schedule, HardwareType::Int32);
  constexpr std::uint64_t kElements = 4000;
  const nic::Tables tables = nic::compile_tables(schedule, topology, {.elements = kElements});
  Network network(topology, parameters, kElements * 4, Adders::Function, {}, nic::LinkErrors{});
  Collective collective{
      .tables = tables, .parameters = parameters, .type = HardwareType::Int32, .step_lengths = {}};
  collective.watchdog = 0;
  Buffers buffers = make_inputs(2, kElements, HardwareType::Int32);
  const RunResult result = run_collective(network, collective, buffers, mt_pkg::kDeadCycles + 2000,
                                          [&](std::uint64_t cycle) {
                                            if (cycle == 300) network.cut(LinkId{0});
                                          });
  EXPECT_THAT(result.errors,
              testing::Contains(fmt::format("link 0 is dead: nothing new has arrived for {} cycles",
                                            mt_pkg::kDeadCycles)));
  EXPECT_THAT(result.errors, testing::Contains(testing::StartsWith("rank 0: stuck credit")));
}

}  // namespace
}  // namespace multitree::rtl
