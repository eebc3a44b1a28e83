// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Arenas, blocks and flags.
#include "runtime/device/blocks_internal.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace multitree::runtime::device {
namespace {

constexpr std::size_t kAlignment = 256;
/// What CUDA allocates at a time; other processes see the whole of it.
constexpr std::size_t kArenaUnit = 2U << 20;
constexpr std::size_t kMostBlocks = 64;  ///< of an arena
constexpr std::size_t kFlagsPerPage = 256;
/// A word has a cache line of its own: the device polls it.
constexpr std::size_t kFlagStride = 64 / sizeof(std::uint32_t);

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Of pools that are gone. A stream may come to its wait long after the release: the words stay.
std::vector<FlagPool::Flag>& spare_flags() {
  static auto* flags = new std::vector<FlagPool::Flag>;  // outlives every thread
  return *flags;
}

std::mutex& spare_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

BlockPool::~BlockPool() {
  for (const Arena& arena : arenas_) {
    kind_ == Kind::Pinned ? device_.free_pinned(arena.memory) : device_.free(arena.memory);
  }
}

void BlockPool::grow(std::size_t bytes) {
  const std::size_t total =
      round_up(std::max(bytes, std::min(bytes * together_, 16 * kArenaUnit)), kArenaUnit);
  Arena arena;
  void* memory = kind_ == Kind::Pinned ? device_.allocate_pinned(total) : device_.allocate(total);
  arena.memory = static_cast<std::byte*>(memory);
  arenas_.push_back(arena);
  if (kind_ == Kind::Shared) arenas_.back().handle = device_.share(memory);
  const auto number = static_cast<std::uint32_t>(arenas_.size() - 1);
  const std::size_t blocks = std::min(total / bytes, kMostBlocks);
  for (std::size_t b = blocks; b-- > 0;) free_.push_back({arena.memory + b * bytes, bytes, number});
}

bool BlockPool::has(std::size_t bytes, std::size_t count) const {
  const auto fit = std::count_if(free_.begin(), free_.end(),
                                 [&](const Block& block) { return block.bytes >= bytes; });
  return static_cast<std::size_t>(fit) >= count;
}

void BlockPool::reserve(std::size_t bytes, std::size_t count) {
  while (!has(bytes, count)) grow(round_up(std::max<std::size_t>(bytes, 1), kAlignment));
}

BlockPool::Block BlockPool::take(std::size_t bytes) {
  bytes = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  auto it = std::find_if(free_.rbegin(), free_.rend(),
                         [&](const Block& block) { return block.bytes >= bytes; });
  if (it == free_.rend()) {
    grow(bytes);
    it = free_.rbegin();
  }
  const Block block = *it;
  *it = free_.back();
  free_.pop_back();
  ++taken_;
  return block;
}

void BlockPool::give(const Block& block) {
  free_.push_back(block);
  --taken_;
}

FlagPool::~FlagPool() {
  const std::scoped_lock lock(spare_mutex());
  spare_flags().insert(spare_flags().end(), free_.begin(), free_.end());
}

void FlagPool::reserve() {
  if (free_.empty()) {
    const std::scoped_lock lock(spare_mutex());
    free_.swap(spare_flags());
  }
  if (free_.empty()) {
    void* page = device_.allocate_pinned(kFlagsPerPage * kFlagStride * sizeof(std::uint32_t));
    auto* words = static_cast<std::uint32_t*>(page);
    for (std::size_t i = 0; i < kFlagsPerPage; ++i) {
      words[i * kFlagStride] = 0;
      free_.push_back({words + i * kFlagStride, 0});
    }
  }
}

FlagPool::Flag FlagPool::take() {
  reserve();
  Flag flag = free_.back();
  free_.pop_back();
  ++flag.value;
  return flag;
}

void FlagPool::release(const Flag& flag) {
  std::atomic_ref(*flag.word).store(flag.value, std::memory_order_release);
  free_.push_back(flag);
}

}  // namespace multitree::runtime::device
