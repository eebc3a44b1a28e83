// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Codes of a few bits, one after the other: written and read several at a time.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "topologies/error.hpp"

namespace multitree::runtime {

/// The longest code. A table of them fits the first cache, and five look-ups a word of 64 bits.
inline constexpr unsigned kMostBits = 11;
inline constexpr unsigned kLookups = 5, kSymbolsOfLookup = 4;
static_assert(kLookups * kMostBits <= 57);

[[noreturn]] inline void malformed(const std::string& what) {
  throw Error(ErrorCode::Transport, "packed floats are malformed: " + what);
}

/// Codes of one stream, as they are written.
class BitWriter {
 public:
  explicit BitWriter(std::uint8_t* to) : to_(to) {}
  void put(std::uint32_t code, unsigned bits) {
    word_ |= std::uint64_t{code} << bits_;
    bits_ += bits;
  }
  /// All whole bytes; writes eight.
  void flush() {
    std::memcpy(to_, &word_, sizeof word_);
    to_ += bits_ / 8;
    word_ >>= bits_ & ~7U;
    bits_ &= 7U;
  }
  /// All whole bytes, and writes no others.
  void flush_exactly() {
    for (; bits_ >= 8; bits_ -= 8, word_ >>= 8) *to_++ = static_cast<std::uint8_t>(word_);
  }
  void finish() {
    flush_exactly();
    if (bits_ != 0) *to_ = static_cast<std::uint8_t>(word_);
  }

 private:
  std::uint8_t* to_;
  std::uint64_t word_ = 0;
  unsigned bits_ = 0;
};

/// Codes of one stream, as they are read.
class BitReader {
 public:
  BitReader() = default;
  BitReader(std::span<const std::uint8_t> stream, std::uint8_t* to, std::uint8_t* end)
      : stream_(stream), to_(to), end_(end) {}

  /// Whether a word of look-ups reads and writes nothing beyond the ends.
  [[nodiscard]] bool has_word() const {
    return bits_ / 8 + 8 <= stream_.size() && end_ - to_ >= (kLookups + 1) * kSymbolsOfLookup;
  }
  void read_word(const std::uint64_t* table, std::uint64_t mask) {
    std::uint64_t word = 0;
    std::memcpy(&word, stream_.data() + bits_ / 8, sizeof word);
    word >>= bits_ & 7U;
    for (unsigned i = 0; i < kLookups; ++i) {
      const std::uint64_t entry = table[word & mask];
      const auto some = static_cast<std::uint32_t>(entry);
      std::memcpy(to_, &some, sizeof some);
      to_ += entry >> 32 & 0xffU;
      const auto bits = static_cast<unsigned>(entry >> 40);
      word >>= bits;
      bits_ += bits;
    }
  }
  /// One symbol at a time. \throws Error(Transport) unless its codes end with the stream
  void finish(const std::uint64_t* table, std::uint64_t mask, const std::uint8_t* lengths) {
    while (to_ != end_) {
      std::uint64_t word = 0;
      const std::size_t at = std::min(bits_ / 8, stream_.size());
      std::memcpy(&word, stream_.data() + at, std::min<std::size_t>(8, stream_.size() - at));
      const auto symbol = static_cast<std::uint8_t>(table[word >> (bits_ & 7U) & mask]);
      *to_++ = symbol;
      bits_ += lengths[symbol];
      if (bits_ > 8 * stream_.size()) break;
    }
    if (to_ != end_ || (bits_ + 7) / 8 != stream_.size()) {
      malformed(
          fmt::format("expected codes that end with their stream of {} bytes, found {} bits "
                      "and {} elements more",
                      stream_.size(), bits_, end_ - to_));
    }
  }

 private:
  std::span<const std::uint8_t> stream_;
  std::uint8_t *to_ = nullptr, *end_ = nullptr;
  std::size_t bits_ = 0;  ///< that have been read
};

}  // namespace multitree::runtime
