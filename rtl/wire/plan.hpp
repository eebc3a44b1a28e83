// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all processes of a job know.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/program/switches.hpp"
#include "nic/table/table.hpp"
#include "rtl/sim/data.hpp"
#include "rtl/sim/loader.hpp"
#include "rtl/wire/job.hpp"
#include "rtl/wire/node_numbers.hpp"

namespace multitree::rtl {

/// Tables, what ranks begin with, and what is to come of it.
struct Plan {
  /// \throws as run_in_memory() \param job outlives it
  explicit Plan(const WireJob& job);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  [[nodiscard]] bool is_hardware(std::uint32_t number) const {
    return number < job.is_hardware.size() && job.is_hardware[number];
  }

  /// Where switches add and copy, what they are as ranks: they have the numbers of switches.
  [[nodiscard]] const Topology& topology() const { return made ? made->topology : job.topology; }
  [[nodiscard]] const Schedule& schedule() const { return made ? made->schedule : job.schedule; }

  const WireJob& job;
  nic::Parameters parameters;  ///< the job's, as nodes have them
  NodeNumbers numbers;
  std::uint64_t elements;
  std::optional<nic::SwitchesAsRanks> made;
  nic::Tables tables;
  Collective collective;
  Buffers inputs, expected;  ///< [rank]
};

}  // namespace multitree::rtl
