// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rates of links as the Internet Topology Zoo says them, where some edges have none.
#include "topologies/io/link_speed_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "topologies/error.hpp"
#include "topologies/notes.hpp"

namespace multitree {
namespace {

struct Unit {
  std::string_view name;
  double bits;
};
constexpr std::array kUnits =
    std::to_array<Unit>({{"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}});

std::optional<double> whole_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || rest != end) return std::nullopt;
  return error == std::errc{} ? value : INFINITY;
}

Bandwidth of_bits(double bits, const std::string& what) {
  constexpr double kMost = 9.2e18;  // bytes, a little below 2^63
  const double bytes = std::round(bits / 8);
  if (bytes >= 1 && bytes < kMost) return {static_cast<std::uint64_t>(bytes)};
  throw Error(ErrorCode::InvalidArgument,
              what + ", and a link has from one byte to 2^63 bytes a second");
}

}  // namespace

std::optional<Bandwidth> to_bandwidth(const ZooSpeed& speed) {
  if (!speed.raw.empty()) {
    const std::string what =
        fmt::format("LinkSpeedRaw: expected bits a second, got '{}'", speed.raw);
    const auto bits = whole_number(speed.raw);
    if (!bits) throw Error(ErrorCode::InvalidArgument, what);
    return of_bits(*bits, what);
  }
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(),
                                  [&](const Unit& each) { return each.name == speed.units; });
  const auto value = whole_number(speed.speed);
  if (unit == kUnits.end() || !value) return std::nullopt;
  return of_bits(*value * unit->bits, fmt::format("LinkSpeed: expected a rate in {}bit/s, got '{}'",
                                                  unit->name, speed.speed));
}

void UnstatedRates::leave_open(std::size_t first, std::size_t end, std::size_t line) {
  if (open_edges_++ == 0) first_line_ = line;
  for (std::size_t link = first; link < end; ++link) open_.push_back(link);
}

void UnstatedRates::fill(std::vector<Link>& links, Bandwidth otherwise,
                         const std::string& file) const {
  if (open_.empty()) return;
  Bandwidth rate = otherwise;
  std::size_t most = 0, stated = 0;
  for (const auto& [bandwidth, edges] : edges_) {  // the lowest of those that are as frequent
    if (edges > most) rate = bandwidth;
    most = std::max(most, edges);
    stated += edges;
  }
  for (const std::size_t link : open_) links[link].bandwidth = rate;
  const std::string why =
      stated == 0 ? "the default, as no edge has one"
                  : fmt::format("the most frequent rate, which {} of the others have", most);
  Notes::add(fmt::format("{}: {} of {} edges, the first in line {}, say no rate; taken as {}, {}",
                         file, open_edges_, open_edges_ + stated, first_line_, to_string(rate),
                         why));
}

}  // namespace multitree
