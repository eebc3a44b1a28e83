// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/endpoint.hpp"

#include <algorithm>
#include <map>

#include "rtl/wire/node_numbers.hpp"

namespace multitree::rtl {

Cables make_cables(const Topology& topology, NodeId node, std::uint32_t job,
                   std::size_t frame_bytes, Places places) {
  const NodeNumbers numbers(topology);
  Cables cables;
  std::map<Way, std::uint32_t> known;
  const auto add = [&](NodeId peer, std::map<std::uint32_t, std::uint16_t>& lanes) {
    const std::uint16_t other = numbers.of(peer);
    const Way way{numbers.of(node), other, lanes[other]++};
    const auto [place, is_new] = known.emplace(way, static_cast<std::uint32_t>(cables.all.size()));
    if (is_new) cables.all.emplace_back(way, job, frame_bytes, places, numbers.name(other));
    return place->second;
  };
  std::map<std::uint32_t, std::uint16_t> out, in;  // links to each node so far
  for (const LinkId link : topology.out_links(node)) {
    cables.out.push_back(add(topology.link(link).dst, out));
  }
  for (const LinkId link : topology.in_links(node)) {
    cables.in.push_back(add(topology.link(link).src, in));
  }
  return cables;
}

std::vector<RegisterWrite> writes_of(const Part& part) {
  std::vector<std::uint32_t> ports;
  for (std::uint32_t r = 0; r < part.topology.num_ranks(); ++r) {
    ports.push_back(interface_ports(part.topology, Rank{r}));
  }
  return load(part.collective, ports)[index(part.rank)];
}

}  // namespace multitree::rtl
