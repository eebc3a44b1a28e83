// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One simulation of the study: what it is a function of, and what it gave.
#pragma once

#include <cstdint>
#include <string>

#include "nic/hardware.hpp"
#include "nic/parameters.hpp"
#include "nic/simulate.hpp"

namespace multitree::tools {

/// An all-reduce that is simulated. Its cycles are a function of these values and of this version.
struct Point {
  std::string network{};    ///< spec
  std::string algorithm{};  ///< spec
  std::uint64_t bytes = 0;
  nic::Model model = nic::Model::Message;
  nic::Machine machine = nic::Machine::Ideal;
  nic::Parameters parameters{};  ///< as they are on the ideal machine
  bool operator==(const Point&) const = default;
};

/// What a simulation gave.
struct Outcome {
  std::uint64_t cycles = 0;
  std::uint64_t clock_hz = 0;
  std::uint64_t messages = 0;
  std::uint64_t link_flits = 0;
  std::uint64_t busiest_link_flits = 0;
  [[nodiscard]] double seconds() const {
    return static_cast<double>(cycles) / static_cast<double>(clock_hz);
  }
  bool operator==(const Outcome&) const = default;
};

/// The point as one line of JSON: network, algorithm, flow control, ports, bytes, model,
/// machine unless it is ideal, and the other parameters that are not the defaults. Different points
/// have different keys.
std::string key_of(const Point& point);

}  // namespace multitree::tools
