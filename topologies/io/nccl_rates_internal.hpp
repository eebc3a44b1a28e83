// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bandwidths that NCCL computes from what a topology file says (its src/graph/topo.h), in
/// whole bytes a second.
#pragma once

#include <cstdint>
#include <string_view>

#include "topologies/units.hpp"

namespace multitree {

/// width * g / 80 GB/s, g being 15 for 2.5 GT/s, 30 for 5 GT/s, ... 480 for 64 GT/s. A width of 0
/// is 16 lanes, an unknown speed 8 GT/s.
Bandwidth pci_bandwidth(std::uint32_t width, std::string_view link_speed);

/// One NVLink of a GPU of compute capability `sm`, a direction.
Bandwidth nvlink_bandwidth(std::int64_t sm);

/// Between two CPUs of a host, a direction.
struct CpuModel {
  std::string_view arch, vendor;
  std::int64_t family = 0, model = 0;
};
Bandwidth cpu_bandwidth(const CpuModel& cpu);

/// What NCCL counts for a way inside a device: no limit.
inline constexpr Bandwidth kLocalBandwidth{5'000'000'000'000};

}  // namespace multitree
