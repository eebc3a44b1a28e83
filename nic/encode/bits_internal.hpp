// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bytes as a string of bits, least significant first.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace multitree::nic {

/// Appends numbers of any width.
class BitWriter {
 public:
  explicit BitWriter(std::string bytes = {}) : bytes_(std::move(bytes)) {}

  /// \pre value < 2^width, width <= 64.
  void put(std::uint64_t value, std::uint32_t width) {
    ones_ += static_cast<std::uint32_t>(std::popcount(value));
    while (width > 0) {
      if (used_ == 0) bytes_.push_back('\0');
      const std::uint32_t take = std::min(width, 8 - used_);
      const auto bits = static_cast<std::uint32_t>(value & ((1U << take) - 1)) << used_;
      bytes_.back() = static_cast<char>(static_cast<unsigned char>(bytes_.back()) | bits);
      value >>= take;
      width -= take;
      used_ = (used_ + take) % 8;
    }
  }
  /// A number of 8, 16, 32 or 64 bits.
  template <typename T>
  void number(T value) {
    put(value, 8 * sizeof(T));
  }
  /// Zeros to the end of the byte.
  void align() { used_ = 0; }
  /// Bits that are one since the last call.
  std::uint32_t take_ones() { return std::exchange(ones_, 0); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::uint32_t used_ = 0;  // bits of the last byte; 0: all
  std::uint32_t ones_ = 0;
};

/// Reads them back and says where it stopped.
class BitReader {
 public:
  BitReader(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  /// \pre width <= 64. \throws Error(InvalidInput) naming `what` at the end of the bytes.
  std::uint64_t bits(std::uint32_t width, std::string_view what) {
    need_bits(width, what);
    std::uint64_t value = 0;
    for (std::uint32_t done = 0; done < width;) {
      const std::uint32_t take = std::min(width - done, 8 - used_);
      const std::uint64_t bits =
          static_cast<std::uint32_t>(static_cast<unsigned char>(bytes_[at_])) >> used_;
      value |= (bits & ((1U << take) - 1)) << done;
      done += take;
      used_ += take;
      at_ += used_ / 8;
      used_ %= 8;
    }
    ones_ += static_cast<std::uint32_t>(std::popcount(value));
    return value;
  }
  template <typename T>
  T number(std::string_view what) {
    return static_cast<T>(bits(8 * sizeof(T), what));
  }
  /// To the next whole byte. \throws Error(InvalidInput) unless zeros are left out.
  void align() {
    if (used_ == 0) return;
    if (bits(8 - used_, "zeros") != 0) fail("expected zeros to the end of the byte, got ones");
  }
  /// Bits that are one since the last call.
  std::uint32_t take_ones() { return std::exchange(ones_, 0); }
  /// \throws Error(InvalidInput) if fewer bytes are left.
  void need(std::uint64_t bytes, std::string_view what) const {
    if (left() < bytes) fail_at_end(what);
  }
  [[noreturn]] void fail(const std::string& what) const;
  /// Whole bytes. \pre aligned.
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }
  void skip(std::size_t bytes) { at_ += bytes; }

 private:
  void need_bits(std::uint32_t width, std::string_view what) const {
    if (left() * 8 - used_ < width) fail_at_end(what);
  }
  [[noreturn]] void fail_at_end(std::string_view what) const;

  std::string_view bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
  std::uint32_t used_ = 0;  // bits of the byte at at_
  std::uint32_t ones_ = 0;
};

}  // namespace multitree::nic
