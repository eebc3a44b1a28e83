// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Widths of the routes of a table.
#pragma once

#include <array>
#include <cstdint>

#include "nic/table/table.hpp"

namespace multitree::nic {

/// Bits of each part of a route from bit 0 up; then port and class of each further hop. Peer and
/// port have at least 1, the others 0 where all values are 0. A relative route has a port but no
/// hops.
struct RouteLayout {
  std::uint8_t peer = 1;      ///< log2(ranks)
  std::uint8_t ejection = 0;  ///< log2(links into a node)
  std::uint8_t further = 0;   ///< hops after the first: log2 of how many
  std::uint8_t port = 1;      ///< log2(links out of a node)
  std::uint8_t vc_class = 0;  ///< log2(classes)
  bool operator==(const RouteLayout&) const = default;
};

/// The least that holds all routes.
RouteLayout route_layout_of(const Tables& tables);

/// How many bits a route takes.
std::uint64_t bits_of(const TableRoute& route, const RouteLayout& layout);

/// One more than the largest number of a link at its node, out or in, in any route; 0 without
/// routes.
std::uint32_t ports_of(const Tables& tables);

}  // namespace multitree::nic
