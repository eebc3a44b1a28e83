// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collecting and validating the nodes and links of a Topology.
#include <fmt/format.h>

#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "topologies/topology.hpp"
#include "topologies/topology_error_internal.hpp"
#include "topologies/utf8_internal.hpp"

namespace multitree {
namespace {

constexpr NodeId kNoNode{std::numeric_limits<std::uint32_t>::max()};
// Keeps sums of latencies over routes and steps within 63 bits.
constexpr Time kMaxLatency{1'000'000'000'000};

[[noreturn]] void fail(const std::string& what) {
  throw TopologyError(TopologyPart::Whole, 0, what);
}

[[noreturn]] void fail_node(std::span<const Node> nodes, std::size_t id, const std::string& what) {
  throw TopologyError(TopologyPart::Node, id,
                      fmt::format("node {} ({}): {}", id, nodes[id].name, what));
}

void check_names(std::span<const Node> nodes) {
  std::unordered_map<std::string_view, std::size_t> seen;
  seen.reserve(nodes.size());
  for (std::size_t id = 0; id < nodes.size(); ++id) {
    if (nodes[id].name.empty()) fail_node(nodes, id, "the name is empty");
    if (!is_plain_name(nodes[id].name)) {
      fail_node(nodes, id, "the name must be UTF-8 without control characters");
    }
    const auto [first, inserted] = seen.emplace(nodes[id].name, id);
    if (!inserted) {
      fail_node(nodes, id, fmt::format("node {} has the same name", first->second));
    }
  }
}

void check_abilities(std::span<const Node> nodes) {
  for (std::size_t id = 0; id < nodes.size(); ++id) {
    const auto& [adds, copies, at_once] = nodes[id].abilities;
    if (!nodes[id].is_switch() && (adds || copies || at_once > 0)) {
      fail_node(nodes, id, "only a switch adds or copies, this is a rank");
    }
    if (at_once > 0 && !adds && !copies) {
      fail_node(
          nodes, id,
          fmt::format("expected a switch that adds or copies where {} at once are said", at_once));
    }
  }
}

// Node of each rank; ranks must be 0 .. n-1, each once.
std::vector<NodeId> collect_ranks(std::span<const Node> nodes) {
  std::size_t count = 0;
  for (const Node& node : nodes) count += node.is_switch() ? 0 : 1;
  if (count == 0) fail("the topology has no rank");
  std::vector<NodeId> ranks(count, kNoNode);
  for (std::uint32_t id = 0; id < nodes.size(); ++id) {
    if (nodes[id].is_switch()) continue;
    const std::uint32_t rank = index(*nodes[id].rank);
    if (rank >= count) {
      fail_node(nodes, id, fmt::format("ranks must be 0..{}, each once, got {}", count - 1, rank));
    }
    if (ranks[rank] != kNoNode) {
      fail_node(nodes, id,
                fmt::format("rank {} is already that of node {} ({})", rank, index(ranks[rank]),
                            nodes[index(ranks[rank])].name));
    }
    ranks[rank] = NodeId{id};
  }
  return ranks;
}

void check_link(std::span<const Node> nodes, std::span<const Link> links, std::size_t id) {
  const Link& link = links[id];
  const auto complain = [&](const std::string& what) {
    const auto name = [&](NodeId node) {
      return index(node) < nodes.size() ? nodes[index(node)].name : std::string("?");
    };
    throw TopologyError(TopologyPart::Link, id,
                        fmt::format("link {}->{} ({}->{}): {}", index(link.src), index(link.dst),
                                    name(link.src), name(link.dst), what));
  };
  for (const NodeId end : {link.src, link.dst}) {
    if (index(end) >= nodes.size()) {
      complain(fmt::format("there is no node {}, nodes are 0..{}", index(end), nodes.size() - 1));
    }
  }
  if (link.src == link.dst) complain("it joins a node to itself");
  if (link.bandwidth.bytes_per_second == 0) {
    complain("bandwidth must be > 0, got " + to_string(link.bandwidth));
  }
  if (link.latency.picoseconds < 0 || link.latency > kMaxLatency) {
    complain(fmt::format("latency must be from 0s to {}, got {}", to_string(kMaxLatency),
                         to_string(link.latency)));
  }
}

/// The nodes to which links lead from `root`, or (`backwards`) from which they lead to it.
std::vector<bool> reached(const Topology& topology, NodeId root, bool backwards) {
  std::vector<bool> known(topology.num_nodes());
  std::vector<NodeId> open{root};
  known[index(root)] = true;
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    for (const LinkId id : backwards ? topology.in_links(node) : topology.out_links(node)) {
      const NodeId next = backwards ? topology.link(id).src : topology.link(id).dst;
      if (known[index(next)]) continue;
      known[index(next)] = true;
      open.push_back(next);
    }
  }
  return known;
}

/// By the topology's own rows of links: a graph beside it would more than double what a network of
/// a million ranks takes.
void check_reachability(const Topology& topology) {
  const NodeId root = topology.node_of(Rank{0});
  const std::vector<bool> from_root = reached(topology, root, false);
  const std::vector<bool> to_root = reached(topology, root, true);
  for (std::uint32_t rank = 1; rank < topology.num_ranks(); ++rank) {
    const NodeId node = topology.node_of(Rank{rank});
    if (from_root[index(node)] && to_root[index(node)]) continue;
    const auto [from, to] = from_root[index(node)] ? std::pair(rank, 0U) : std::pair(0U, rank);
    fail(fmt::format("rank {} ({}) cannot reach rank {} ({})", from,
                     topology.node(topology.node_of(Rank{from})).name, to,
                     topology.node(topology.node_of(Rank{to})).name));
  }
}

}  // namespace

TopologyBuilder::TopologyBuilder(std::string name) { topology_.name_ = std::move(name); }

NodeId TopologyBuilder::add_endpoint(std::string name) {
  return add_endpoint(std::move(name), Rank{next_rank_});
}

NodeId TopologyBuilder::add_endpoint(std::string name, Rank rank) {
  if (name.empty()) name = fmt::format("n{}", index(rank));
  return add_node({std::move(name), rank});
}

NodeId TopologyBuilder::add_switch(std::string name, SwitchAbilities abilities) {
  return add_node({std::move(name), std::nullopt, abilities});
}

NodeId TopologyBuilder::add_node(Node node) {
  if (node.rank) next_rank_ = std::max(next_rank_, index(*node.rank) + 1);
  topology_.nodes_.push_back(std::move(node));
  return NodeId{static_cast<std::uint32_t>(topology_.nodes_.size() - 1)};
}

LinkId TopologyBuilder::add_link(NodeId src, NodeId dst, Bandwidth bandwidth, Time latency) {
  topology_.links_.push_back({src, dst, bandwidth, latency});
  return LinkId{static_cast<std::uint32_t>(topology_.links_.size() - 1)};
}

void TopologyBuilder::add_duplex(NodeId a, NodeId b, Bandwidth bandwidth, Time latency) {
  add_link(a, b, bandwidth, latency);
  add_link(b, a, bandwidth, latency);
}

void TopologyBuilder::set_shape(Shape shape) { topology_.shape_ = std::move(shape); }

Topology TopologyBuilder::build() && {
  if (!is_plain_name(topology_.name_) || !is_plain_name(topology_.shape_.family)) {
    fail("the name and the family must be UTF-8 without control characters");
  }
  check_names(topology_.nodes_);
  check_abilities(topology_.nodes_);
  topology_.ranks_ = collect_ranks(topology_.nodes_);
  for (std::size_t id = 0; id < topology_.links_.size(); ++id) {
    check_link(topology_.nodes_, topology_.links_, id);
  }
  topology_.index_links();
  check_reachability(topology_);
  return std::move(topology_);
}

}  // namespace multitree
