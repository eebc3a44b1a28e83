// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranges of axes, and ticks at sizes in bytes.
#include "report/axis_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "topologies/units.hpp"

namespace multitree::report {
namespace {

constexpr double kLinearTicks = 7;  // about so many
constexpr int kPowerTicks = 8;      // at most so many, and one
constexpr double kMargin = 0.03;    // of an axis, on each side of what is varied
constexpr double kTiny = 1e-9;      // relative; what is closer together counts as equal

constexpr std::array kUnit = {1.0};  // stands for no values at all

struct Range {
  double low;
  double high;
};

Range range_of(std::span<const double> values) {
  const auto [low, high] = std::ranges::minmax_element(values);
  return {*low, *high};
}

/// The powers of a base between which the values lie, and a margin.
Range powers_around(const Range& range, int base) {
  const double unit = std::log(base);
  const double first = std::floor(std::log(range.low) / unit + kTiny);
  const double last = std::max(first + 1, std::ceil(std::log(range.high) / unit - kTiny));
  const double margin = kMargin * (last - first);
  return {std::max(std::pow(base, first - margin), 1e-305),
          std::min(std::pow(base, last + margin), 1e305)};
}

Range padded(const Range& range) {
  const double magnitude = std::max(std::abs(range.low), std::abs(range.high));
  const double size = range.high - range.low;
  if (magnitude < 1e-300) return {-1, 1};
  const double margin = size < kTiny * magnitude ? magnitude / 2 : kMargin * size;
  return {range.low - margin, range.high + margin};
}

/// gnuplot counts bytes in powers of ten.
std::vector<Tick> byte_ticks(const Range& range, bool log) {
  std::vector<Tick> ticks;
  const auto label = [](double at) { return format_bytes(static_cast<std::uint64_t>(at)); };
  if (!log) {
    const double size = (range.high - range.low) / kLinearTicks;
    const double step = std::max(1.0, std::exp2(std::ceil(std::log2(size))));
    for (double at = std::ceil(std::max(0.0, range.low) / step) * step; at <= range.high;
         at += step) {
      ticks.push_back({at, label(at)});
    }
    return ticks;
  }
  const int first = std::max(0, static_cast<int>(std::ceil(std::log2(range.low))));
  const int last = static_cast<int>(std::floor(std::log2(range.high)));
  const int every = 1 + (last - first) / kPowerTicks;
  for (int exponent = first; exponent <= last; ++exponent) {
    const double at = std::exp2(exponent);
    ticks.push_back({at, (exponent - first) % every == 0 ? label(at) : ""});
  }
  return ticks;
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

}  // namespace

Axis value_axis(std::span<const double> values, bool log) {
  if (log) return {values.empty() ? "[1:10]" : "[*:*]", 10};
  const auto is_zero = [](double value) { return value == 0; };
  return {std::ranges::all_of(values, is_zero) ? "[0:1]" : "[*<0:0<*]"};
}

Axis argument_axis(std::span<const double> values, bool log, bool bytes) {
  if (values.empty()) values = kUnit;
  const Range shown = range_of(values);
  log = log && shown.high / 2 >= shown.low;
  const int base = !log ? 0 : bytes || std::ranges::all_of(values, is_power_of_two) ? 2 : 10;
  const Range range = log ? powers_around(shown, base) : padded(shown);
  return {fmt::format("[{:.17g}:{:.17g}]", range.low, range.high), base,
          bytes ? byte_ticks(range, log) : std::vector<Tick>{}};
}

}  // namespace multitree::report
