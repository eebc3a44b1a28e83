// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finds and loads the library with the CUDA part.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "runtime/device/device.hpp"

namespace multitree::runtime::device {
namespace {

constexpr const char* kLibrary = "libmultitree_cuda.so";
constexpr const char* kNamed = "MULTITREE_CUDA_LIBRARY";

/// Where the program or the shared library lies that this code has become part of.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&cuda_is_loaded), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  const std::filesystem::path self = std::filesystem::canonical(info.dli_fname, error);
  // A program started through PATH is known by its bare name.
  return error ? std::filesystem::read_symlink("/proc/self/exe", error).parent_path()
               : self.parent_path();
}

/// The library and its symbol, looked up once.
struct Library {
  OpenFunction open = nullptr;
  std::string why;
};

/// Those that there are; last of all it is left to the loader.
std::vector<std::string> places_to_look() {
  if (const char* named = std::getenv(kNamed)) return {named};
  const std::filesystem::path folder = own_folder();
  std::vector<std::string> places;
  // The last two are in a build tree, from tools/ and from tests/NAME/.
  for (const char* from : {".", "../lib", "../runtime/device", "../../runtime/device"}) {
    const std::filesystem::path place = folder / from / kLibrary;
    std::error_code error;
    if (std::filesystem::exists(place, error)) places.push_back(place);
  }
  places.emplace_back(kLibrary);
  return places;
}

Library load() {
  Library library;
  for (const std::string& place : places_to_look()) {
    void* handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const std::string error = ::dlerror();
      const bool nowhere = place == kLibrary && error.starts_with(kLibrary);
      if (nowhere && !library.why.empty()) continue;
      library.why += library.why.empty() ? "" : "; ";
      library.why += nowhere ? fmt::format(
                                   "{} lies neither beside the program nor in ../lib, and "
                                   "the loader does not find it; {} may name it",
                                   kLibrary, kNamed)
                             : error;
      continue;
    }
    // Never closed: CUDA does not survive being unloaded.
    library.open = reinterpret_cast<OpenFunction>(::dlsym(handle, "multitree_device_open"));
    if (library.open != nullptr) return library;
    library.why = fmt::format("{} has no multitree_device_open", place);
  }
  return library;
}

}  // namespace

bool cuda_is_loaded() {
  if (std::getenv(kNamed) != nullptr) return true;
  void* handle = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (handle != nullptr) ::dlclose(handle);
  return handle != nullptr;
}

std::shared_ptr<const Device> open_cuda(std::int32_t ordinal, std::string& why) {
  static const Library library = load();
  if (library.open == nullptr) {
    why = library.why;
    return nullptr;
  }
  Table table;
  if (const Status status = library.open(kTableVersion, ordinal, &table)) {
    why = status;
    return nullptr;
  }
  return std::make_shared<const Device>(table);
}

std::vector<std::string> cuda_devices(std::string& why) {
  std::vector<std::string> found;
  std::set<std::string> units;
  for (std::int32_t number = 0;; ++number) {
    const auto device = open_cuda(number, why);
    // A library may take every number for its one device.
    if (device == nullptr || !units.insert(device->table().identity.unit.data()).second) break;
    found.emplace_back(device->table().description);
  }
  return found;
}

}  // namespace multitree::runtime::device
