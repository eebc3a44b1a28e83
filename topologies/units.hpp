// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Quantities with their units: bytes, bandwidth, time. Integers inside, so that every run is
/// bit-reproducible; a unit is always parsed and always printed.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace multitree {

/// Bytes per second.
struct Bandwidth {
  std::uint64_t bytes_per_second = 0;
  auto operator<=>(const Bandwidth&) const = default;
};

/// Picoseconds.
struct Time {
  std::int64_t picoseconds = 0;
  auto operator<=>(const Time&) const = default;
  [[nodiscard]] double seconds() const { return static_cast<double>(picoseconds) * 1e-12; }
};

/// Parses a size. K, M, G, T and KiB, MiB, ... are powers of 1024 (as in nccl-tests), KB, MB, ...
/// are powers of 1000, a bare number or B is bytes. "64M", "64MiB", "1.5GiB", "100".
/// \throws Error(InvalidArgument) naming the text, if it is not a non-negative size below 2^63.
std::uint64_t parse_bytes(std::string_view text);

/// Parses a bandwidth with its unit: B/s, KB/s, MB/s, GB/s, TB/s, KiB/s ... TiB/s, and bits:
/// bit/s, Kb/s, Mb/s, Gb/s, Tb/s (also "Gbps", "Gbit/s"). \throws Error(InvalidArgument), also for
/// 0.
Bandwidth parse_bandwidth(std::string_view text);

/// Parses a time with its unit: ps, ns, us, ms, s. \throws Error(InvalidArgument), also if
/// negative.
Time parse_time(std::string_view text);

/// Shortest exact text that parses back to the same value: "64MiB", "16GB/s", "150ns".
std::string to_string(Bandwidth bandwidth);
std::string to_string(Time time);
std::string format_bytes(std::uint64_t bytes);

}  // namespace multitree
