// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// UTF-8 by the table of RFC 3629, section 4.
#include <algorithm>

#include "topologies/utf8_internal.hpp"

namespace multitree {
namespace {

// Length of the sequence that `lead` starts, and the range of its second byte; 0 if it starts none.
struct Sequence {
  std::size_t length;
  unsigned char low = 0x80, high = 0xBF;
};

Sequence sequence_of(unsigned char lead) {
  if (lead < 0x80) return {1};
  if (lead >= 0xC2 && lead <= 0xDF) return {2};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {3};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead >= 0xF1 && lead <= 0xF3) return {4};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

}  // namespace

std::size_t utf8_error(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t pos = 0; pos < text.size();) {
    const Sequence sequence = sequence_of(byte(pos));
    if (sequence.length == 0 || sequence.length > text.size() - pos) return pos;
    for (std::size_t i = 1; i < sequence.length; ++i) {
      const unsigned char low = i == 1 ? sequence.low : 0x80, high = i == 1 ? sequence.high : 0xBF;
      if (byte(pos + i) < low || byte(pos + i) > high) return pos;
    }
    pos += sequence.length;
  }
  return text.size();
}

bool is_plain_name(std::string_view name) {
  const auto is_control = [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; };
  return utf8_error(name) == name.size() && std::ranges::none_of(name, is_control);
}

}  // namespace multitree
