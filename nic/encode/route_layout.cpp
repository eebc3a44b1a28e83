// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Widths of routes.
#include "nic/encode/route_layout.hpp"

#include <algorithm>
#include <bit>

namespace multitree::nic {
namespace {

std::uint64_t further_hops(const TableRoute& route) {
  return route.hops.empty() ? 0 : route.hops.size() - 1;
}

void widen(std::uint8_t& width, std::uint64_t value) {
  width = std::max(width, static_cast<std::uint8_t>(std::bit_width(value)));
}

}  // namespace

RouteLayout route_layout_of(const Tables& tables) {
  RouteLayout layout;
  for (const auto& routes : tables.routes) {
    for (const TableRoute& route : routes) {
      widen(layout.peer, index(route.peer));
      widen(layout.ejection, route.ejection);
      widen(layout.further, further_hops(route));
      widen(layout.port, route.port);
      for (const TableRoute::Hop& hop : route.hops) {
        widen(layout.port, hop.port);
        widen(layout.vc_class, hop.vc_class);
      }
    }
  }
  return layout;
}

std::uint64_t bits_of(const TableRoute& route, const RouteLayout& layout) {
  return layout.peer + layout.ejection + layout.further +
         (1 + further_hops(route)) * std::uint64_t{layout.port + 0U + layout.vc_class};
}

std::uint32_t ports_of(const Tables& tables) {
  std::uint32_t ports = 0;
  for (const auto& routes : tables.routes) {
    for (const TableRoute& route : routes) {
      ports = std::max({ports, route.port + 1, route.ejection + 1});
      for (const TableRoute::Hop& hop : route.hops) ports = std::max(ports, hop.port + 1);
    }
  }
  return ports;
}

}  // namespace multitree::nic
