// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ticks at 1, 2 and 5 times powers of ten, and at powers of two.
#include "report/axis_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "topologies/units.hpp"

namespace multitree::report {
namespace {

constexpr double kLinearTicks = 7;  // about so many
constexpr int kPowerTicks = 8;      // at most so many, and one
constexpr double kMargin = 0.03;    // of an axis, on each side of what is varied
constexpr double kRoom = 1.02;      // factor between a result and the end of its axis
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

bool contains(const Range& range, double value) {
  const double slack = kTiny * (range.high - range.low);
  return value >= range.low - slack && value <= range.high + slack;
}

/// 6 as a raised "⁶".
std::string superscript(int number) {
  static constexpr std::string_view kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text;
  for (const char c : fmt::format("{}", number)) text += c == '-' ? "⁻" : kDigits[c - '0'];
  return text;
}

/// A multiple of `step`, with the digits that tell it from its neighbours.
std::string number(double value, double step) {
  if (std::abs(value) < step / 2) return "0";
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value)) + kTiny));
  const int last = static_cast<int>(std::floor(std::log10(step) + kTiny));
  if (exponent >= -4 && exponent < 6) return fmt::format("{:.{}f}", value, std::max(0, -last));
  const double mantissa = value / std::pow(10, exponent);
  const std::string factor = fmt::format("{:.{}f}", mantissa, std::clamp(exponent - last, 0, 15));
  const std::string power = "10" + superscript(exponent);
  return factor == "1" ? power : factor + "·" + power;
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `size`.
double nice(double size) {
  const double power = std::pow(10, std::floor(std::log10(size)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= size * (1 - kTiny)) return factor * power;
  }
  return 10 * power;
}

double nice_below(double size) {
  const double power = std::pow(10, std::floor(std::log10(size)));
  for (const double factor : {5.0, 2.0}) {
    if (factor * power <= size * (1 + kTiny)) return factor * power;
  }
  return power;
}

std::vector<Tick> linear_ticks(const Range& range, double step, bool bytes) {
  std::vector<Tick> ticks;
  const double first = std::ceil(range.low / step - kTiny);
  for (double i = 0; contains(range, (first + i) * step); ++i) {
    const double at = (first + i) * step;
    ticks.push_back({at, bytes ? format_bytes(static_cast<std::uint64_t>(at)) : number(at, step)});
  }
  return ticks;
}

std::vector<Tick> linear_ticks(const Range& range, bool bytes) {
  const double size = (range.high - range.low) / kLinearTicks;
  return linear_ticks(
      range, bytes ? std::max(1.0, std::exp2(std::ceil(std::log2(size)))) : nice(size), bytes);
}

/// Powers of ten; of less than two decades, also 2 and 5 times those. The rest is minor.
std::vector<Tick> decimal_ticks(const Range& range) {
  std::vector<Tick> ticks;
  const int first = static_cast<int>(std::floor(std::log10(range.low)));
  const int last = static_cast<int>(std::floor(std::log10(range.high) + kTiny));
  const bool dense = std::log10(range.high) - std::log10(range.low) < 2;
  const int every = 1 + (last - first) / kPowerTicks;
  for (int exponent = first; exponent <= last; ++exponent) {
    const double power = std::pow(10, exponent);
    for (int factor = 1; factor < 10; ++factor) {
      const double at = factor * power;
      const bool major =
          dense ? factor == 1 || factor == 2 || factor == 5 : factor == 1 && exponent % every == 0;
      if (at < range.low * (1 - kTiny) || at > range.high * (1 + kTiny)) continue;
      if (major || every == 1) ticks.push_back({at, major ? number(at, power) : ""});
    }
  }
  return ticks;
}

std::vector<Tick> binary_ticks(const Range& range, bool bytes) {
  std::vector<Tick> ticks;
  const int lowest = static_cast<int>(std::ceil(std::log2(range.low) - kTiny));
  const int first = bytes ? std::max(0, lowest) : lowest;
  const int last = static_cast<int>(std::floor(std::log2(range.high) + kTiny));
  const int every = 1 + (last - first) / kPowerTicks;
  for (int exponent = first; exponent <= last; ++exponent) {
    const double at = std::exp2(exponent);
    const bool labelled = (exponent - first) % every == 0;
    const std::string text = bytes ? format_bytes(std::uint64_t{1} << exponent)
                                   : number(at, std::pow(10, std::floor(std::log10(at))));
    ticks.push_back({at, labelled ? text : ""});
  }
  return ticks;
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

Range padded(const Range& range, bool log) {
  if (log) {
    const double ratio = std::log(range.high) - std::log(range.low);
    const double factor = ratio < kTiny ? 2 : std::exp(kMargin * ratio);
    return {std::max(range.low / factor, 1e-305), std::min(range.high * factor, 1e305)};
  }
  const double magnitude = std::max(std::abs(range.low), std::abs(range.high));
  const double size = range.high - range.low;
  if (magnitude < 1e-300) return {-1, 1};
  const double margin = size < kTiny * magnitude ? magnitude / 2 : kMargin * size;
  return {range.low - margin, range.high + margin};
}

std::size_t labels(const std::vector<Tick>& ticks) {
  return std::ranges::count_if(ticks, [](const Tick& tick) { return !tick.label.empty(); });
}

}  // namespace

double Axis::position(double value) const {
  if (log) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  return (value - low) / (high - low);
}

Axis value_axis(std::span<const double> values, bool log) {
  if (values.empty()) return value_axis(kUnit, log);
  Range range = range_of(values);
  if (log) {
    range = {nice_below(range.low / kRoom), nice(range.high * kRoom)};
    return {range.low, range.high, true, decimal_ticks(range)};
  }
  range = {std::min(0.0, range.low * kRoom), std::max(0.0, range.high * kRoom)};
  if (range.high - range.low < 1e-300) range = {0, 1};
  const double step = nice((range.high - range.low) / kLinearTicks);
  range = {std::floor(range.low / step + kTiny) * step,
           std::ceil(range.high / step - kTiny) * step};
  return {range.low, range.high, false, linear_ticks(range, step, false)};
}

Axis argument_axis(std::span<const double> values, bool log, bool bytes) {
  if (values.empty()) return argument_axis(kUnit, log, bytes);
  const Range range = padded(range_of(values), log);
  Axis axis{range.low, range.high, log, {}};
  const Range marked{bytes ? std::max(range.low, 0.0) : range.low, range.high};
  if (log) {
    const bool binary = bytes || std::ranges::all_of(values, is_power_of_two);
    axis.ticks = binary ? binary_ticks(marked, bytes) : decimal_ticks(marked);
  }
  // Too narrow for powers, or not logarithmic.
  if (labels(axis.ticks) < 2) axis.ticks = linear_ticks(marked, bytes);
  return axis;
}

}  // namespace multitree::report
