// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From hwloc's tree, and what it does not know from NVML and the kernel's files.
#include "topologies/discovery/host.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>

#include "topologies/discovery/nvml_internal.hpp"
#include "topologies/discovery/pci_speed_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::discovery {
namespace {

struct Close {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Tree = std::unique_ptr<hwloc_topology, Close>;
using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";
constexpr std::uint16_t kNvidia = 0x10de, kAmd = 0x1002, kIntel = 0x8086;

Tree load(const std::string& file) {
  if (!file.empty() && ::access(file.c_str(), R_OK) != 0) {
    throw Error(ErrorCode::Io, fmt::format("{}: cannot open: {}", file, std::strerror(errno)));
  }
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Error(ErrorCode::Io, "hwloc cannot start");
  Tree tree(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if ((!file.empty() && hwloc_topology_set_xml(raw, file.c_str()) != 0) ||
      hwloc_topology_load(raw) != 0) {
    throw Error(
        ErrorCode::InvalidInput,
        fmt::format("{}: expected a topology that 'lstopo --of xml' wrote: hwloc cannot read it",
                    file.empty() ? "HWLOC_XMLFILE" : file));
  }
  return tree;
}

std::string info(hwloc_obj_t object, const char* name) {
  const char* value = object == nullptr ? nullptr : hwloc_obj_get_info_by_name(object, name);
  return value == nullptr ? std::string() : value;
}

std::int64_t number(const std::string& text) { return std::atoll(text.c_str()); }

Processor processor_of(hwloc_topology_t tree) {
  const hwloc_obj_t machine = hwloc_get_root_obj(tree);
  const hwloc_obj_t package = hwloc_get_obj_by_type(tree, HWLOC_OBJ_PACKAGE, 0);
  const auto either = [&](const char* name) {
    const std::string value = info(package, name);
    return value.empty() ? info(machine, name) : value;
  };
  // hwloc names architectures as uname does, NCCL in words of its own.
  std::string arch = either("Architecture");
  if (arch == "aarch64") arch = "arm64";
  if (arch.starts_with("ppc64")) arch = "ppc64";
  return {arch, either("CPUVendor"), either("CPUModel"), number(either("CPUFamilyNumber")),
          number(either("CPUModelNumber"))};
}

/// Reads one tree.
class Reader {
 public:
  Reader(hwloc_topology_t tree, Host& host, std::string sysfs)
      : tree_(tree), host_(host), sysfs_(std::move(sysfs)) {}

  void read() {
    read_numa();
    read_pci();
  }

 private:
  // Memory without cores (of a GPU, on the fabric) is left out; two kinds of memory of the same
  // cores are one NUMA node.
  void read_numa() {
    const int count = hwloc_get_nbobjs_by_type(tree_, HWLOC_OBJ_NUMANODE);
    std::vector<hwloc_obj_t> seen;
    for (int i = 0; i < count; ++i) {
      const hwloc_obj_t node =
          hwloc_get_obj_by_type(tree_, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(i));
      const bool known = std::ranges::any_of(seen, [&](hwloc_obj_t other) {
        return hwloc_bitmap_isequal(other->cpuset, node->cpuset) != 0;
      });
      if (hwloc_bitmap_iszero(node->cpuset) != 0 || known) continue;
      seen.push_back(node);
      const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(tree_, HWLOC_OBJ_PACKAGE, node);
      const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(tree_, node->cpuset, HWLOC_OBJ_CORE);
      const int units = hwloc_get_nbobjs_inside_cpuset_by_type(tree_, node->cpuset, HWLOC_OBJ_PU);
      numa_at_[node->os_index] = static_cast<std::uint32_t>(host_.numa.size());
      host_.numa.push_back({node->os_index, package == nullptr ? 0 : package->logical_index,
                            static_cast<std::uint32_t>(cores > 0 ? cores : units),
                            node->attr->numanode.local_memory});
    }
  }

  /// The only NUMA node that an object is near; none if it is near several, or nothing is known.
  std::optional<std::uint32_t> numa_of(hwloc_obj_t object) const {
    const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(tree_, object);
    if (host_.numa.size() == 1) return 0;
    std::optional<std::uint32_t> found;
    for (const auto& [os_index, numa] : numa_at_) {
      if (hwloc_bitmap_isset(near->nodeset, os_index) == 0) continue;
      if (found) return std::nullopt;
      found = numa;
    }
    return found;
  }

  void read_pci() {
    for (hwloc_obj_t bridge = nullptr;
         (bridge = hwloc_get_next_bridge(tree_, bridge)) != nullptr;) {
      if (bridge->parent->type == HWLOC_OBJ_BRIDGE) continue;  // read with the bridge above it
      if (bridge->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
        read_children(bridge, std::nullopt);
      } else {
        read_object(bridge, std::nullopt);
      }
    }
    // A restricted tree may have devices without the bridge above them.
    for (hwloc_obj_t device = nullptr;
         (device = hwloc_get_next_pcidev(tree_, device)) != nullptr;) {
      if (device->parent->type != HWLOC_OBJ_BRIDGE) read_object(device, std::nullopt);
    }
    const auto by_address = [&](const auto& a, const auto& b) {
      return host_.pci[a.pci].address < host_.pci[b.pci].address;
    };
    std::ranges::sort(host_.gpus, by_address);
    std::ranges::sort(host_.nics, by_address);
  }

  void read_children(hwloc_obj_t bridge, std::optional<std::uint32_t> parent) {
    for (hwloc_obj_t child = bridge->io_first_child; child != nullptr;
         child = child->next_sibling) {
      read_object(child, parent);
    }
  }

  void read_object(hwloc_obj_t object, std::optional<std::uint32_t> parent) {
    const bool is_bridge = object->type == HWLOC_OBJ_BRIDGE;
    if (!is_bridge && object->type != HWLOC_OBJ_PCI_DEVICE) return;
    const PciAttributes& pci = is_bridge ? object->attr->bridge.upstream.pci : object->attr->pcidev;
    const auto id = static_cast<std::uint32_t>(host_.pci.size());
    PciNode node{fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func),
                 parent,
                 numa_of(object),
                 {},
                 {}};
    node.link = sysfs_.empty() ? Bandwidth{} : pcie_rate_of(sysfs_, node.address);
    node.link_from = "PCIe of ";
    if (node.link.bytes_per_second == 0 && pci.linkspeed > 0) {
      // hwloc gives GB/s as a float of seven digits: round to whole MB/s.
      node.link = {static_cast<std::uint64_t>(std::llround(pci.linkspeed * 1000.0F)) * 1'000'000};
      node.link_from = "PCIe, at present, of ";
      node.at_present = true;
    }
    node.link_from += node.address;
    host_.pci.push_back(node);
    if (is_bridge) {
      read_children(object, id);
    } else if (is_gpu(object, pci)) {
      host_.gpus.push_back({id, name_of(object), {}});
    } else if (auto names = interfaces_of(object); !names.empty()) {
      const Bandwidth speed = sysfs_.empty() ? Bandwidth{} : nic_speed_of(sysfs_, names);
      host_.nics.push_back({id, std::move(names), speed});
    }
  }

  /// One that computes: not the display of a server's management, of a virtual machine, or of a
  /// processor.
  static bool is_gpu(hwloc_obj_t object, const PciAttributes& pci) {
    for (hwloc_obj_t child = object->io_first_child; child != nullptr;
         child = child->next_sibling) {
      if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_COPROC) return true;
    }
    const std::uint16_t kind = pci.class_id;
    const bool accelerator = kind == 0x0302 || kind == 0x0380 || kind == 0x1200;
    const bool display = kind == 0x0300;
    if (pci.vendor_id == kNvidia || pci.vendor_id == kAmd) return accelerator || display;
    return pci.vendor_id == kIntel && accelerator;
  }

  static std::string name_of(hwloc_obj_t device) {
    const std::string name = info(device, "PCIDevice");
    return name.empty() && device->name != nullptr ? device->name : name;
  }

  static std::vector<std::string> interfaces_of(hwloc_obj_t device) {
    std::vector<std::string> names;
    for (hwloc_obj_t child = device->io_first_child; child != nullptr;
         child = child->next_sibling) {
      const hwloc_obj_osdev_type_t type = child->attr->osdev.type;
      const bool network = type == HWLOC_OBJ_OSDEV_NETWORK || type == HWLOC_OBJ_OSDEV_OPENFABRICS;
      if (network && child->name != nullptr) names.emplace_back(child->name);
    }
    std::ranges::sort(names);
    return names;
  }

  hwloc_topology_t tree_;
  Host& host_;
  std::string sysfs_;
  std::map<unsigned, std::uint32_t> numa_at_;  // by the system's number
};

/// The GPU at an address; one that hwloc does not see (in a container) is added.
std::uint32_t gpu_at(Host& host, const NvmlGpu& told) {
  for (std::uint32_t i = 0; i < host.gpus.size(); ++i) {
    if (host.pci[host.gpus[i].pci].address == told.address) return i;
  }
  host.pci.push_back({told.address, std::nullopt, std::nullopt, {}, {}});
  host.gpus.push_back({static_cast<std::uint32_t>(host.pci.size() - 1), {}, {}});
  return static_cast<std::uint32_t>(host.gpus.size() - 1);
}

void add_link(Gpu& gpu, NvLinks::To to, std::uint32_t peer, const NvmlLink& link) {
  const auto same = [&](const NvLinks& known) {
    return known.to == to && known.gpu == peer && known.each == link.speed;
  };
  auto known = std::ranges::find_if(gpu.nvlinks, same);
  if (known == gpu.nvlinks.end()) {
    known = gpu.nvlinks.insert(known, {to, peer, 0, link.speed, link.assumed});
  }
  ++known->count;
}

void add_nvlinks(Host& host, const NvmlGpu& told) {
  using Remote = NvmlLink::Remote;
  const auto at = [&](const std::string& address) {
    return std::ranges::find_if(
        host.gpus, [&](const Gpu& gpu) { return host.pci[gpu.pci].address == address; });
  };
  Gpu& gpu = *at(told.address);
  for (const NvmlLink& link : told.links) {
    const auto peer = at(link.address);
    if (link.remote == Remote::Processor) {
      add_link(gpu, NvLinks::To::Processor, 0, link);
    } else if (link.remote != Remote::Switch && peer != host.gpus.end()) {
      add_link(gpu, NvLinks::To::Gpu, static_cast<std::uint32_t>(peer - host.gpus.begin()), link);
    } else if (link.remote != Remote::Gpu) {
      add_link(gpu, NvLinks::To::Switch, 0, link);
    }  // else a GPU that this process may not use: no link
  }
}

void add_nvml(Host& host, const std::string& library) {
  const NvmlAnswer answer = ask_nvml(library);
  if (!answer.there) {
    host.nvml = "not asked: " + answer.why;
    return;
  }
  host.nvml = fmt::format("{} GPU{}", answer.gpus.size(), answer.gpus.size() == 1 ? "" : "s");
  for (const NvmlGpu& told : answer.gpus) {
    Gpu& gpu = host.gpus[gpu_at(host, told)];
    if (!told.name.empty()) gpu.name = told.name;
    PciNode& node = host.pci[gpu.pci];
    if (const Bandwidth rate = pcie_rate(told.pcie_generation, told.pcie_width);
        rate.bytes_per_second > 0) {
      node.link = rate;
      node.link_from = fmt::format("PCIe of {} (NVML)", node.address);
      node.at_present = false;
      // The port above is the other end of the same link: it saves power at the same time, so what
      // was read of it is too low as well.
      const bool alone = std::ranges::count(host.pci, node.parent, &PciNode::parent) == 1;
      if (node.parent && alone && host.pci[*node.parent].at_present) {
        PciNode& port = host.pci[*node.parent];
        port.link = node.link;
        port.link_from = node.link_from;
        port.at_present = false;
      }
    }
  }
  std::ranges::sort(host.gpus, {}, [&](const Gpu& gpu) { return host.pci[gpu.pci].address; });
  for (const NvmlGpu& told : answer.gpus) add_nvlinks(host, told);
}

std::string own_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
}

}  // namespace

std::uint32_t Host::cores() const {
  return std::accumulate(numa.begin(), numa.end(), 0U,
                         [](std::uint32_t sum, const NumaNode& node) { return sum + node.cores; });
}

Host discover_host(const DiscoverOptions& options) {
  const Tree tree = load(options.hwloc_file);
  const bool here = hwloc_topology_is_thissystem(tree.get()) != 0;
  Host host;
  host.name = info(hwloc_get_root_obj(tree.get()), "HostName");
  if (host.name.empty()) host.name = here ? own_name() : "host";
  host.source = !options.hwloc_file.empty() ? options.hwloc_file
                : here                      ? "this host"
                                            : "hwloc's variables";
  host.processor = processor_of(tree.get());
  Reader(tree.get(), host, options.sysfs.empty() && here ? "/sys" : options.sysfs).read();
  if (host.cores() == 0) {
    throw Error(ErrorCode::Unsupported, fmt::format("{}: there are no cores", host.source));
  }
  const char* named = std::getenv("MULTITREE_NVML_LIBRARY");
  const std::string library = !options.nvml_library.empty() ? options.nvml_library
                              : named != nullptr            ? named
                              : here                        ? kNvmlLibrary
                                                            : "";
  if (library.empty()) {
    host.nvml = "not asked: not this host";
  } else {
    add_nvml(host, library);
  }
  return host;
}

}  // namespace multitree::discovery
