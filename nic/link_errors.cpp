// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Draws, and how they are asked for.
#include "nic/link_errors.hpp"

#include <fmt/format.h>

#include <charconv>

#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

/// SplitMix64's finalizer (Steele, Lea and Flood, 2014): all bits depend on all.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <typename T>
bool read_all(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Digits with a point and an exponent: not every library has std::from_chars for these.
bool read_rate(const std::string& text, double& rate) {
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string::npos) return false;
  try {
    std::size_t used = 0;
    rate = std::stod(text, &used);
    return used == text.size();
  } catch (const std::logic_error&) {
    return false;
  }
}

}  // namespace

LinkFate fate_of(const LinkErrors& errors, std::uint32_t link, LinkWay way, std::uint64_t number) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  const std::uint64_t line =
      mix(errors.seed + kStep * (2 * std::uint64_t{link} + 1 + static_cast<std::uint64_t>(way)));
  const std::uint64_t draw = mix(line + kStep * number);
  const double part = static_cast<double>(draw >> 11) * 0x1p-53;
  if (part >= errors.rate) return {};
  const std::uint64_t noise = mix(draw + kStep);
  return {.kind = (noise & 1) != 0 ? LinkFate::Kind::Lost : LinkFate::Kind::Corrupt,
          .noise = mix(noise)};
}

LinkCounts& LinkCounts::operator+=(const LinkCounts& other) {
  frames += other.frames;
  bad += other.bad;
  answers += other.answers;
  bad_answers += other.bad_answers;
  flits += other.flits;
  resent += other.resent;
  return *this;
}

LinkErrors parse_link_errors(std::string_view text) {
  LinkErrors errors;
  const std::size_t comma = text.find(',');
  const bool has_seed = comma != std::string_view::npos;
  if (read_rate(std::string(text.substr(0, comma)), errors.rate) && errors.rate >= 0 &&
      errors.rate <= 1 && (!has_seed || read_all(text.substr(comma + 1), errors.seed))) {
    return errors;
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected RATE or RATE,SEED, the part of frames that do not arrive, 0 to "
                          "1, and a whole number, got '{}'",
                          text));
}

}  // namespace multitree::nic
