// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Routes one after the other in one vector, as schedules, packings and forests keep them: who has
/// one keeps where it begins and how long it is (`route_begin`, `route_size`).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

using RoutePool = std::vector<LinkId>;  ///< Schedule::routes is one

/// Where the route begins.
inline std::uint32_t add_route(std::span<const LinkId> route, RoutePool& pool) {
  const auto begin = static_cast<std::uint32_t>(pool.size());
  pool.insert(pool.end(), route.begin(), route.end());
  return begin;
}

/// The route of a Transfer or TreeArc.
template <class Arc>
[[nodiscard]] std::span<const LinkId> route_of(const Arc& arc, const RoutePool& pool) {
  return std::span(pool).subspan(arc.route_begin, arc.route_size);
}

}  // namespace multitree
