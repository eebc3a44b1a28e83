// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Many single faults: each is reported or does no harm; no rank calls a wrong sum done; nothing
/// hangs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "injector.hpp"
#include "rtl/sim/node.hpp"
#include "rtl/sim/run.hpp"

namespace multitree::rtl::test {
namespace {

constexpr std::uint64_t kMost = 50'000;
constexpr std::uint64_t kDrain = 300;
/// Times that a driver clears errors that it should not.
constexpr std::uint32_t kClears = 300;

struct Case {
  const char* topology;
  bool packets;
};

Scenario scenario_of(const Case& c, std::uint32_t places) {
  Scenario s{.topology = c.topology, .bytes = 1024};
  s.parameters.flow_control = c.packets ? nic::FlowControl::Packet : nic::FlowControl::Message;
  s.parameters.packet_bytes = 64;
  s.parameters.buffer_flits = places;
  return s;
}

/// A run with a fault.
struct Result {
  std::vector<End> ends;
  std::optional<Injector::Hit> hit;
  std::uint32_t port = 0;
  Rank rank{};  ///< at the end of the link that was hit
  std::uint64_t flits = 0, credits = 0;
  std::string wrong;

  [[nodiscard]] bool all_done() const {
    return std::ranges::all_of(ends, [](const End& e) { return e.done && e.errors == 0; });
  }
  /// \returns what is wrong with it.
  [[nodiscard]] std::string verdict() const {
    if (!wrong.empty()) return "a wrong sum is called done: " + wrong;
    for (std::size_t r = 0; r < ends.size(); ++r) {
      if (!ends[r].done && ends[r].errors == 0) return fmt::format("rank {} hangs", r);
    }
    return {};
  }
  [[nodiscard]] std::string errors() const {
    std::string text;
    for (std::size_t r = 0; r < ends.size(); ++r) {
      text += fmt::format("rank {}: {}{}; ", r, ends[r].done ? "done " : "",
                          describe_errors(ends[r].errors));
    }
    return text;
  }
};

Result run_with(const Plan& plan, const Fault& fault, bool clears_errors = false) {
  Machine machine(plan);
  machine.load(plan.writes);
  machine.arm();
  Injector injector(machine, fault);
  machine.go();
  for (std::uint32_t c = 0; clears_errors && c < kClears; ++c) {
    machine.run_cycles(c % 7);
    machine.write_all({reg::kError, ~0U});
  }
  machine.run(kMost);
  while (!injector.is_idle()) machine.run_cycles(1);
  machine.run_cycles(kDrain);
  Result result{.ends = machine.ends(),
                .hit = injector.hit(),
                .flits = injector.flits(),
                .credits = injector.credits(),
                .wrong = {}};
  result.wrong = machine.wrong(result.ends);
  if (result.hit) {
    result.port = machine.port_of(result.hit->link);
    result.rank = machine.rank_at_end_of(result.hit->link);
  }
  return result;
}

/// What must have been reported where, if that can be told.
std::string expectation(const Fault& fault, const Result& result) {
  const End& end = result.ends[index(result.rank)];
  const auto first_is = [&](std::uint32_t error) -> std::string {
    if (end.has(error) && end.first_error() == error && end.first_port() == result.port) return {};
    return fmt::format("expected '{}' first, at rank {} port {}, got first {} port {}",
                       describe_errors(1U << error), index(result.rank), result.port,
                       end.first_error(), end.first_port());
  };
  switch (fault.kind) {
    case Fault::Kind::Drop:
      return result.all_done() ? "a lost flit is not missed" : "";
    case Fault::Kind::Flip: {
      // Routes, and what routers look at, may lead a flit anywhere.
      const unsigned end_bit = fault.bit + fault.bits;
      const unsigned route_bits = mt_pkg::kShortRouteW;
      const bool is_control = end_bit > HardwareFlit::kTailAt ||
                              (result.hit->is_header &&
                               (fault.bit < route_bits || (fault.bit <= 127 && end_bit > 127)));
      if (!is_control) return first_is(kCorrupt);
      return result.all_done() ? "a corrupt flit is not seen" : "";
    }
    case Fault::Kind::Duplicate:
      return end.has(kDuplicate) || end.has(kLate)
                 ? ""
                 : fmt::format("rank {} does not notice a duplicate", index(result.rank));
    default:
      return {};
  }
}

class Campaign : public testing::TestWithParam<Case> {};

TEST_P(Campaign, FaultsOfFlitsAreReported) {
  const Plan plan(scenario_of(GetParam(), 318));
  const Result clean = run_with(plan, {});
  ASSERT_TRUE(clean.all_done()) << clean.errors();
  std::mt19937_64 random(1);
  for (int i = 0; i < 180; ++i) {
    constexpr Fault::Kind kinds[] = {Fault::Kind::Drop, Fault::Kind::Flip,      Fault::Kind::Flip,
                                     Fault::Kind::Flip, Fault::Kind::Duplicate, Fault::Kind::Delay};
    constexpr std::uint64_t delays[] = {0, 1, 20, 300, 1500, 6000};
    Fault fault{.kind = kinds[random() % 6],
                .number = random() % clean.flits,
                .cycles = delays[random() % 6]};
    fault.bits = random() % 2 == 0 ? 1 : static_cast<unsigned>(2 + random() % 7);
    fault.bit = static_cast<unsigned>(random() % (HardwareFlit::kBits + 1 - fault.bits));
    const Result result = run_with(plan, fault);
    ASSERT_TRUE(result.hit) << describe(fault);
    EXPECT_EQ(result.verdict(), "") << describe(fault) << "; " << result.errors();
    EXPECT_EQ(expectation(fault, result), "") << describe(fault) << "; " << result.errors();
    if (fault.kind == Fault::Kind::Delay && fault.cycles < plan.scenario.watchdog) {
      EXPECT_TRUE(result.all_done()) << describe(fault) << "; " << result.errors();
    }
  }
}

TEST_P(Campaign, ErrorsThatAreClearedTooEarlyMakeNoWrongSum) {
  const Plan plan(scenario_of(GetParam(), 318));
  const Result clean = run_with(plan, {});
  std::mt19937_64 random(2);
  for (int i = 0; i < 60; ++i) {
    Fault fault{.kind = i % 3 == 0 ? Fault::Kind::Drop : Fault::Kind::Flip,
                .number = random() % clean.flits};
    fault.bit = static_cast<unsigned>(random() % HardwareFlit::kBits);
    const Result result = run_with(plan, fault, true);
    EXPECT_EQ(result.wrong, "") << describe(fault) << "; " << result.errors();
    EXPECT_FALSE(std::ranges::all_of(result.ends, [](const End& e) { return e.done; }))
        << describe(fault);
  }
}

TEST_P(Campaign, FaultsOfCreditsAreReportedOrHarmless) {
  std::mt19937_64 random(3);
  for (const std::uint32_t places : {1U, 2U, 6U}) {
    const Plan plan(scenario_of(GetParam(), places));
    const Result clean = run_with(plan, {});
    ASSERT_TRUE(clean.all_done()) << clean.errors();
    for (int i = 0; i < 24; ++i) {
      const Fault::Kind kinds[] = {Fault::Kind::LoseCredit, Fault::Kind::LoseCredits,
                                   Fault::Kind::ExtraCredit};
      const Fault fault{.kind = kinds[i % 3], .number = random() % clean.credits};
      const Result result = run_with(plan, fault);
      ASSERT_TRUE(result.hit) << describe(fault);
      EXPECT_EQ(result.verdict(), "") << describe(fault) << "; " << result.errors();
      if (fault.kind == Fault::Kind::ExtraCredit) {
        const Rank sender =
            plan.topology.node(plan.topology.link(result.hit->link).src).rank.value();
        EXPECT_TRUE(result.ends[index(sender)].has(kCreditOver))
            << describe(fault) << "; " << result.errors();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rtl, Campaign,
                         testing::Values(Case{"torus:2x2?lat=10ns", false},
                                         Case{"torus:2x2?lat=10ns", true},
                                         Case{"ring:4?lat=10ns", false},
                                         Case{"ring:4?lat=10ns", true}),
                         [](const auto& test) {
                           return fmt::format("{}_{}", std::string(test.param.topology, 4),
                                              test.param.packets ? "packets" : "messages");
                         });

}  // namespace
}  // namespace multitree::rtl::test
