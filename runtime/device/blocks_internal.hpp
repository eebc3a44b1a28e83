// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Pieces of memory for messages on their way, kept from one collective to the next.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/device/device.hpp"

namespace multitree::runtime::device {

/// Allocating pinned or device memory takes longer than most collectives, and an allocation has one
/// handle for other processes: blocks are cut from arenas.
class BlockPool {
 public:
  enum class Kind : std::uint8_t { Pinned, Device, Shared };
  struct Block {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    std::uint32_t arena = 0;
  };

  /// `together`: blocks that are allocated at a time, where they are small.
  BlockPool(const Device& device, Kind kind, std::size_t together = 8)
      : device_(device), kind_(kind), together_(together) {}
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// At least `bytes`, aligned to 256. Never waits: where none is free, more is allocated.
  Block take(std::size_t bytes);
  void give(const Block& block);
  /// Of a Shared block: its arena's handle, and where in the arena it lies.
  [[nodiscard]] const Handle& handle(const Block& block) const {
    return arenas_[block.arena].handle;
  }
  [[nodiscard]] std::uint64_t offset(const Block& block) const {
    return static_cast<std::uint64_t>(block.memory - arenas_[block.arena].memory);
  }
  /// Whether `count` blocks of `bytes` can be taken without allocating; and allocates until so.
  [[nodiscard]] bool has(std::size_t bytes, std::size_t count) const;
  void reserve(std::size_t bytes, std::size_t count);
  [[nodiscard]] std::size_t taken() const { return taken_; }
  [[nodiscard]] std::size_t arenas() const { return arenas_.size(); }

 private:
  struct Arena {
    std::byte* memory = nullptr;
    Handle handle;
  };
  void grow(std::size_t bytes);

  const Device& device_;
  Kind kind_;
  std::size_t together_;
  std::vector<Arena> arenas_;
  std::vector<Block> free_;
  std::size_t taken_ = 0;
};

/// Words that users' streams wait for. A word only ever grows, so it can be used again as soon as
/// it was released, whether the stream has come to its wait or not; its memory is never freed, but
/// passed on to the next pool of the process.
class FlagPool {
 public:
  struct Flag {
    std::uint32_t* word = nullptr;
    std::uint32_t value = 0;  ///< what to wait for
  };

  explicit FlagPool(const Device& device) : device_(device) {}
  ~FlagPool();
  FlagPool(const FlagPool&) = delete;
  FlagPool& operator=(const FlagPool&) = delete;

  Flag take();
  [[nodiscard]] bool has() const { return !free_.empty(); }
  /// Allocates, so that there are some.
  void reserve();
  /// Lets the stream go on.
  void release(const Flag& flag);

 private:
  const Device& device_;
  std::vector<Flag> free_;
};

}  // namespace multitree::runtime::device
