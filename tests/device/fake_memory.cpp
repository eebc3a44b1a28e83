// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All fakes' memory and pinned memory of the process, behind one mutex: ranks are threads.
#include "fake_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>

namespace multitree::runtime::test {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr int kPoison = 0xa5;

std::mutex& mutex() {
  static std::mutex mutex;
  return mutex;
}

struct Registry {
  std::set<const FakeMemory*> devices;
  std::map<const std::byte*, std::size_t> pinned;
};

Registry& registry() {
  static auto* all = new Registry;  // outlives what is destroyed at the end of the process
  return *all;
}

const std::byte* bytes_of(const void* pointer) { return static_cast<const std::byte*>(pointer); }

}  // namespace

FakeMemory::FakeMemory(std::size_t bytes) : bytes_(bytes) {
  const int file = ::memfd_create("fake device", 0);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    throw std::runtime_error("no memory for a fake device");
  }
  void* visible = ::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
  void* hidden = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (visible == MAP_FAILED || hidden == MAP_FAILED) {
    throw std::runtime_error("no addresses for a fake device");
  }
  visible_ = static_cast<std::byte*>(visible);
  hidden_ = static_cast<std::byte*>(hidden);
  const std::scoped_lock lock(mutex());
  registry().devices.insert(this);
}

FakeMemory::~FakeMemory() {
  {
    const std::scoped_lock lock(mutex());
    registry().devices.erase(this);
  }
  ::munmap(visible_, bytes_);
  ::munmap(hidden_, bytes_);
}

void* FakeMemory::allocate(std::size_t bytes) {
  const std::scoped_lock lock(mutex());
  std::size_t begin = 0;
  for (const auto& [from, to] : blocks_) {
    if (begin + bytes <= from) break;
    begin = (to + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (begin + bytes > bytes_) return nullptr;
  blocks_[begin] = begin + bytes;
  std::memset(hidden_ + begin, kPoison, bytes);
  return visible_ + begin;
}

bool FakeMemory::free(void* memory) {
  const std::scoped_lock lock(mutex());
  const auto it = blocks_.find(static_cast<std::size_t>(bytes_of(memory) - visible_));
  if (it == blocks_.end()) return false;
  std::memset(hidden_ + it->first, kPoison, it->second - it->first);
  blocks_.erase(it);
  return true;
}

bool FakeMemory::owns(const void* pointer) const {
  return bytes_of(pointer) >= visible_ && bytes_of(pointer) < visible_ + bytes_;
}

bool allocated(const void* pointer, std::size_t bytes) {
  const std::scoped_lock lock(mutex());
  for (const FakeMemory* device : registry().devices) {
    if (!device->owns(pointer)) continue;
    const auto begin = static_cast<std::size_t>(bytes_of(pointer) - device->visible_);
    auto it = device->blocks_.upper_bound(begin);
    return it != device->blocks_.begin() && begin + bytes <= (--it)->second;
  }
  return false;
}

std::byte* behind(const void* pointer) {
  const std::scoped_lock lock(mutex());
  for (const FakeMemory* device : registry().devices) {
    if (device->owns(pointer)) return device->hidden_ + (bytes_of(pointer) - device->visible_);
  }
  return nullptr;
}

void* allocate_pinned(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(
      kAlignment, (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment));
  std::memset(memory, kPoison, bytes);
  const std::scoped_lock lock(mutex());
  registry().pinned[memory] = bytes;
  return memory;
}

void free_pinned(void* memory) {
  {
    const std::scoped_lock lock(mutex());
    registry().pinned.erase(bytes_of(memory));
  }
  std::free(memory);
}

bool is_pinned(const void* pointer, std::size_t bytes) {
  const std::scoped_lock lock(mutex());
  auto it = registry().pinned.upper_bound(bytes_of(pointer));
  if (it == registry().pinned.begin()) return false;
  --it;
  return bytes_of(pointer) + bytes <= it->first + it->second;
}

}  // namespace multitree::runtime::test
