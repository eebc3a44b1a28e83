// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links as places among those of their nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nic/network/channel_classes.hpp"
#include "nic/table/table.hpp"

namespace multitree::nic {

/// Of each link: its place among those out of its node, or among those into its node.
inline std::vector<std::uint32_t> places_of_links(const Topology& topology, bool out) {
  std::vector<std::uint32_t> places(topology.num_links(), 0);
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    std::uint32_t place = 0;
    for (const LinkId link : out ? topology.out_links(NodeId{n}) : topology.in_links(NodeId{n})) {
      places[index(link)] = place++;
    }
  }
  return places;
}

/// Routes of links as routes of ports.
class RoutesOfPorts {
 public:
  explicit RoutesOfPorts(const Topology& topology)
      : topology_(topology),
        out_(places_of_links(topology, true)),
        in_(places_of_links(topology, false)) {}

  [[nodiscard]] TableRoute operator()(std::span<const LinkId> links,
                                      const RouteClasses& classes) const {
    TableRoute route{.peer = *topology_.node(topology_.link(links.back()).dst).rank,
                     .port = out_[index(links.front())],
                     .hops = {},
                     .ejection = in_[index(links.back())]};
    for (std::size_t i = 0; i < links.size(); ++i) {
      route.hops.push_back({.port = out_[index(links[i])], .vc_class = classes[i]});
    }
    return route;
  }

 private:
  const Topology& topology_;
  std::vector<std::uint32_t> out_, in_;
};

}  // namespace multitree::nic
