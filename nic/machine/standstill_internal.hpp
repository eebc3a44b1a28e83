// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Words for a simulation in which nothing moves.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "nic/network/fabric.hpp"
#include "nic/nic/endpoints.hpp"
#include "nic/nic/receive_engines.hpp"

namespace multitree::nic {

/// Who waits for what although something is still to come. `flits_left`: of each message, not yet
/// received; `engines` may be null.
std::string describe_standstill(Cycle now, std::span<const std::uint64_t> flits_left,
                                const Endpoints& endpoints, const ReceiveEngines* engines,
                                const Fabric& fabric);

}  // namespace multitree::nic
