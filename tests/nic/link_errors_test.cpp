// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links that lose: everything arrives once and in order, sums are right, and what is dead is said.
#include "nic/link_errors.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/hardware.hpp"
#include "nic/network/retry_link.hpp"
#include "nic/simulate.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::Fault;
using nic::LinkErrors;
using nic::LinkFault;
using nic::RetryLink;
using nic::Simulation;

Simulation simulate(const char* network, const char* algorithm, const nic::Parameters& parameters,
                    const LinkErrors& errors, const std::vector<Fault>& faults = {}) {
  const Topology topology = make_topology(network);
  return nic::simulate(make_schedule(algorithm, topology), topology, 8192, parameters,
                       {.data = true, .faults = faults, .link_errors = errors});
}

TEST(LinkErrors, AreTheSameForTheSameArgumentsAndAsManyAsAsked) {
  for (const double rate : {0.0, 0.01, 0.5, 1.0}) {
    std::uint64_t bad = 0, lost = 0;
    constexpr std::uint64_t kDraws = 100'000;
    for (std::uint64_t n = 0; n < kDraws; ++n) {
      const nic::LinkFate fate = fate_of({rate, 3}, 5, nic::LinkWay::Back, n);
      EXPECT_EQ(fate.noise, fate_of({rate, 3}, 5, nic::LinkWay::Back, n).noise);
      bad += fate.kind != nic::LinkFate::Kind::Arrives ? 1 : 0;
      lost += fate.kind == nic::LinkFate::Kind::Lost ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(bad) / kDraws, rate, 0.01);
    EXPECT_NEAR(static_cast<double>(lost) / kDraws, rate / 2, 0.01);
  }
}

TEST(LinkErrors, AreReadOrRefused) {
  EXPECT_EQ(nic::parse_link_errors("0.25,7").rate, 0.25);
  EXPECT_EQ(nic::parse_link_errors("0.25,7").seed, 7U);
  EXPECT_EQ(nic::parse_link_errors("1e-6").rate, 1e-6);
  for (const char* bad :
       {"", "x", "1.5", "-0.1", "nan", "0.1,", "0.1,x", "0.1,-1", "0.1,1,2", "1e-6x"}) {
    EXPECT_THROW((void)nic::parse_link_errors(bad), Error) << bad;
  }
}

/// A link, its user at the one end and, at the other, a router that gives each place back some time
/// after its flit has come.
class LinkTraffic {
 public:
  LinkTraffic(const RetryLink::Shape& shape, const LinkErrors& errors, std::uint32_t places)
      : link(shape, errors),
        room_(shape.channels, places),
        sent_(shape.channels, 0),
        come_(shape.channels, 0),
        waiting_(shape.channels) {}

  void cycle(std::mt19937& random, std::uint64_t now, bool may_send) {
    const bool ready = link.is_ready();
    const RetryLink::Out out = link.step(now);
    if (out.arrived != RetryLink::kNone) {
      ++come_[out.arrived];
      waiting_[out.arrived].push_back(now + 1 + random() % 20);
      // Whoever comes has been sent, and before those that were sent behind it.
      ASSERT_FALSE(order_.empty());
      ASSERT_EQ(order_.front(), out.arrived);
      order_.pop_front();
    }
    if (out.credited != RetryLink::kNone) ++room_[out.credited];
    const auto channel = static_cast<std::uint32_t>(random() % room_.size());
    if (may_send && ready && room_[channel] > 0 && random() % 4 != 0) {
      --room_[channel];
      ++sent_[channel];
      order_.push_back(channel);
      link.send(channel);
    }
    for (std::uint32_t c = 0; c < waiting_.size(); ++c) {
      if (waiting_[c].empty() || waiting_[c].front() > now) continue;
      waiting_[c].pop_front();
      link.give(c);
      break;
    }
  }

  RetryLink link;
  std::vector<std::uint32_t> room_, sent_, come_;  // [channel]

 private:
  std::vector<std::deque<std::uint64_t>> waiting_;  // [channel]: when each gives its place back
  std::deque<std::uint32_t> order_;                 // of flits on their way
};

TEST(RetryLink, CarriesEveryFlitOnceInOrderAndEveryCreditBack) {
  std::mt19937 random(1);
  std::uint64_t resent = 0;
  for (const double rate : {0.0, 0.001, 0.1, 0.5, 0.8}) {
    for (const std::uint32_t latency : {1U, 2U, 5U, 30U}) {
      SCOPED_TRACE(fmt::format("rate {}, latency {}", rate, latency));
      LinkTraffic traffic({.number = 3, .latency = latency, .channels = 3, .replay = 64}, {rate, 9},
                          40);
      std::uint64_t now = 0;
      for (; now < 3000; ++now) traffic.cycle(random, now, true);
      for (; now < 40'000 && !traffic.link.is_quiet(); ++now) traffic.cycle(random, now, false);
      if (HasFatalFailure()) return;
      EXPECT_TRUE(traffic.link.is_quiet());
      EXPECT_FALSE(traffic.link.is_dead());
      EXPECT_EQ(traffic.come_, traffic.sent_);
      EXPECT_EQ(traffic.room_, std::vector<std::uint32_t>(3, 40));
      EXPECT_GT(traffic.sent_[0], 20U);
      const nic::LinkCounts& counts = traffic.link.counts();
      EXPECT_EQ(counts.flits, traffic.sent_[0] + traffic.sent_[1] + traffic.sent_[2]);
      EXPECT_NEAR(static_cast<double>(counts.bad), rate * static_cast<double>(counts.frames),
                  0.1 * static_cast<double>(counts.frames));
      if (rate == 0) {
        EXPECT_EQ(counts.resent, 0U);
      }
      resent += counts.resent;
    }
  }
  EXPECT_GT(resent, 10'000U);
}

TEST(RetryLink, OneThatIsCutIsDeadAfterItsTime) {
  std::mt19937 random(1);
  LinkTraffic traffic({.latency = 5, .channels = 2, .replay = 64, .dead_after = 1000}, {}, 40);
  traffic.link.faults().add(LinkFault::Dead, 500, 0);
  std::uint64_t now = 0;
  while (now < 5000 && !traffic.link.is_dead()) traffic.cycle(random, now++, true);
  EXPECT_GT(now, 1400U);
  EXPECT_LT(now, 1600U);
}

/// Nothing is late without errors but for the cycles of the two ends, and all is right with them.
TEST(LinkErrors, SumsAreRightAtEveryRate) {
  const nic::Parameters hardware = nic::as_hardware({});
  for (const char* network : {"mesh:2x3?lat=9ns", "torus:2x2", "fattree:2x2?lat=20ns", "ring:5"}) {
    for (const char* algorithm : {"multitree", "ring"}) {
      for (const bool is_hardware : {false, true}) {
        std::uint64_t before = 0;
        for (const double rate : {0.0, 0.001, 0.03, 0.3, 0.6}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", network, algorithm, is_hardware, rate));
          const Simulation result =
              simulate(network, algorithm, is_hardware ? hardware : nic::Parameters{}, {rate, 4});
          EXPECT_EQ(result.errors, std::vector<std::string>{});
          EXPECT_TRUE(result.checked);
          ASSERT_TRUE(result.link_counts);
          EXPECT_EQ(result.link_counts->flits, result.link_flits);
          if (rate >= 0.03) {
            EXPECT_GT(result.link_counts->resent, 0U);
          }
          if (rate >= 0.3) {
            EXPECT_GT(result.cycles, before);
          }
          before = result.cycles;
        }
      }
    }
  }
}

TEST(LinkErrors, WithoutAnyItTakesTwoCyclesMoreALink) {
  const Topology topology = make_topology("ring:2?lat=20ns");
  const Topology longer = make_topology("ring:2?lat=22ns");
  const Schedule schedule = make_schedule("ring", topology);
  const nic::Parameters hardware = nic::as_hardware({});
  const auto cycles = [&](const Topology& on, std::optional<LinkErrors> errors) {
    return nic::simulate(schedule, on, 4096, hardware, {.link_errors = errors}).cycles;
  };
  EXPECT_EQ(cycles(topology, LinkErrors{}), cycles(longer, {}));
}

/// Single faults that without retry are an error: a frame lost or corrupt, a link that dies.
TEST(LinkErrors, SingleFaultsAreMended) {
  for (std::uint64_t count = 0; count < 40; ++count) {
    for (const auto kind : {Fault::Kind::DropFlit, Fault::Kind::CorruptFlit}) {
      const Simulation result =
          simulate("mesh:2x2?lat=5ns", "multitree", {}, {},
                   {{.kind = kind, .link = LinkId{1}, .rank = {}, .cycle = 10, .count = count}});
      EXPECT_EQ(result.errors, std::vector<std::string>{});
      EXPECT_TRUE(result.checked);
      EXPECT_EQ(result.link_counts->bad, 1U);
    }
  }
}

TEST(LinkErrors, ADeadLinkIsNamedWithinItsTime) {
  nic::Parameters parameters;
  parameters.dead_link_cycles = 2000;
  const std::vector<Fault> cut = {
      {.kind = Fault::Kind::DeadLink, .link = LinkId{1}, .rank = {}, .cycle = 200}};
  for (const LinkErrors errors : {LinkErrors{}, LinkErrors{0.1, 2}}) {
    const Simulation result = simulate("mesh:2x2?lat=5ns", "multitree", parameters, errors, cut);
    ASSERT_EQ(result.errors.size(), 1U);
    EXPECT_THAT(result.errors[0],
                testing::MatchesRegex("cycle 2[0-9]+: link n1->n0 is dead: nothing new has "
                                      "arrived for 2000 cycles"));
    EXPECT_FALSE(result.checked);
  }
  // And one that corrupts everything answers, but never with anything new.
  const Simulation result = simulate("mesh:2x2?lat=5ns", "multitree", parameters, {1.0, 2});
  ASSERT_EQ(result.errors.size(), 1U);
  EXPECT_THAT(result.errors[0], testing::HasSubstr("is dead"));
}

TEST(LinkErrors, WhatCannotLoseIsRefused) {
  const auto refuses = [](const char* network, nic::Parameters parameters, nic::Model model,
                          const std::string& what) {
    const Topology topology = make_topology(network);
    try {
      (void)nic::simulate(make_schedule("ring", topology), topology, 4096, parameters,
                          {.model = model, .link_errors = LinkErrors{}});
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      EXPECT_THAT(error.what(), testing::HasSubstr(what));
    }
  };
  nic::Parameters small;
  small.replay_flits = 64;
  refuses("ring:3", small, nic::Model::Flit, "expected replay_flits of at least 304");
  refuses("ring:3?bw=8GB/s", {}, nic::Model::Flit, "expected links of a flit a cycle");
  refuses("ring:3", {}, nic::Model::Message, "expected the flit model, got message");
}

}  // namespace
}  // namespace multitree
