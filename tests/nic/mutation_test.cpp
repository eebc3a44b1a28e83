// SPDX-License-Identifier: BSD-3-Clause
/// Tables that are wrong in one field: the run says so, by a wrong sum or a standstill.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "algorithms/registry.hpp"
#include "nic/machine/machine.hpp"
#include "nic/machine/reference.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::Entry;
using nic::Fault;
using nic::Memory;
using nic::Opcode;
using nic::Program;
using testing::HasSubstr;

/// An all-reduce with tables to break.
class Patient {
 public:
  Patient(const char* spec, const char* algorithm)
      : topology_(make_topology(spec)),
        schedule_(make_schedule(algorithm, topology_)),
        program(nic::compile_program(schedule_, topology_, elements())) {}

  /// "": right; "wrong: ..." results; or the first error of the run.
  [[nodiscard]] std::string run(const std::vector<Fault>& faults = {}) const {
    const Memory inputs = nic::make_inputs(schedule_.ranks, elements());
    Memory got = inputs, expected = inputs;
    nic::run_schedule(schedule_, expected);
    const nic::Parameters parameters{.reduction = reduction, .watchdog_cycles = 5000};
    const auto result =
        nic::run_flit_level(program, topology_, parameters, {.faults = faults}, &got);
    EXPECT_FALSE(result.checked);  // nobody has compared yet
    if (!result.errors.empty()) return result.errors.front();
    const std::string difference = nic::find_difference(schedule_, expected, got);
    return difference.empty() ? "" : "wrong: " + difference;
  }
  /// All entries, for changes.
  [[nodiscard]] std::vector<Entry*> entries() {
    std::vector<Entry*> all;
    for (auto& of_rank : program.tables.of_rank) {
      for (Entry& entry : of_rank) all.push_back(&entry);
    }
    return all;
  }

 private:
  [[nodiscard]] std::uint64_t elements() const { return std::uint64_t{schedule_.ranks} * 256; }
  Topology topology_;
  Schedule schedule_;

 public:
  Program program;
  nic::Reduction reduction = nic::Reduction::Streaming;
};

constexpr nic::Reduction kReductions[] = {nic::Reduction::Streaming, nic::Reduction::Pipelined};

constexpr std::pair<const char*, const char*> kPatients[] = {
    {"torus:4x4", "multitree"}, {"mesh:3x5", "symmetric"},           {"ring:8", "ring"},
    {"star:5", "multitree"},    {"fattree:4x4", "halving-doubling"}, {"hypercube:3", "forest"}};

std::vector<Patient> patients() {
  std::vector<Patient> all;
  for (const auto& [spec, algorithm] : kPatients) {
    const Topology topology = make_topology(spec);
    if (!find_algorithm(algorithm).unsupported(topology)) all.emplace_back(spec, algorithm);
  }
  return all;
}

TEST(BrokenTables, WholeOnesAreRight) {
  for (Patient& patient : patients()) {
    EXPECT_EQ(patient.run(), "");
    patient.reduction = nic::Reduction::Pipelined;
    EXPECT_EQ(patient.run(), "");
  }
}

TEST(BrokenTables, WaitingForTooMuchIsAStandstill) {
  for (Patient& patient : patients()) {
    const std::vector<Entry*> entries = patient.entries();
    for (std::size_t e = 0; e < entries.size(); e += 1 + entries.size() / 10) {
      entries[e]->wait += 100;
      const std::string error = patient.run();
      EXPECT_THAT(error, testing::ContainsRegex(
                             "^cycle [0-9]+: nothing moves, and [0-9]+ messages are missing; "
                             "rank [0-9]+ port [0-9]+ has not sent the (reduce|gather) of flow"));
      EXPECT_THAT(error, HasSubstr("messages it waits for are in"));
      EXPECT_THAT(error, HasSubstr("no flit is in the network"));
      entries[e]->wait -= 100;
    }
    EXPECT_EQ(patient.run(), "");
  }
}

TEST(BrokenTables, WaitingForTooLittleIsAWrongSum) {
  for (Patient& patient : patients()) {
    const std::vector<Entry*> entries = patient.entries();
    std::size_t broken = 0, noticed = 0;
    for (std::size_t e = 0; e < entries.size(); e += 1 + entries.size() / 40) {
      if (entries[e]->wait == 0) continue;
      const std::uint32_t wait = std::exchange(entries[e]->wait, 0);
      ++broken;
      // Unless its port was so busy that what it needs had come all the same.
      noticed += patient.run().starts_with("wrong: rank ");
      entries[e]->wait = wait;
    }
    EXPECT_GT(broken, 0U);
    EXPECT_GE(4 * noticed, broken);
  }
}

TEST(BrokenTables, TurnsThatNeverCome) {
  for (Patient& patient : patients()) {
    Entry& entry = *patient.entries().front();
    entry.turn += 50;
    EXPECT_THAT(patient.run(), HasSubstr("nothing moves"));
    patient.reduction = nic::Reduction::Pipelined;
    EXPECT_THAT(patient.run(), testing::AnyOf(HasSubstr("messages before it are in, and "),
                                              HasSubstr("none of park_slots (8) is free")));
  }
}

// Sums of three or more in another order differ in their last bits.
void exchange_turns(nic::Reduction reduction) {
  Patient patient("torus:4x4", "multitree");
  patient.reduction = reduction;
  const std::vector<Entry*> entries = patient.entries();
  std::size_t exchanged = 0;
  for (Entry* a : entries) {
    for (Entry* b : entries) {
      if (a >= b || a->op != Opcode::Reduce || b->op != Opcode::Reduce || a->peer != b->peer ||
          a->flow != b->flow || a->turn == b->turn || ++exchanged > 10) {
        continue;
      }
      std::swap(a->turn, b->turn);
      EXPECT_THAT(patient.run(), testing::StartsWith("wrong: rank ")) << exchanged;
      std::swap(a->turn, b->turn);
    }
  }
  EXPECT_GT(exchanged, 0U);
}

TEST(BrokenTables, TurnsExchanged) {
  for (const nic::Reduction reduction : kReductions) exchange_turns(reduction);
}

// Ranks that exchange sums must send theirs before they add: `after` sees to it, even if one of
// them is late.
void forget_reads(nic::Reduction reduction) {
  Patient patient("hypercube:3", "recursive-doubling");
  patient.reduction = reduction;
  const std::vector<Fault> late = {
      {.kind = Fault::Kind::LateInterface, .rank = Rank{1}, .cycle = 5000}};
  EXPECT_EQ(patient.run(), "");
  EXPECT_EQ(patient.run(late), "");
  std::size_t changed = 0;
  for (Entry* entry : patient.entries()) changed += std::exchange(entry->after, 0) != 0;
  EXPECT_GT(changed, 0U);
  EXPECT_THAT(patient.run(late), testing::StartsWith("wrong: rank "));
}

TEST(BrokenTables, SumsTakenInBeforeTheOwnWasSent) {
  for (const nic::Reduction reduction : kReductions) forget_reads(reduction);
}

TEST(BrokenTables, OtherElements) {
  Patient patient("torus:4x4", "multitree");
  Entry& entry = *patient.entries().front();
  --entry.size;
  EXPECT_THAT(patient.run(), testing::StartsWith("wrong: rank "));
}

// Sums instead of copies, or the other way.
TEST(BrokenTables, OtherOperations) {
  for (const Opcode op : {Opcode::Reduce, Opcode::Gather}) {
    Patient patient("torus:4x4", "multitree");
    for (Entry* entry : patient.entries()) {
      if (entry->op == op) continue;
      entry->op = op;
      break;
    }
    EXPECT_THAT(patient.run(), testing::StartsWith("wrong: rank "));
  }
}

}  // namespace
}  // namespace multitree
