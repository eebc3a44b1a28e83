// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/endpoint.hpp"

#include <algorithm>
#include <map>

namespace multitree::rtl {

Cables make_cables(const Topology& topology, Rank rank, std::uint32_t job, std::size_t frame_bytes,
                   Places places) {
  Cables cables;
  std::map<Way, std::uint32_t> known;
  const auto add = [&](NodeId peer, std::map<std::uint32_t, std::uint16_t>& lanes) {
    const std::uint32_t other = index(*topology.node(peer).rank);
    const Way way{static_cast<std::uint16_t>(index(rank)), static_cast<std::uint16_t>(other),
                  lanes[other]++};
    const auto [place, is_new] = known.emplace(way, static_cast<std::uint32_t>(cables.all.size()));
    if (is_new) cables.all.emplace_back(way, job, frame_bytes, places);
    return place->second;
  };
  const NodeId node = topology.node_of(rank);
  std::map<std::uint32_t, std::uint16_t> out, in;  // links to each rank so far
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
