// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// NVIDIA's management library, asked through a library that is loaded at run time: what the GPUs
/// are called and where their NVLinks lead.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/units.hpp"

namespace multitree::discovery {

struct NvmlLink {
  /// Unknown: a switch, unless `address` is a GPU's.
  enum class Remote : std::uint8_t { Gpu, Switch, Processor, Unknown };
  Remote remote = Remote::Unknown;
  std::string address;   ///< empty if not told
  Bandwidth speed;       ///< a direction
  bool assumed = false;  ///< `speed` is by the generation
};

struct NvmlGpu {
  std::string address;  ///< "0000:17:00.0"
  std::string name;
  std::uint32_t pcie_generation = 0,
                pcie_width = 0;  ///< the most that GPU and slot can; 0: unknown
  std::vector<NvmlLink> links;   ///< that are up
};

struct NvmlAnswer {
  bool there = false;
  std::string why;  ///< not there, in words
  std::vector<NvmlGpu> gpus;
};

/// Never throws for what the library does: a host whose driver is broken is described without it.
NvmlAnswer ask_nvml(const std::string& library);

}  // namespace multitree::discovery
