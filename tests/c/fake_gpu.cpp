// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The fake device as a library that the runtime loads.
#include "fake_gpu.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "device_support.hpp"
#include "fake_device.hpp"

namespace {

using multitree::runtime::device::Device;
using multitree::runtime::device::kTableVersion;
using multitree::runtime::device::Status;
using multitree::runtime::device::Table;

using Devices = std::vector<std::shared_ptr<const Device>>;

/// FAKE_GPU_DEVICES, or one. Those of several map each other, for ranks that are threads.
std::size_t number_of_devices() {
  const char* const wanted = std::getenv("FAKE_GPU_DEVICES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1;
}

/// Made when first asked for, so that every process that was forked has its own; never destroyed,
/// as the runtime and the test both use them.
const Devices& devices() {
  static const auto* const made = [] {
    const std::size_t number = number_of_devices();
    auto* const all = new Devices;
    for (std::size_t d = 0; d < number; ++d) {
      multitree::runtime::test::FakeOptions options;
      options.seed = static_cast<std::uint64_t>(::getpid()) + d;
      options.unit = std::to_string(d);
      options.mappable = number > 1 || std::getenv("FAKE_GPU_MAPPABLE") != nullptr;
      if (const char* items = std::getenv("FAKE_GPU_FAIL_AFTER")) {
        options.fail_after = std::strtoull(items, nullptr, 10);
      }
      all->push_back(multitree::runtime::test::make_fake_device(options));
    }
    return all;
  }();
  return *made;
}
const Device& device() { return *devices().front(); }

template <typename Body>
auto checked(const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake device: %s\n", error.what());
    std::_Exit(1);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) Status multitree_device_open(
    std::uint32_t version, std::int32_t ordinal, Table* table) {
  if (version != kTableVersion) return "another version of the table";
  const Devices& all = devices();
  // One alone serves whatever number somebody asks for.
  const auto number = static_cast<std::size_t>(all.size() > 1 && ordinal > 0 ? ordinal : 0);
  if (number >= all.size()) return "no such device";
  *table = all[number]->table();
  table->close = nullptr;  // it is not the runtime's alone
  return nullptr;
}

void* fake_malloc(size_t bytes) {
  return checked([&] { return device().allocate(bytes); });
}
void fake_free(void* memory) { device().free(memory); }
void* fake_malloc_pinned(size_t bytes) {
  return checked([&] { return device().allocate_pinned(bytes); });
}
void fake_free_pinned(void* memory) { device().free_pinned(memory); }
void* fake_stream_create(void) {
  return checked([] { return device().create_stream(false); });
}
void fake_stream_destroy(void* stream) { device().destroy_stream(stream); }
void fake_copy(void* to, const void* from, size_t bytes, void* stream) {
  checked([&] { device().copy(to, from, bytes, stream); });
}
void fake_hold(void* stream, unsigned* flag) {
  checked([&] { multitree::runtime::test::hold_stream(device(), stream, flag); });
}
void fake_synchronize(void* stream) {
  checked([&] { multitree::runtime::test::synchronize(device(), stream); });
}
