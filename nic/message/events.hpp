// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Interfaces and links, message by message: what the flit-level simulator does, in fewer steps.
#pragma once

#include "nic/program/program.hpp"
#include "nic/simulate.hpp"

namespace multitree::nic {

/// Runs a program. A message whose links nobody else uses is one event at its end. Others are worms
/// of segments that share links in turn (worms.hpp), one a packet if there are packets. \throws as
/// simulate(), and Error(Unsupported) for faults other than late interfaces.
Simulation run_message_level(const Program& program, const Topology& topology,
                             const Parameters& parameters, const SimulationOptions& options);

}  // namespace multitree::nic
