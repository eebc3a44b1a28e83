// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parsing and printing of quantities in exact integer arithmetic.
#include "topologies/units.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <span>

#include "topologies/error.hpp"

namespace multitree {
namespace {

// Wide enough for a 20-digit number times the largest unit.
using Wide = unsigned __int128;
constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMaxDigits = 19;

// One unit is numerator/denominator of the base quantity (a bit is 1/8 byte).
struct Unit {
  std::string_view name;
  std::uint64_t numerator;
  std::uint64_t denominator = 1;
};

constexpr std::uint64_t kKilo = 1'000, kMega = 1'000'000, kGiga = 1'000'000'000,
                        kTera = 1'000'000'000'000;
constexpr std::uint64_t kKibi = 1ULL << 10, kMebi = 1ULL << 20, kGibi = 1ULL << 30,
                        kTebi = 1ULL << 40;

// The first entries of each table, in descending order, are the ones printed.
constexpr std::array kByteUnits = std::to_array<Unit>({
    {"TiB", kTebi}, {"GiB", kGibi}, {"MiB", kMebi}, {"KiB", kKibi}, {"TB", kTera},
    {"GB", kGiga},  {"MB", kMega},  {"KB", kKilo},  {"B", 1},       {"", 1},
    {"T", kTebi},   {"G", kGibi},   {"M", kMebi},   {"K", kKibi},   {"t", kTebi},
    {"g", kGibi},   {"m", kMebi},   {"k", kKibi},   {"kB", kKilo},
});
constexpr std::size_t kPrintedByteUnits = 9;

constexpr std::array kBandwidthUnits = std::to_array<Unit>({
    {"TB/s", kTera},      {"GB/s", kGiga},      {"MB/s", kMega},      {"KB/s", kKilo},
    {"B/s", 1},           {"TiB/s", kTebi},     {"GiB/s", kGibi},     {"MiB/s", kMebi},
    {"KiB/s", kKibi},     {"Tb/s", kTera, 8},   {"Gb/s", kGiga, 8},   {"Mb/s", kMega, 8},
    {"Kb/s", kKilo, 8},   {"b/s", 1, 8},        {"Tbit/s", kTera, 8}, {"Gbit/s", kGiga, 8},
    {"Mbit/s", kMega, 8}, {"Kbit/s", kKilo, 8}, {"bit/s", 1, 8},      {"Tbps", kTera, 8},
    {"Gbps", kGiga, 8},   {"Mbps", kMega, 8},   {"Kbps", kKilo, 8},   {"bps", 1, 8},
    {"TBps", kTera},      {"GBps", kGiga},      {"MBps", kMega},      {"KBps", kKilo},
    {"kB/s", kKilo},      {"kb/s", kKilo, 8},   {"kbit/s", kKilo, 8}, {"kbps", kKilo, 8},
});
constexpr std::size_t kPrintedBandwidthUnits = 5;

constexpr std::array kTimeUnits = std::to_array<Unit>({
    {"s", kTera},
    {"ms", kGiga},
    {"us", kMega},
    {"ns", kKilo},
    {"ps", 1},
});

// What a quantity is called and looks like, for messages.
struct Kind {
  std::string_view expected;
  std::span<const Unit> units;
};

[[noreturn]] void fail(std::string_view text, const Kind& kind, std::string_view why) {
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected {}, got '{}'{}{}", kind.expected, text.substr(0, 80),
                          why.empty() ? "" : ": ", why));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A decimal number digits/10^decimals followed by a unit.
struct Quantity {
  std::uint64_t digits = 0;
  std::uint64_t scale = 1;
  std::string_view unit;
};

Quantity split(std::string_view text, const Kind& kind) {
  if (text.starts_with('-')) fail(text, kind, "it must not be negative");
  Quantity result;
  std::size_t pos = 0, count = 0;
  bool point = false;
  for (; pos < text.size() && (is_digit(text[pos]) || (text[pos] == '.' && !point)); ++pos) {
    if (text[pos] == '.') {
      point = true;
      continue;
    }
    // Leading zeros do not count against the limit.
    if (result.digits != 0 && ++count >= kMaxDigits) fail(text, kind, "the number is too long");
    result.digits = result.digits * 10 + static_cast<std::uint64_t>(text[pos] - '0');
    if (point && (result.scale *= 10) >= kTera * kMega) fail(text, kind, "the number is too long");
  }
  const bool digit_seen = pos > 0 && (is_digit(text[pos - 1]) || (pos > 1 && is_digit(text[0])));
  if (!digit_seen) fail(text, kind, "");
  while (pos < text.size() && text[pos] == ' ') ++pos;
  result.unit = text.substr(pos);
  return result;
}

// Rounds to the nearest whole base quantity.
std::uint64_t parse(std::string_view text, const Kind& kind) {
  const Quantity quantity = split(text, kind);
  for (const Unit& unit : kind.units) {
    if (unit.name != quantity.unit) continue;
    const Wide denominator = Wide{quantity.scale} * unit.denominator;
    const Wide value = (Wide{quantity.digits} * unit.numerator + denominator / 2) / denominator;
    if (value > kMost) fail(text, kind, "the number is too large");
    return static_cast<std::uint64_t>(value);
  }
  if (quantity.unit.empty()) fail(text, kind, "the unit is missing");
  fail(text, kind, fmt::format("unknown unit '{}'", quantity.unit.substr(0, 40)));
}

// value/unit as a decimal without trailing zeros; empty if it takes more than 18 decimals.
std::optional<std::string> as_decimal(std::uint64_t value, std::uint64_t unit) {
  std::string text = std::to_string(value / unit);
  Wide rest = value % unit;
  if (rest == 0) return text;
  text += '.';
  for (int decimals = 0; rest != 0; ++decimals) {
    if (decimals == 17) return std::nullopt;
    rest *= 10;
    text += static_cast<char>('0' + static_cast<int>(rest / unit));
    rest %= unit;
  }
  return text;
}

// Shortest text over the units that give 1 or more; of equally short ones the first.
std::string print(std::uint64_t value, std::span<const Unit> units) {
  std::string best = std::to_string(value) + std::string(units.back().name);
  if (value == 0) return best;
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    if (value < unit->numerator) continue;
    const auto number = as_decimal(value, unit->numerator);
    if (!number || number->size() + unit->name.size() > best.size()) continue;
    best = *number + std::string(unit->name);
  }
  return best;
}

constexpr Kind kBytes{"a size such as 100, 64M, 64MiB or 1.5GB", kByteUnits};
constexpr Kind kBandwidth{"a bandwidth such as 16GB/s or 400Gb/s", kBandwidthUnits};
constexpr Kind kTime{"a time such as 150ns or 1.5us", kTimeUnits};

}  // namespace

std::uint64_t parse_bytes(std::string_view text) { return parse(text, kBytes); }

Bandwidth parse_bandwidth(std::string_view text) {
  const std::uint64_t value = parse(text, kBandwidth);
  if (value == 0) fail(text, kBandwidth, "it must be > 0");
  return {value};
}

Time parse_time(std::string_view text) { return {static_cast<std::int64_t>(parse(text, kTime))}; }

std::string to_string(Bandwidth bandwidth) {
  return print(bandwidth.bytes_per_second,
               std::span(kBandwidthUnits).first(kPrintedBandwidthUnits));
}

std::string to_string(Time time) {
  const bool negative = time.picoseconds < 0;
  const auto magnitude = static_cast<std::uint64_t>(time.picoseconds);
  return fmt::format("{}{}", negative ? "-" : "",
                     print(negative ? 0 - magnitude : magnitude, kTimeUnits));
}

std::string format_bytes(std::uint64_t bytes) {
  return print(bytes, std::span(kByteUnits).first(kPrintedByteUnits));
}

}  // namespace multitree
