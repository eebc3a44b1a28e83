// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bytes as Huffman codes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace multitree::runtime {

/// Coded bytes are: the least and the largest symbol; unless they are one, the lengths of codes
/// from one to the other in four bits each, the lengths of three streams in bytes, and four streams
/// of codes, a quarter of the symbols each. Keeps its memory from call to call.
class Huffman {
 public:
  /// Returns how many bytes of `to` were written; 0: they would be more than `room`.
  /// \pre there are symbols
  std::size_t encode(std::uint8_t* to, std::size_t room, std::span<const std::uint8_t> symbols);
  /// \pre there are symbols, and two bytes of code
  /// \throws Error(Transport) if `coded` is not what encode() makes of so many
  void decode(std::span<std::uint8_t> symbols, std::span<const std::uint8_t> coded);

 private:
  static constexpr std::size_t kSymbols = 256, kStreams = 4;

  void count(std::span<const std::uint8_t> symbols);
  void choose_lengths(unsigned most);
  [[nodiscard]] std::array<std::size_t, kStreams> stream_bytes() const;
  void assign_codes();
  void fill_table(unsigned bits);
  void write_streams(std::uint8_t* to, std::span<const std::size_t, kStreams> bytes,
                     std::span<const std::uint8_t> symbols) const;
  std::size_t read_lengths(std::span<const std::uint8_t> coded);
  void read_streams(std::span<std::uint8_t> symbols, std::span<const std::uint8_t> coded);

  std::array<std::array<std::uint32_t, kSymbols>, kStreams> counts_{};
  std::array<std::uint8_t, kSymbols> lengths_{};  ///< bits of a symbol's code; 0: there is none
  std::array<std::uint16_t, kSymbols> codes_{};   ///< the first bit is the lowest
  unsigned first_ = 0, last_ = 0;                 ///< symbols that there are
  /// By the next bits: up to four symbols, how many, and how many bits they take.
  std::vector<std::uint64_t> table_;
};

}  // namespace multitree::runtime
