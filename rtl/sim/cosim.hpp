// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The C++ model and the verilated hardware side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "nic/jobs.hpp"
#include "nic/parameters.hpp"
#include "nic/table/table.hpp"
#include "rtl/sim/data.hpp"
#include "rtl/sim/network.hpp"
#include "rtl/sim/run.hpp"

namespace multitree::rtl {

struct CosimOptions {
  HardwareType type = HardwareType::Fp32;
  Adders adders = Adders::Hardware;
  bool compare = true;      ///< false: the hardware alone
  bool own_chunks = false;  ///< as in Collective
  /// The hardware as it is synthesized, which works out what simulation skips; its sums are made by
  /// a function. A reduction unit for each port, no waves.
  bool synthesized = false;
  std::optional<nic::Losses> losses = {};  ///< of an all-reduce; none: it waits for everybody
  std::optional<nic::LinkErrors> link_errors = {};  ///< links lose; none: all arrives
  std::function<void(double)> progress = {};
  std::string wave =
      {};  ///< FST file for waves from the start on, as Network::trace_to(); empty: none
  std::vector<Rank> wave_ranks = {};  ///< whose waves; empty: all ranks'
  Buffers* buffers =
      nullptr;  ///< inputs, which the hardware's results replace; nullptr: of our own
};

struct CosimResult {
  std::uint64_t model_cycles = 0;  ///< 0 if not compared
  RunResult hardware;
  std::uint64_t messages = 0;
  std::uint64_t events = 0;  ///< that were compared
  std::uint64_t clock_hz = 0;
  std::optional<nic::LossReport> losses;       ///< of CosimOptions::losses, as the hardware says
  std::optional<nic::LinkCounts> link_counts;  ///< of CosimOptions::link_errors, as the model says
  /// The first difference: cycle, what the one says and the other does not. Empty: none.
  std::string difference;
  /// The first number that is not what the schedule gives. Empty: none.
  std::string wrong;
  double seconds = 0;  ///< that the hardware took, without loading
  [[nodiscard]] bool agrees() const {
    return difference.empty() && wrong.empty() && hardware.errors.empty();
  }
};

/// The parameters as the hardware is: pipelined reduction, one virtual channel to interfaces, one
/// flit an input and cycle, one cycle to and from interfaces, no header flits but its own.
/// \throws Error(Unsupported) naming a member that is neither the default nor that.
nic::Parameters hardware_parameters(const nic::Parameters& parameters, const Schedule& schedule,
                                    HardwareType type);

/// The same for several schedules together.
nic::Parameters hardware_parameters(const nic::Parameters& parameters,
                                    std::span<const Schedule* const> schedules, HardwareType type);

/// Runs a collective of `bytes` on hardware, compares every begun entry, flit on a link, added
/// word, message taken in and step with the C++ model's in every cycle, and all sums with the
/// runtime's.
/// \throws Error(Unsupported) as Network, load() and hardware_parameters().
CosimResult cosimulate(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                       const nic::Parameters& parameters, const CosimOptions& options);

/// Runs the groups of an image, each from its doorbell on: `jobs` has a job for each group, in
/// their order, with its schedule, when it is ready and what it comes after. The model decides in
/// which cycle each rank's host rings, and the hardware's doorbells are rung in those. Compared is
/// what cosimulate() compares, and when each group is over at each rank. \throws
/// Error(InvalidArgument) if jobs are not the image's groups; Error(Unsupported) as cosimulate(),
/// and as nic::simulate() of jobs.
CosimResult cosimulate(const nic::Tables& image, std::span<const nic::Job> jobs,
                       const Topology& topology, const nic::Parameters& parameters,
                       const CosimOptions& options);

}  // namespace multitree::rtl
