// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Several cables between two hosts in a network that counts one.
#include <algorithm>
#include <map>
#include <utility>

#include "topologies/cluster/cluster.hpp"
#include "topologies/draft_internal.hpp"

namespace multitree::cluster {
namespace {

/// Of the cables from one host to another.
struct Together {
  std::uint64_t sum = 0, most = 0;  ///< bytes a second
  std::uint32_t cables = 0;
};
using ByHosts = std::map<std::pair<std::string, std::string>, Together>;

ByHosts cables_by_hosts(const Cluster& cluster) {
  ByHosts found;
  for (const Cable& cable : cluster.cables) {
    if (cable.ends.size() != 2) continue;
    for (const bool back : {false, true}) {
      const End &from = cable.ends[back ? 1 : 0], &to = cable.ends[back ? 0 : 1];
      Together& all = found[{from.node, to.node}];
      all.sum += from.sends.bytes_per_second;
      all.most = std::max(all.most, from.sends.bytes_per_second);
      ++all.cables;
    }
  }
  return found;
}

}  // namespace

Topology with_all_cables(const Topology& network, const Cluster& cluster,
                         const std::vector<std::string>& hosts) {
  const ByHosts cables = cables_by_hosts(cluster);
  std::map<std::pair<NodeId, NodeId>, std::uint32_t> parallel;
  for (const Link& link : network.links()) ++parallel[{link.src, link.dst}];
  Draft draft(network);
  bool changed = false;
  for (Link& link : draft.links) {
    const auto &src = network.node(link.src).rank, &dst = network.node(link.dst).rank;
    if (!src || !dst || parallel.at({link.src, link.dst}) > 1) continue;
    const auto found = cables.find({hosts.at(index(*src)), hosts.at(index(*dst))});
    if (found == cables.end() || found->second.cables < 2 || found->second.most == 0) continue;
    const double times =
        static_cast<double>(found->second.sum) / static_cast<double>(found->second.most);
    link.bandwidth.bytes_per_second =
        static_cast<std::uint64_t>(static_cast<double>(link.bandwidth.bytes_per_second) * times);
    changed = true;
  }
  return changed ? finish(draft, network.name()) : network;
}

}  // namespace multitree::cluster
