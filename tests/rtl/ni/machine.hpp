// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An all-reduce on a network of verilated nodes, in steps that a test can interfere with.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "nic/parameters.hpp"
#include "nic/program/program.hpp"
#include "nic/table/table.hpp"
#include "rtl/sim/data.hpp"
#include "rtl/sim/loader.hpp"
#include "rtl/sim/network.hpp"
#include "topologies/topology.hpp"

namespace multitree::rtl::test {

struct Scenario {
  std::string topology = "torus:2x2?lat=10ns";
  std::string algorithm = "multitree";
  std::uint64_t bytes = 1024;
  HardwareType type = HardwareType::Fp32;
  nic::Parameters parameters = {};  ///< made the hardware's
  std::uint32_t watchdog = 2000;
};

/// Numbers of errors, as in mt_pkg.
enum : std::uint32_t {
  kTableParity = mt_pkg::kErrTableParity,
  kOpcode = mt_pkg::kErrOpcode,
  kTableFull = mt_pkg::kErrTableFull,
  kConfig = mt_pkg::kErrConfig,
  kCorrupt = mt_pkg::kErrCorrupt,
  kLength = mt_pkg::kErrLength,
  kPiece = mt_pkg::kErrPiece,
  kDuplicate = mt_pkg::kErrDuplicate,
  kParked = mt_pkg::kErrParked,
  kLate = mt_pkg::kErrLate,
  kCreditOver = mt_pkg::kErrCreditOver,
  kCreditStuck = mt_pkg::kErrCreditStuck,
  kTimeout = mt_pkg::kErrTimeout,
  kMemory = mt_pkg::kErrMemory
};

/// How it ended at a rank.
struct End {
  bool done = false;
  std::uint32_t errors = 0, first = 0;  ///< registers
  [[nodiscard]] bool has(std::uint32_t error) const { return (errors >> error & 1) != 0; }
  [[nodiscard]] std::uint32_t first_error() const { return first & 0xf; }
  [[nodiscard]] std::uint32_t first_port() const { return first >> 8 & 0xf; }
};

/// What does not depend on the run.
struct Plan {
  explicit Plan(const Scenario& scenario);

  Scenario scenario;
  Topology topology;
  Schedule schedule;
  nic::Parameters parameters;
  std::uint64_t elements;
  nic::Tables tables;
  nic::Program program;
  Collective collective;
  Buffers inputs, sums;
  std::vector<std::vector<RegisterWrite>> writes;  ///< [rank]: load()
};

class Machine {
 public:
  explicit Machine(const Plan& plan, Adders adders = Adders::Function, const AxiPorts& axi = {});

  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }

  void load(const std::vector<std::vector<RegisterWrite>>& writes) { network_.write(writes); }
  /// Gets all ready, and puts the inputs in place.
  void arm();
  void go();
  void write(Rank rank, RegisterWrite write);
  void write_all(RegisterWrite write);
  /// Loads, arms and starts.
  void start();

  /// Until all are done, or the watchdogs of those that are not have expired; at most so many
  /// cycles.
  void run(std::uint64_t most);
  void run_cycles(std::uint64_t cycles);
  [[nodiscard]] bool is_done(Rank rank) const { return done_[index(rank)]; }
  [[nodiscard]] bool all_done() const;
  [[nodiscard]] std::vector<End> ends();
  /// A rank that says that it is done, without an error, but has a wrong sum; empty: there is none.
  [[nodiscard]] std::string wrong(std::span<const End> ends);
  /// The port of the interface at the end of the link.
  [[nodiscard]] std::uint32_t port_of(LinkId link) const;
  [[nodiscard]] Rank rank_at_end_of(LinkId link) const;

 private:
  void tick();
  void look();

  const Plan& plan_;
  Network network_;
  std::vector<bool> done_;
};

}  // namespace multitree::rtl::test
