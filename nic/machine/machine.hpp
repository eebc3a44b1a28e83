// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Interfaces on a flit-level network, cycle by cycle.
#pragma once

#include "nic/program/program.hpp"
#include "nic/simulate.hpp"

namespace multitree::nic {

/// Runs a program. `memory`: what ranks start and end with, or nullptr to move no numbers.
/// \throws as simulate(); Error(Unsupported) if numbers are to be moved and a flit does not hold
/// whole floats.
Simulation run_flit_level(const Program& program, const Topology& topology,
                          const Parameters& parameters, const SimulationOptions& options,
                          std::vector<std::vector<float>>* memory);

}  // namespace multitree::nic
