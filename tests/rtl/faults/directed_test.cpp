// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Each kind of error on purpose: its bit, its place, and how it goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "injector.hpp"
#include "rtl/sim/node.hpp"
#include "rtl/sim/run.hpp"

namespace multitree::rtl::test {
namespace {

constexpr std::uint64_t kMostCycles = 30'000;
constexpr std::uint32_t kEntryWords = 4, kRouteWords = 4;
const std::size_t kEntryBits = verilated_layout().bits();
constexpr Rank kRank{1};

class Faults : public testing::Test {
 protected:
  static Scenario scenario(const char* topology = "torus:2x2?lat=10ns",
                           std::uint64_t bytes = 1024) {
    return {.topology = topology, .bytes = bytes};
  }

  /// The n-th entry or route that is written.
  static std::span<RegisterWrite> nth(std::vector<RegisterWrite>& writes, std::uint32_t address,
                                      std::size_t words, std::size_t n) {
    const auto first = std::ranges::find(writes, address, &RegisterWrite::address);
    return {first + static_cast<std::ptrdiff_t>(words * n), words};
  }
  static void flip(std::span<RegisterWrite> words, std::size_t bit) {
    words[bit / 32].value ^= 1U << bit % 32;
  }

  /// Loads what was changed and runs it.
  static std::vector<End> run(Machine& machine,
                              const std::vector<std::vector<RegisterWrite>>& writes) {
    machine.load(writes);
    machine.arm();
    machine.go();
    machine.run(kMostCycles);
    return machine.ends();
  }
  /// Nobody calls a wrong sum done, and nobody hangs.
  static std::string verdict(Machine& machine, const std::vector<End>& ends) {
    for (const End& end : ends) {
      if (!end.done && end.errors == 0) return "a rank hangs";
    }
    return machine.wrong(ends);
  }
  /// Without what follows of itself: nothing moves any more.
  static std::uint32_t causes(const End& end) { return end.errors & ~(1U << kTimeout); }
  static std::uint32_t errors(Machine& machine) {
    return machine.network().read(kRank, reg::kError);
  }
  static std::uint32_t first(Machine& machine) {
    return machine.network().read(kRank, reg::kFirstError) & 0xf;
  }
};

TEST_F(Faults, EveryBitOfAnEntryIsGuarded) {
  for (const char* topology : {"torus:2x2?lat=10ns", "ring:4?lat=10ns"}) {
    const Plan plan(scenario(topology));
    const std::size_t entry = plan.tables.of_rank[index(kRank)].size() / 2;
    for (std::size_t bit = 0; bit < kEntryBits; ++bit) {
      auto writes = plan.writes;
      flip(nth(writes[index(kRank)], reg::kTable, kEntryWords, entry), bit);
      Machine machine(plan);
      const std::vector<End> ends = run(machine, writes);
      const End& end = ends[index(kRank)];
      EXPECT_EQ(verdict(machine, ends), "") << topology << ", bit " << bit;
      // The bit may be one of the route: then the entry lands in the table of another port.
      EXPECT_TRUE(end.has(kTableParity) || end.has(kTableFull))
          << topology << ", bit " << bit << ": " << describe_errors(end.errors);
      EXPECT_EQ(end.first_error(), end.has(kTableFull) ? kTableFull : kTableParity);
    }
  }
}

TEST_F(Faults, WrongOpcode) {
  const Plan plan(scenario());
  auto writes = plan.writes;
  const std::size_t entry = plan.tables.of_rank[index(kRank)].size() - 1;
  const auto words = nth(writes[index(kRank)], reg::kTable, kEntryWords, entry);
  // The other of its two bits, and the parity.
  flip(words, (words[0].value & 1) != 0 ? 1 : 0);
  flip(words, kEntryBits - 1);
  Machine machine(plan);
  const std::vector<End> ends = run(machine, writes);
  const End& end = ends[index(kRank)];
  EXPECT_EQ(causes(end), 1U << kOpcode);
  EXPECT_EQ(end.first_error(), kOpcode);
  EXPECT_EQ(end.first_port(), plan.tables.of_rank[index(kRank)][entry].port);
  EXPECT_EQ(verdict(machine, ends), "");
}

TEST_F(Faults, EntryForAPortThatDoesNotExist) {
  const Plan plan(scenario());
  auto writes = plan.writes;
  nth(writes[index(kRank)], reg::kRoute, kRouteWords, 0)[0].value |= 0x1f;
  Machine machine(plan);
  const std::vector<End> ends = run(machine, writes);
  EXPECT_TRUE(ends[index(kRank)].has(kTableFull));
  EXPECT_EQ(ends[index(kRank)].first_error(), kTableFull);
  EXPECT_FALSE(ends[index(kRank)].done);
  EXPECT_EQ(verdict(machine, ends), "");
}

TEST_F(Faults, EntryForALinkThatDoesNotExist) {
  const Plan plan(scenario());  // two links, interfaces for four
  auto writes = plan.writes;
  const auto words = nth(writes[index(kRank)], reg::kRoute, kRouteWords, 0);
  words[0].value = (words[0].value & ~0x1fU) | 3;
  Machine machine(plan);
  const std::vector<End> ends = run(machine, writes);
  EXPECT_TRUE(std::ranges::any_of(ends, [](const End& e) { return e.has(kTimeout); }));
  EXPECT_EQ(verdict(machine, ends), "");
}

/// What is written once too often, and how many times there is room for it.
struct Room {
  std::uint32_t address, words, room;
};

TEST_F(Faults, TablesThatOverflowAndRecoverByClearing) {
  const Plan plan(scenario());
  for (const Room& room : {Room{reg::kTable, kEntryWords, mt_pkg::kTableDepth},
                           Room{reg::kRoute, kRouteWords, mt_pkg::kNumRoutes},
                           Room{reg::kStep, 1, mt_pkg::kStepDepth}}) {
    Machine machine(plan);
    std::vector<std::vector<RegisterWrite>> fill(plan.schedule.ranks);
    fill[index(kRank)].assign(std::size_t{room.room} * room.words, {room.address, 0});
    machine.load(fill);
    EXPECT_EQ(errors(machine), 0) << room.address;
    fill[index(kRank)].assign(room.words, {room.address, 0});
    machine.load(fill);
    EXPECT_EQ(errors(machine), 1U << kTableFull) << room.address;
    EXPECT_EQ(first(machine), kTableFull);
    // Cleared, it works: load() begins with that.
    machine.write(kRank, {reg::kError, 1U << kTableFull});
    const std::vector<End> ends = run(machine, plan.writes);
    EXPECT_TRUE(machine.all_done()) << room.address;
    EXPECT_EQ(verdict(machine, ends), "") << room.address;
  }
}

TEST_F(Faults, MessageForAPieceThatDoesNotExist) {
  const Plan plan(scenario());
  Machine machine(plan);
  machine.load(plan.writes);
  machine.arm();
  constexpr unsigned kPieceAt = mt_pkg::kShortRouteW + mt_pkg::kStartW + 2 * mt_pkg::kLenW;
  Injector injector(machine, {.kind = Fault::Kind::Rewrite, .bit = kPieceAt + mt_pkg::kPieceW - 1});
  machine.go();
  machine.run(kMostCycles);
  const std::vector<End> ends = machine.ends();
  const End& end = ends[index(machine.rank_at_end_of(injector.hit()->link))];
  EXPECT_EQ(causes(end), 1U << kPiece);
  EXPECT_EQ(end.first_error(), kPiece);
  EXPECT_EQ(end.first_port(), machine.port_of(injector.hit()->link));
  EXPECT_EQ(verdict(machine, ends), "");
}

TEST_F(Faults, LengthThatIsNotTheWorms) {
  const Plan plan(scenario());
  constexpr unsigned kFlitsAt = mt_pkg::kShortRouteW + mt_pkg::kStartW + mt_pkg::kLenW;
  for (unsigned bit = 0; bit < mt_pkg::kLenW; ++bit) {
    Machine machine(plan);
    machine.load(plan.writes);
    machine.arm();
    Injector injector(machine, {.kind = Fault::Kind::Rewrite, .bit = kFlitsAt + bit});
    machine.go();
    machine.run(kMostCycles);
    const std::vector<End> ends = machine.ends();
    const End& end = ends[index(machine.rank_at_end_of(injector.hit()->link))];
    EXPECT_EQ(causes(end), 1U << kLength) << bit;
    EXPECT_EQ(verdict(machine, ends), "") << bit;
  }
}

TEST_F(Faults, ConfiguredWhileRunning) {
  const Plan plan(scenario());
  constexpr std::uint32_t kNowhere = reg::kTable + 4;
  for (std::uint32_t address = reg::kMode; address <= reg::kStep; address += 4) {
    if (address == kNowhere) continue;
    Machine machine(plan);
    machine.start();
    machine.run_cycles(30);
    machine.write(kRank, {address, 1});
    machine.run(kMostCycles);
    const std::vector<End> ends = machine.ends();
    EXPECT_EQ(causes(ends[index(kRank)]), 1U << kConfig) << address;
    EXPECT_EQ(ends[index(kRank)].first_error(), kConfig);
    EXPECT_EQ(verdict(machine, ends), "") << address;
  }
}

TEST_F(Faults, MessageAfterTheCollectiveWasDone) {
  const Plan plan(scenario());
  std::uint64_t flits = 0;
  {
    Machine machine(plan);
    machine.load(plan.writes);
    machine.arm();
    const Injector counts(machine, {});
    machine.go();
    machine.run(kMostCycles);
    ASSERT_TRUE(machine.all_done());
    flits = counts.flits();
  }
  Machine machine(plan);
  machine.load(plan.writes);
  machine.arm();
  // The last flit of all: nothing on its link waits behind it.
  Injector injector(machine, {.kind = Fault::Kind::Duplicate, .number = flits - 1, .cycles = 1000});
  machine.go();
  machine.run(kMostCycles);
  ASSERT_TRUE(machine.all_done());
  std::vector<End> ends = machine.ends();
  EXPECT_EQ(machine.wrong(ends), "");
  EXPECT_TRUE(std::ranges::all_of(ends, [](const End& e) { return e.errors == 0; }));
  machine.run_cycles(1500);
  ends = machine.ends();
  const End& end = ends[index(machine.rank_at_end_of(injector.hit()->link))];
  EXPECT_TRUE(end.has(kLate)) << describe_errors(end.errors);
  EXPECT_EQ(end.first_port(), machine.port_of(injector.hit()->link));
}

TEST_F(Faults, NoCreditsMakeTheSenderStuck) {
  Scenario s = scenario("ring:4?lat=10ns", 8192);
  s.parameters.buffer_flits = 2;
  const Plan plan(s);
  Machine machine(plan);
  machine.load(plan.writes);
  machine.arm();
  Injector injector(machine, {.kind = Fault::Kind::LoseCredits, .number = 0});
  machine.go();
  machine.run(kMostCycles);
  const std::vector<End> ends = machine.ends();
  const Rank sender = plan.topology.node(plan.topology.link(injector.hit()->link).src).rank.value();
  EXPECT_EQ(causes(ends[index(sender)]), 1U << kCreditStuck)
      << describe_errors(ends[index(sender)].errors);
  EXPECT_EQ(ends[index(sender)].first_error(), kCreditStuck);
  EXPECT_EQ(verdict(machine, ends), "");
}

TEST_F(Faults, ARankThatNeverStartsIsMissed) {
  const Plan plan(scenario());
  Machine machine(plan);
  machine.load(plan.writes);
  machine.arm();
  for (std::uint32_t r = 0; r < plan.schedule.ranks; ++r) {
    if (Rank{r} != kRank) machine.write(Rank{r}, go());
  }
  machine.run(kMostCycles);
  const std::vector<End> ends = machine.ends();
  for (std::uint32_t r = 0; r < plan.schedule.ranks; ++r) {
    EXPECT_EQ(ends[r].errors, Rank{r} == kRank ? 0 : 1U << kTimeout) << r;
    EXPECT_FALSE(ends[r].done);
  }
}

TEST_F(Faults, RoutesThatLeadElsewhereMakeNoWrongSum) {
  for (const char* topology : {"torus:2x2?lat=10ns", "ring:4?lat=10ns"}) {
    const Plan plan(scenario(topology));
    for (std::size_t bit = 0; bit <= mt_pkg::kLongRouteW;
         bit += bit < mt_pkg::kShortRouteW ? 1 : mt_pkg::kHopW) {
      auto writes = plan.writes;
      flip(nth(writes[index(kRank)], reg::kRoute, kRouteWords, 0), bit);
      Machine machine(plan);
      const std::vector<End> ends = run(machine, writes);
      machine.run_cycles(500);
      EXPECT_EQ(verdict(machine, machine.ends()), "") << topology << ", bit " << bit;
    }
  }
}

}  // namespace
}  // namespace multitree::rtl::test
