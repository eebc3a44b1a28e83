// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The few functions of NVML that are needed, declared here as its ABI has them, so that nothing of
/// CUDA is needed to build.
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "topologies/discovery/nvml_internal.hpp"

namespace multitree::discovery {
namespace {

using Device = void*;
using Return = int;
constexpr Return kSuccess = 0;

struct PciInfo {
  std::array<char, 16> legacy_address;
  unsigned domain, bus, device, ids, subsystem;
  std::array<char, 32> address;
};

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type;
  Return result;
  union {
    double real;
    unsigned number;
    unsigned long long large;
  } value;
};

constexpr unsigned kNvLinkSpeedField = 90;  // MB/s of the links that are up
enum RemoteType : unsigned { kGpu = 0, kIbmNpu = 1, kSwitch = 2, kUnknown = 255 };
/// More than any GPU has; NVML refuses numbers beyond its own.
constexpr unsigned kMostLinks = 64;
constexpr unsigned kNameBytes = 96;

class Nvml {
 public:
  /// Sets `why` and leaves it closed if it cannot be used.
  Nvml(const std::string& path, std::string& why) {
    // Never closed: a driver's library does not survive being unloaded.
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      why = ::dlerror();
      return;
    }
    const bool complete = find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
                          find(count, "nvmlDeviceGetCount_v2") &&
                          find(by_index, "nvmlDeviceGetHandleByIndex_v2") &&
                          find(pci, "nvmlDeviceGetPciInfo_v3") && find(name, "nvmlDeviceGetName");
    // Older drivers lack some of these functions, stand-ins of other vendors may lack all of them.
    find(link_state, "nvmlDeviceGetNvLinkState");
    find(link_version, "nvmlDeviceGetNvLinkVersion");
    find(remote_pci, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    find(remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType");
    find(fields, "nvmlDeviceGetFieldValues");
    find(pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
    find(pcie_width, "nvmlDeviceGetMaxPcieLinkWidth");
    find(error_text, "nvmlErrorString");
    if (!complete) {
      why = fmt::format("{} is not NVML", path);
    } else if (const Return result = init(); result != kSuccess) {
      why =
          fmt::format("{}: {}", path,
                      error_text != nullptr ? error_text(result) : fmt::format("error {}", result));
    } else {
      open_ = true;
    }
  }
  ~Nvml() {
    if (open_) shutdown();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] bool open() const { return open_; }

  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  Return (*count)(unsigned*) = nullptr;
  Return (*by_index)(unsigned, Device*) = nullptr;
  Return (*pci)(Device, PciInfo*) = nullptr;
  Return (*name)(Device, char*, unsigned) = nullptr;
  Return (*link_state)(Device, unsigned, unsigned*) = nullptr;
  Return (*link_version)(Device, unsigned, unsigned*) = nullptr;
  Return (*remote_pci)(Device, unsigned, PciInfo*) = nullptr;
  Return (*remote_type)(Device, unsigned, unsigned*) = nullptr;
  Return (*fields)(Device, int, FieldValue*) = nullptr;
  Return (*pcie_generation)(Device, unsigned*) = nullptr;
  Return (*pcie_width)(Device, unsigned*) = nullptr;
  const char* (*error_text)(Return) = nullptr;

 private:
  template <class Function>
  bool find(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(handle_, symbol));
    return function != nullptr;
  }

  void* handle_ = nullptr;
  bool open_ = false;
};

std::string address_of(const PciInfo& info) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

/// What the generations of NVLink are said to carry.
Bandwidth speed_of_generation(unsigned version) {
  constexpr std::uint64_t kGigabyte = 1'000'000'000;
  if (version <= 1) return {20 * kGigabyte};
  return {(version <= 4 ? 25 : 50) * kGigabyte};
}

void set_speed(const Nvml& nvml, Device device, unsigned number, NvmlLink& link) {
  FieldValue value{};
  value.field = kNvLinkSpeedField;
  if (nvml.fields != nullptr && nvml.fields(device, 1, &value) == kSuccess &&
      value.result == kSuccess && value.value.number > 0) {
    link.speed = {value.value.number * std::uint64_t{1'000'000}};
    return;
  }
  unsigned version = 0;
  if (nvml.link_version != nullptr) nvml.link_version(device, number, &version);
  link.speed = speed_of_generation(version);
  link.assumed = true;
}

NvmlLink::Remote remote_of(unsigned type) {
  switch (type) {
    case kGpu:
      return NvmlLink::Remote::Gpu;
    case kIbmNpu:
      return NvmlLink::Remote::Processor;
    case kSwitch:
      return NvmlLink::Remote::Switch;
    default:
      return NvmlLink::Remote::Unknown;
  }
}

std::vector<NvmlLink> links_of(const Nvml& nvml, Device device) {
  std::vector<NvmlLink> links;
  if (nvml.link_state == nullptr) return links;
  for (unsigned number = 0; number < kMostLinks; ++number) {
    unsigned up = 0;
    if (nvml.link_state(device, number, &up) != kSuccess) break;
    if (up == 0) continue;
    NvmlLink link;
    unsigned type = kUnknown;
    if (nvml.remote_type != nullptr) nvml.remote_type(device, number, &type);
    PciInfo remote{};
    const bool known =
        nvml.remote_pci != nullptr && nvml.remote_pci(device, number, &remote) == kSuccess;
    link.address = known ? address_of(remote) : std::string();
    link.remote = remote_of(type);
    set_speed(nvml, device, number, link);
    links.push_back(std::move(link));
  }
  return links;
}

}  // namespace

NvmlAnswer ask_nvml(const std::string& library) {
  NvmlAnswer answer;
  const Nvml nvml(library, answer.why);
  if (!nvml.open()) return answer;
  unsigned count = 0;
  if (nvml.count(&count) != kSuccess) {
    answer.why = fmt::format("{} does not tell the number of GPUs", library);
    return answer;
  }
  answer.there = true;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    PciInfo info{};
    // A GPU that is lost, or that this process may not use, has no handle.
    if (nvml.by_index(i, &device) != kSuccess || nvml.pci(device, &info) != kSuccess) continue;
    NvmlGpu gpu;
    gpu.address = address_of(info);
    std::array<char, kNameBytes> name{};
    if (nvml.name(device, name.data(), kNameBytes) == kSuccess) gpu.name = name.data();
    if (nvml.pcie_generation != nullptr) nvml.pcie_generation(device, &gpu.pcie_generation);
    if (nvml.pcie_width != nullptr) nvml.pcie_width(device, &gpu.pcie_width);
    gpu.links = links_of(nvml, device);
    answer.gpus.push_back(std::move(gpu));
  }
  return answer;
}

}  // namespace multitree::discovery
