// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Inputs that every rank can recompute, and results computed from them without the runtime.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/communicator.hpp"

namespace multitree::tools {

/// What the buffers hold.
enum class DataKind : std::uint8_t {
  /// Floating-point inputs are small integers whose partial results are exact in the type, so that
  /// a
  /// result is right or wrong whatever the order of accumulation. Integers use their whole range.
  Exact,
  /// Floating-point inputs are arbitrary, so that the order of accumulation shows in the last bits;
  /// results are compared with a tolerance of a few ulp per rank.
  Random,
};

/// One benchmark case: a call, whose buffers and count don't matter to what they hold.
struct CheckCase {
  runtime::Call call;
  std::uint32_t ranks = 1;
  Rank root{};
  std::uint64_t seed = 0;
  DataKind data = DataKind::Exact;
};

/// Fills `count` elements with rank `rank`'s input, starting at element `first` of it.
void fill_input(const CheckCase& check, Rank rank, std::uint64_t first, std::uint64_t count,
                void* data);

/// How many of `count` result elements are wrong. Element i of the result is element `first` + i of
/// the reduction over all ranks' inputs; where the collective only moves data (`owner` set), of
/// that owner's input.
std::uint64_t count_wrong(const CheckCase& check, std::uint64_t first, std::uint64_t count,
                          const void* data);
std::uint64_t count_wrong_copy(const CheckCase& check, std::uint32_t owner, std::uint64_t first,
                               std::uint64_t count, const void* data);

/// 64-bit FNV-1a of a buffer, chained.
std::uint64_t digest(std::uint64_t chain, const void* data, std::size_t bytes);
inline constexpr std::uint64_t kDigestStart = 0xcbf29ce484222325ULL;

}  // namespace multitree::tools
