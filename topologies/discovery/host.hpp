// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a host is made of, as hwloc and NVML tell it: NUMA nodes, the PCI tree, GPUs, network
/// interfaces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/units.hpp"

namespace multitree::discovery {

struct NumaNode {
  std::uint32_t id = 0;       ///< the operating system's number
  std::uint32_t package = 0;  ///< the socket that its cores are in
  std::uint32_t cores = 0;
  std::uint64_t memory_bytes = 0;
};

/// A device or a bridge of the PCI tree.
struct PciNode {
  std::string address;                  ///< "0000:17:00.0"
  std::optional<std::uint32_t> parent;  ///< the bridge above, in Host::pci; none: the processor
  /// In Host::numa, what it is attached to; none if the host does not say.
  std::optional<std::uint32_t> numa;
  Bandwidth link;           ///< to what is above, a direction; 0 if the host does not say
  std::string link_from;    ///< what `link` was read from
  bool at_present = false;  ///< it may be able to do more
};

/// NVLinks of a GPU that lead to the same place.
struct NvLinks {
  enum class To : std::uint8_t { Gpu, Switch, Processor };
  To to = To::Gpu;
  std::uint32_t gpu = 0;  ///< in Host::gpus, if that is where they lead
  std::uint32_t count = 0;
  Bandwidth each;        ///< a direction
  bool assumed = false;  ///< `each` is by the generation of the links, not what NVML says
};

struct Gpu {
  std::uint32_t pci = 0;  ///< in Host::pci
  std::string name;       ///< "NVIDIA H100 80GB HBM3"
  std::vector<NvLinks> nvlinks;
};

/// One function of a network adapter.
struct Nic {
  std::uint32_t pci = 0;           ///< in Host::pci
  std::vector<std::string> names;  ///< "eth0", "mlx5_0"
  Bandwidth speed;                 ///< 0 if it is down or does not say
};

struct Processor {
  std::string arch, vendor, model;
  std::int64_t family = 0, number = 0;
};

struct Host {
  std::string name;
  std::string source;  ///< "this host", or the file
  std::string nvml;    ///< "2 GPUs", or why NVML says nothing
  Processor processor;
  std::vector<NumaNode> numa;  ///< those with cores; at least one
  std::vector<PciNode> pci;    ///< parents before children
  std::vector<Gpu> gpus;       ///< by PCI address, as NVML numbers them
  std::vector<Nic> nics;       ///< by PCI address

  [[nodiscard]] std::uint32_t cores() const;
};

struct DiscoverOptions {
  /// A file that `lstopo --of xml` wrote on another host; empty: this host, or what hwloc's own
  /// variables (HWLOC_XMLFILE, HWLOC_SYNTHETIC) name instead.
  std::string hwloc_file = {};
  /// Where speeds are read that hwloc does not know; empty: /sys of this host, nothing for others.
  std::string sysfs = {};
  /// libnvidia-ml; empty: $MULTITREE_NVML_LIBRARY, or on this host libnvidia-ml.so.1.
  std::string nvml_library = {};
};

/// \throws Error(Io) if the file cannot be read, Error(InvalidInput) if hwloc does not understand
/// it, Error(Unsupported) if it has no cores.
Host discover_host(const DiscoverOptions& options);

}  // namespace multitree::discovery
