// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Routes that cannot deadlock: which class of virtual channels a packet uses on each link.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree::nic {

/// Classes along one route, one a link, never descending.
using RouteClasses = std::vector<std::uint8_t>;

struct ChannelClasses {
  std::uint32_t classes = 1;           ///< in use, at least 1
  std::vector<RouteClasses> of_route;  ///< in the order of the routes
};

/// Gives the links of each route classes such that no set of packets can wait for each other in a
/// circle: the graph of which (link, class) is asked for while which is held has no cycle (Dally
/// and Seitz, IEEE ToC 1987). A route goes on in its class as long as that makes no cycle, and
/// changes to the next one otherwise; on a ring that is the usual change at a dateline. Works for
/// any routes on any network. O(routes * links) in the worst case; a route that repeats others'
/// turns costs its length.
/// \throws Error(Unsupported) naming `what` if more than `most` classes are needed.
ChannelClasses assign_classes(std::span<const std::vector<LinkId>> routes, std::uint32_t links,
                              std::uint32_t most, const std::string& what);

}  // namespace multitree::nic
