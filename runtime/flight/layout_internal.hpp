// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The file of a flight recorder: written by one process while others read it, also when the writer
/// is dead. Files are read by the version that wrote them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace multitree::runtime::flight {

inline constexpr std::array<char, 8> kMagic{'M', 'T', 'F', 'L', 'I', 'G', 'H', '2'};
/// Calls that are kept.
inline constexpr std::uint64_t kCalls = 256;
/// Ranks that are named of those that one awaits.
inline constexpr std::uint32_t kAwaited = 64;

/// A text that is cut where it is too long.
template <std::size_t kSize>
using Text = std::array<char, kSize>;

/// A call, in the place that its number has in turn.
struct CallEntry {
  std::atomic<std::uint64_t> number{0};  ///< one more than it; 0: none, or it is being written
  std::uint64_t count = 0;
  std::int64_t begun_ns = 0;  ///< since 1970, to a few milliseconds
  std::uint32_t root = 0;
  std::uint16_t several = 0;
  std::uint8_t collective = 0, exchange = 0, type = 0, op = 0, wire = 0;
  std::atomic<std::uint8_t> ended{0};
};

/// How long for another one, all told.
struct WaitedEntry {
  std::atomic<std::uint32_t> rank{0};  ///< one more than it; 0: none
  std::atomic<std::uint64_t> received_ns{0}, sent_ns{0};
};

/// What a rank waits for; valid while `version` is even, and as it was before reading.
struct WaitEntry {
  std::atomic<std::uint32_t> version{0};
  std::uint32_t waits = 0;  ///< 0: it does not
  std::uint64_t call = 0;
  std::int64_t since_ns = 0;
  std::uint32_t awaited = 0;  ///< how many of these
  std::array<std::uint32_t, kAwaited> awaits{};
  Text<192> what{}, how{};
  Text<128> place{};
};

struct Page {
  std::array<char, 8> magic{};
  std::uint64_t job = 0;  ///< Bootstrap::name()
  std::uint64_t process = 0;
  std::int64_t made_ns = 0;
  std::uint32_t rank = 0, ranks = 0;
  Text<64> host{};
  std::atomic<std::uint64_t> begun{0};  ///< calls
  std::atomic<std::uint32_t> failed{0};
  std::int64_t failed_ns = 0;  ///< as `failure`: once `failed`
  Text<1024> failure{};
  WaitEntry wait;
  std::atomic<std::uint64_t> waited_ns{0};
  std::array<WaitedEntry, kAwaited> waited{};
  std::array<CallEntry, kCalls> calls{};
};

}  // namespace multitree::runtime::flight
