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
    Whole,    ///< a message, with it
    Offer,    ///< a message that lies in its sender's memory
    Opening,  ///< a message, with its first part; the others follow
    Want,     ///< of an offer: cannot be read from here, is to be sent in parts
    Part,     ///< of an offer or of what was opened, with it
    Taken,    ///< of an offer: has been read
  };
  std::uint64_t tag = 0;
  Note note{};
  std::uint64_t bytes = 0;       ///< of the message; of a part
  std::uint64_t offset = 0;      ///< of an offer, where it lies; of a part, where it begins
  std::uint32_t allocation = 0;  ///< of an offer: Place
  std::uint32_t number = 0;      ///< of an offer or opening, as its sender counts
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
        cell.write(letter, data, bytes);
        cell.stamp.store(free + 1, std::memory_order_release);
        return true;
      }
      if (stamp > free) ticket = tail_.load(std::memory_order_relaxed);
    }
  }

  /// Whether so many letters would find room now. \pre at most kCells
  [[nodiscard]] bool has_room(std::uint64_t letters) const {
    const std::uint64_t last = tail_.load(std::memory_order_relaxed) + letters - 1;
    return cells_[last % kCells].stamp.load(std::memory_order_relaxed) >= 2 * (last / kCells);
  }

  /// Hands the letter that is `number`th of all, and what goes with it, to `read`; false if it has
  /// not come.
  template <typename Read>
  bool take(std::uint64_t number, const Read& read) {
    Cell& cell = cells_[number % kCells];
    const std::uint64_t full = 2 * (number / kCells) + 1;
    if (cell.stamp.load(std::memory_order_acquire) != full) return false;
    cell.read(read);
    cell.stamp.store(full + 1, std::memory_order_release);
    return true;
  }

  /// Whether there is no room behind the letter that is `number`th of all, the next to be taken.
  [[nodiscard]] bool is_full(std::uint64_t number) const {
    const std::uint64_t last = number + kCells - 1;
    return cells_[last % kCells].stamp.load(std::memory_order_relaxed) == 2 * (last / kCells) + 1;
  }

 private:
  /// What a long letter has besides its sender, tag and kind.
  struct Rest {
    Note note;
    std::uint64_t bytes, offset;
    std::uint32_t allocation, number;
  };

  /// Stamp and letter are a cache line, and what goes with it up to a page follows. A brief letter
  /// is a whole message so short that it lies in the rest of that line, and whose note is hardly
  /// more than its length. The stamp is 2 n while the cell waits for the letter of its n-th round,
  /// and 2 n + 1 with it.
  struct alignas(64) Cell {
    static constexpr std::uint32_t kFromBits = 16, kNoteBits = 24;
    static constexpr std::uint32_t kLong = 0x80;  ///< and its kind; or the length of a brief one

    std::atomic<std::uint64_t> stamp;
    std::uint64_t tag_and_from;
    std::uint32_t form_and_note;
    std::byte near[44];  ///< a brief message, or the Rest
    std::byte data[4096];

    static bool is_brief(const Letter& letter) {
      return letter.kind == Letter::Kind::Whole && letter.bytes <= sizeof near &&
             letter.note.words[0] == letter.bytes && letter.note.words[1] >> kNoteBits == 0;
    }

    void write(const Letter& letter, const void* from, std::size_t bytes) {
      tag_and_from = letter.tag << kFromBits | letter.from;
      if (is_brief(letter)) {
        form_and_note =
            static_cast<std::uint32_t>(letter.bytes << kNoteBits | letter.note.words[1]);
        if (bytes != 0) std::memcpy(near, from, bytes);
        return;
      }
      form_and_note = (kLong | static_cast<std::uint32_t>(letter.kind)) << kNoteBits;
      const Rest rest{letter.note, letter.bytes, letter.offset, letter.allocation, letter.number};
      std::memcpy(near, &rest, sizeof rest);
      if (bytes != 0) std::memcpy(data, from, bytes);
    }

    template <typename Read>
    void read(const Read& read) const {
      const std::uint32_t form = form_and_note >> kNoteBits;
      Letter letter{.tag = tag_and_from >> kFromBits,
                    .from = static_cast<std::uint32_t>(tag_and_from & ((1U << kFromBits) - 1))};
      if ((form & kLong) == 0) {
        letter.bytes = form;
        letter.note = {{form, form_and_note & ((1U << kNoteBits) - 1)}};
        return read(letter, near);
      }
      Rest rest;
      std::memcpy(&rest, near, sizeof rest);
      letter.kind = static_cast<Letter::Kind>(form & ~kLong);
      letter.note = rest.note;
      letter.bytes = rest.bytes;
      letter.offset = rest.offset;
      letter.allocation = rest.allocation;
      letter.number = rest.number;
      read(letter, data);
    }
  };
  static_assert(sizeof(Rest) <= sizeof(Cell::near) && sizeof(Cell) == 65UL * 64);
  static_assert(kMaxRanks <= 1U << Cell::kFromBits && kTagBits + Cell::kFromBits <= 64);

  alignas(64) std::atomic<std::uint64_t> tail_;
  Cell cells_[kCells];

 public:
  static constexpr std::size_t kRoom = sizeof(Cell::data);
};
static_assert(sizeof(Inbox) == (Inbox::kCells * 65 + 1) * 64);

}  // namespace multitree::runtime::host
