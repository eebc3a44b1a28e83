// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where a rank finds what others of its host have sent to it: a ring of cells that any of them
/// fills and one empties.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/messages/transport.hpp"

namespace multitree::runtime::host {

/// What is told of a message. Short ones are in it.
struct Letter {
  enum class Kind : std::uint8_t {
    Whole,  ///< a message, with it
    Offer,  ///< a message that lies in its sender's memory
    Want,   ///< of an offer: cannot be read from here, is to be sent in parts
    Part,   ///< of an offer, with it
    Taken,  ///< of an offer: has been read
  };
  std::uint64_t tag = 0;
  Note note{};
  std::uint64_t bytes = 0;       ///< of the message; of a part
  std::uint64_t offset = 0;      ///< of an offer, where it lies; of a part, where it begins
  std::uint32_t allocation = 0;  ///< of an offer: Place
  std::uint32_t number = 0;      ///< of an offer, as its sender counts
  std::uint32_t from = 0;
  Kind kind{};
};

/// Memory that is zero is an empty one. Only one rank calls take().
class Inbox {
 public:
  static constexpr std::uint64_t kCells = 32;

  /// False if it is full. `data`: letter.bytes of it, if it goes with the letter.
  bool put(const Letter& letter, const void* data, std::size_t bytes) {
    std::uint64_t ticket = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[ticket % kCells];
      const std::uint64_t free = 2 * (ticket / kCells);
      const std::uint64_t stamp = cell.stamp.load(std::memory_order_acquire);
      if (stamp < free) return false;
      if (stamp == free &&
          tail_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) {
        cell.letter = letter;
        if (bytes != 0) std::memcpy(cell.data, data, bytes);
        cell.stamp.store(free + 1, std::memory_order_release);
        return true;
      }
      if (stamp > free) ticket = tail_.load(std::memory_order_relaxed);
    }
  }

  /// Hands the letter that is `number`th of all, and what goes with it, to `read`; false if it has
  /// not come.
  template <typename Read>
  bool take(std::uint64_t number, const Read& read) {
    Cell& cell = cells_[number % kCells];
    const std::uint64_t full = 2 * (number / kCells) + 1;
    if (cell.stamp.load(std::memory_order_acquire) != full) return false;
    read(cell.letter, cell.data);
    cell.stamp.store(full + 1, std::memory_order_release);
    return true;
  }

 private:
  /// Stamp and letter are a cache line, and what goes with it up to a page follows. The stamp is 2
  /// n while the cell waits for the letter of its n-th round, and 2 n + 1 with it.
  struct alignas(64) Cell {
    std::atomic<std::uint64_t> stamp;
    Letter letter;
    std::byte data[4096];
  };

  alignas(64) std::atomic<std::uint64_t> tail_;
  Cell cells_[kCells];

 public:
  static constexpr std::size_t kRoom = sizeof(Cell::data);
};
static_assert(sizeof(Inbox) == (Inbox::kCells * 65 + 1) * 64);

}  // namespace multitree::runtime::host
