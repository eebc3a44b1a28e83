// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The fake device's memory: at one address without any permission, at another for the fake itself.
#pragma once

#include <cstddef>
#include <map>

namespace multitree::runtime::test {

class FakeMemory {
 public:
  explicit FakeMemory(std::size_t bytes);
  ~FakeMemory();
  FakeMemory(const FakeMemory&) = delete;
  FakeMemory& operator=(const FakeMemory&) = delete;
  /// Aligned to 256; null if there is no room.
  void* allocate(std::size_t bytes);
  bool free(void* memory);
  [[nodiscard]] bool owns(const void* pointer) const;

 private:
  friend bool allocated(const void* pointer, std::size_t bytes);
  friend std::byte* behind(const void* pointer);
  std::size_t bytes_;
  std::byte* visible_ = nullptr;               ///< what users get: PROT_NONE
  std::byte* hidden_ = nullptr;                ///< the same pages
  std::map<std::size_t, std::size_t> blocks_;  ///< begin -> end, as offsets
};

/// Whether it lies in one piece of what some fake has allocated.
bool allocated(const void* pointer, std::size_t bytes);

void* allocate_pinned(std::size_t bytes);
void free_pinned(void* memory);
bool is_pinned(const void* pointer, std::size_t bytes);

}  // namespace multitree::runtime::test
