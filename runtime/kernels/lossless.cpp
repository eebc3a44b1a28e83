// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Floats in planes of bytes, of which one is coded.
#include "runtime/kernels/lossless.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/kernels/bit_streams_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Fewer elements do not pay for the lengths of their codes.
constexpr std::size_t kLeastElements = 64;

/// The sign goes last, so that the first byte begins with the exponent.
template <typename Word>
Word turned(Word word) {
  return static_cast<Word>(word << 1 | word >> (8 * sizeof(Word) - 1));
}
template <typename Word>
Word turned_back(Word word) {
  return static_cast<Word>(word >> 1 | word << (8 * sizeof(Word) - 1));
}

/// Elements at a time, so that what is written and read overlaps nothing that a compiler knows.
constexpr std::size_t kBlock = 256;

/// What is left goes to `rest` in planes of bytes, the lowest first.
template <typename Word>
void split(std::uint8_t* symbols, std::uint8_t* rest, const std::uint8_t* from, std::size_t count) {
  constexpr std::size_t kPlanes = sizeof(Word) - 1;
  Word words[kBlock];
  std::uint8_t bytes[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t length = std::min(kBlock, count - at);
    std::memcpy(words, from + at * sizeof(Word), length * sizeof(Word));
    for (std::size_t i = 0; i < kBlock; ++i) words[i] = turned(words[i]);
    for (std::size_t plane = 0; plane <= kPlanes; ++plane) {
      const unsigned shift = 8 * static_cast<unsigned>(plane);
      for (std::size_t i = 0; i < kBlock; ++i) {
        bytes[i] = static_cast<std::uint8_t>(words[i] >> shift);
      }
      std::memcpy((plane == kPlanes ? symbols : rest + plane * count) + at, bytes, length);
    }
  }
}

template <typename Word>
void join(std::uint8_t* to, const std::uint8_t* symbols, const std::uint8_t* rest,
          std::size_t count) {
  constexpr std::size_t kPlanes = sizeof(Word) - 1;
  Word words[kBlock];
  std::uint8_t bytes[kBlock] = {};
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t length = std::min(kBlock, count - at);
    std::fill(words, words + kBlock, Word{0});
    for (std::size_t plane = 0; plane <= kPlanes; ++plane) {
      const unsigned shift = 8 * static_cast<unsigned>(plane);
      std::memcpy(bytes, (plane == kPlanes ? symbols : rest + plane * count) + at, length);
      for (std::size_t i = 0; i < kBlock; ++i) {
        words[i] = static_cast<Word>(words[i] | static_cast<Word>(Word{bytes[i]} << shift));
      }
    }
    for (std::size_t i = 0; i < kBlock; ++i) words[i] = turned_back(words[i]);
    std::memcpy(to + at * sizeof(Word), words, length * sizeof(Word));
  }
}

/// By the width of an element.
template <typename Function>
void with_word(std::size_t width, const Function& function) {
  switch (width) {
    case 2:
      return function(std::uint16_t{});
    case 4:
      return function(std::uint32_t{});
    case 8:
      return function(std::uint64_t{});
    default:
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("lossless: expected elements of 2, 4 or 8 bytes, got {}", width));
  }
}

}  // namespace

std::size_t LosslessCodec::encode(void* to, const void* from, std::size_t count,
                                  std::size_t width) {
  auto* const out = static_cast<std::uint8_t*>(to);
  const std::size_t rest = count * (width - 1);
  if (count >= kLeastElements) {
    symbols_.resize(count);
    with_word(width, [&](auto word) {
      split<decltype(word)>(symbols_.data(), out, static_cast<const std::uint8_t*>(from), count);
    });
    const std::size_t coded = huffman_.encode(out + rest, count - 1, symbols_);
    if (coded != 0) return rest + coded;
  }
  if (count != 0) std::memcpy(to, from, count * width);
  return count * width;
}

void LosslessCodec::decode(void* to, std::size_t count, std::size_t width, const void* from,
                           std::size_t bytes) {
  const std::size_t whole = count * width, rest = count * (width - 1);
  if (bytes == whole) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return;
  }
  if (count < kLeastElements || bytes > whole || bytes < rest + 2) {
    malformed(
        fmt::format("expected {} bytes of {} elements, or {} and more that are packed, found {}",
                    whole, count, rest + 2, bytes));
  }
  const auto* const in = static_cast<const std::uint8_t*>(from);
  symbols_.resize(count);
  huffman_.decode(symbols_, {in + rest, bytes - rest});
  with_word(width, [&](auto word) {
    join<decltype(word)>(static_cast<std::uint8_t*>(to), symbols_.data(), in, count);
  });
}

}  // namespace multitree::runtime
