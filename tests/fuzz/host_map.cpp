// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Maps of ranks to hosts, and jobs that are placed by them.
#include "fuzz.hpp"
#include "topologies/placement.hpp"
#include "topologies/registry.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Topology network = make_topology("ring:4");
  return fuzz::read(data, size, [](std::string_view text) {
    const RankMap map = parse_rank_map(text, fuzz::kFile, network);
    std::vector<std::string> hosts;
    for (const RankMap::Place& place : map.places) hosts.push_back(place.host);
    static_cast<void>(place_by_map(map, hosts));
    static_cast<void>(place_by_host(network, hosts));
  });
}
