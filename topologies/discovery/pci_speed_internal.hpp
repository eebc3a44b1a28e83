// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rates of PCIe, and of network interfaces as the kernel's files tell them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/units.hpp"

namespace multitree::discovery {

/// What `lanes` of a generation (1 .. 6) carry in a direction after the line code, without the
/// headers of packets; 0 for anything else.
Bandwidth pcie_rate(std::uint32_t generation, std::uint32_t lanes);

/// The most that a device can, by max_link_speed and max_link_width below `sysfs`; 0 if it does not
/// say. (What it does now is less while it saves power.)
Bandwidth pcie_rate_of(const std::string& sysfs, const std::string& address);

/// By the first of the interfaces that is up: net/NAME/speed, infiniband/NAME/ports/*/rate. 0 if
/// none says.
Bandwidth nic_speed_of(const std::string& sysfs, const std::vector<std::string>& names);

}  // namespace multitree::discovery
