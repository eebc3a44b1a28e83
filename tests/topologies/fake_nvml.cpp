// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A stand-in for libnvidia-ml.so.1. FAKE_NVML has its GPUs, separated by ';', each
///
///     address,name,PCIe generation,lanes,MB/s of a link (0: not told),link*count,...
///
/// where a link is "switch", "processor", "untold" (neither type nor address) or an address; the
/// rest as in NVML. "broken": nvmlInit_v2 fails.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kDriverNotLoaded = 9;

struct PciInfo {
  char legacy_address[16];
  unsigned domain, bus, device, ids, subsystem;
  char address[32];
};

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type, result;
  union {
    double real;
    unsigned number;
    unsigned long long large;
  } value;
};

struct Gpu {
  std::string address, name;
  unsigned generation = 0, lanes = 0, speed = 0;
  std::vector<std::string> links;
};

std::vector<Gpu> gpus;

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> items;
  std::stringstream stream(text);
  for (std::string item; std::getline(stream, item, mark);) items.push_back(item);
  return items;
}

Gpu& gpu_of(void* device) { return *static_cast<Gpu*>(device); }

void fill(PciInfo& info, const std::string& address) {
  info = {};
  std::sscanf(address.c_str(), "%x:%x:%x", &info.domain, &info.bus, &info.device);
  std::snprintf(info.address, sizeof info.address, "%08X:%02X:%02X.0", info.domain, info.bus,
                info.device);
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  const char* text = std::getenv("FAKE_NVML");
  const std::string all = text == nullptr ? "" : text;
  if (all == "broken") return kDriverNotLoaded;
  gpus.clear();
  for (const std::string& one : split(all, ';')) {
    const std::vector<std::string> parts = split(one, ',');
    Gpu gpu{parts[0],
            parts[1],
            static_cast<unsigned>(std::stoul(parts[2])),
            static_cast<unsigned>(std::stoul(parts[3])),
            static_cast<unsigned>(std::stoul(parts[4])),
            {}};
    for (std::size_t i = 5; i < parts.size(); ++i) {
      const std::vector<std::string> link = split(parts[i], '*');
      gpu.links.insert(gpu.links.end(), std::stoul(link[1]), link[0]);
    }
    gpus.push_back(gpu);
  }
  return kSuccess;
}

int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int error) {
  return error == kDriverNotLoaded ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(gpus.size());
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= gpus.size()) return kInvalidArgument;
  *device = &gpus[index];
  return kSuccess;
}

int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  fill(*info, gpu_of(device).address);
  return kSuccess;
}

int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  std::snprintf(name, length, "%s", gpu_of(device).name.c_str());
  return kSuccess;
}

int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* generation) {
  *generation = gpu_of(device).generation;
  return kSuccess;
}

int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* lanes) {
  *lanes = gpu_of(device).lanes;
  return kSuccess;
}

int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* up) {
  // The first link of every GPU is down.
  const std::size_t count = gpu_of(device).links.size();
  if (count == 0) return kNotSupported;
  if (link > count) return kInvalidArgument;
  *up = link == 0 ? 0 : 1;
  return kSuccess;
}

int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) {
  *version = 5;
  return kSuccess;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, unsigned* type) {
  const std::string& remote = gpu_of(device).links.at(link - 1);
  if (remote == "untold") return kNotSupported;
  *type = remote == "processor" ? 1 : remote == "switch" ? 2 : 0;
  return kSuccess;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, PciInfo* info) {
  const std::string& remote = gpu_of(device).links.at(link - 1);
  if (remote == "untold") return kNotSupported;
  fill(*info, remote == "switch" || remote == "processor" ? "0000:c4:00.0" : remote);
  return kSuccess;
}

int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    const unsigned speed = gpu_of(device).speed;
    values[i].result = values[i].field == 90 && speed > 0 ? kSuccess : kNotSupported;
    values[i].type = 1;
    values[i].value.number = speed;
  }
  return kSuccess;
}

}  // extern "C"
