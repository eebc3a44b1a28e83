// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Answers of the library that Python gets as small classes.
#pragma once

#include <multitree/certificate.hpp>
#include <multitree/simulate.hpp>
#include <multitree/tables.hpp>
#include <multitree/tune.hpp>

#include "bindings.hpp"

namespace multitree::python {

/// A bound, with the question that it answers.
struct Bound {
  Network network;
  Proof proof;
  Collective collective{};
};

/// The fastest schedules by size.
struct Tuning {
  Network network;
  TuneResult result;
};

/// Schedules by size, as plan files have them.
struct Plan {
  Network network;
  std::vector<std::pair<std::uint64_t, Program>> sized;  ///< largest size, schedule
};

}  // namespace multitree::python
