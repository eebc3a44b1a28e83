// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The physical topology file of ASTRA-sim's ns-3 backend: counts, the switches, a line for each
/// pair of links.
#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "topologies/error.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/text_internal.hpp"

namespace multitree {
namespace {

/// Nodes of ns-3 by ours: ranks by number, then switches in our order.
std::vector<std::uint32_t> ns3_numbers(const Topology& topology) {
  std::vector<std::uint32_t> numbers;
  std::uint32_t next = topology.num_ranks();
  for (const Node& node : topology.nodes()) {
    numbers.push_back(node.rank ? index(*node.rank) : next++);
  }
  return numbers;
}

[[noreturn]] void refuse(const Topology& topology, const Link& link, std::string_view found) {
  throw Error(ErrorCode::Unsupported,
              fmt::format("ns-3: expected one link between two nodes, the same both ways, got {} "
                          "{} from {} to {} in {}",
                          found, to_string(link.bandwidth), topology.node(link.src).name,
                          topology.node(link.dst).name, topology.name()));
}

}  // namespace

std::string write_topology_ns3(const Topology& topology) {
  const std::vector<std::uint32_t> numbers = ns3_numbers(topology);
  std::set<std::pair<std::uint32_t, std::uint32_t>> joined;
  std::string lines;
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Link& link = topology.link(LinkId{l});
    if (!topology.mate(LinkId{l})) refuse(topology, link, "one one way only of");
    const std::uint32_t from = numbers[index(link.src)], to = numbers[index(link.dst)];
    if (!joined.emplace(from, to).second) refuse(topology, link, "several, one of");
    if (joined.contains({to, from})) continue;  // the other way of a line
    lines += fmt::format("{} {} {}Gbps {}ns 0\n", from, to,
                         decimal_text(link.bandwidth.bytes_per_second * 8, 9),
                         decimal_text(static_cast<std::uint64_t>(link.latency.picoseconds), 3));
  }
  const std::uint32_t ranks = topology.num_ranks(), nodes = topology.num_nodes();
  std::string text = fmt::format("{} {} {}\n", nodes, nodes - ranks, topology.num_links() / 2);
  for (std::uint32_t n = ranks; n < nodes; ++n) {
    text += fmt::format("{}{}", n == ranks ? "" : " ", n);
  }
  return text + "\n" + lines;
}

}  // namespace multitree
