// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over a rank's links.
#include "algorithms/symmetric/alike_ranks.hpp"

#include <algorithm>
#include <utility>

namespace multitree {
namespace {

/// Calls with each orbit in which ways of the generators from `first` on leave a rank, once.
template <class Visit>
void leaving(const LinkOrbits& links, std::uint32_t first, Visit&& visit) {
  std::vector<bool> seen(links.orbits.size(), false);
  for (std::uint32_t s = first; s < links.way_of.size(); ++s) {
    const std::uint32_t orbit = links.way(s).front();
    if (!seen[orbit]) visit(links.orbits[orbit]);
    seen[orbit] = true;
  }
}

}  // namespace

std::uint64_t LinkOrbits::bandwidth_out(std::uint32_t first) const {
  std::uint64_t sum = 0;
  leaving(*this, first, [&](const Orbit& orbit) { sum += orbit.bandwidth.bytes_per_second; });
  return sum;
}

std::uint64_t LinkOrbits::slots_out(std::uint32_t first) const {
  std::uint64_t sum = 0;
  leaving(*this, first, [&](const Orbit& orbit) { sum += orbit.slots; });
  return sum;
}

Bandwidth LinkOrbits::unit_bandwidth() const {
  return orbits.empty() ? Bandwidth{} : std::ranges::min(orbits, {}, &Orbit::bandwidth).bandwidth;
}

std::uint32_t AlikeRanks::first_generator(std::size_t level) const {
  std::uint32_t first = 0;
  for (std::size_t l = 0; l < level; ++l) first += levels[l] - 1;
  return first;
}

AlikeRanks linked_ranks(CayleyGraph graph, std::span<const LinkSpeed> speeds) {
  LinkOrbits links;
  for (std::uint32_t s = 0; s < graph.degree(); ++s) {
    const LinkSpeed speed = speeds.empty() ? kStudyLink : speeds[s];
    links.orbits.push_back({.bandwidth = speed.bandwidth, .latency = speed.latency});
    links.ways.push_back({s});
    links.way_of.push_back(s);
  }
  return {.graph = std::move(graph), .links = std::move(links)};
}

}  // namespace multitree
