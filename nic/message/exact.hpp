// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where the message model gives the cycles of the flit model.
#pragma once

#include <cstdint>
#include <string>

#include "algorithms/schedule.hpp"
#include "nic/parameters.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

/// Why the message model may give other cycles than the flit model, in words; empty: it gives the
/// same to the last, late interfaces included. It does where a message is two events: nobody else
/// uses the channels on its way, and their buffers cover the way there and back.
/// \throws Error(Unsupported) as simulate().
std::string message_model_differs(const Schedule& schedule, const Topology& topology,
                                  std::uint64_t bytes, const Parameters& parameters);

}  // namespace multitree::nic
