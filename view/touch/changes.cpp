// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Changes cables and finds what falls apart.
#include "view/touch/changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <map>
#include <numeric>

#include "topologies/units.hpp"

namespace multitree::view {
namespace {

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorCode::InvalidArgument, what); }

/// A network while its cables are changed.
struct Cables {
  const Topology& topology;
  std::vector<Link> links;
  bool has_more = false;  ///< cables than there were

  [[nodiscard]] NodeId node(const std::string& name) const {
    const auto nodes = topology.nodes();
    const auto found = std::ranges::find(nodes, name, &Node::name);
    if (found == nodes.end()) fail(fmt::format("there is no node '{}'", name));
    return NodeId{static_cast<std::uint32_t>(found - nodes.begin())};
  }

  void apply(const Change& change) {
    const NodeId from = node(change.from), to = node(change.to);
    const auto is_between = [&](const Link& link) {
      return (link.src == from && link.dst == to) || (link.src == to && link.dst == from);
    };
    if (change.kind == "cable") {
      const Bandwidth rate = parse_bandwidth(change.rate);
      const Time latency = parse_time(change.latency);
      links.push_back({from, to, rate, latency});
      links.push_back({to, from, rate, latency});
      has_more = true;
      return;
    }
    if (std::ranges::none_of(links, is_between)) {
      fail(fmt::format("there is no link between {} and {}", change.from, change.to));
    }
    if (change.kind == "cut") {
      std::erase_if(links, is_between);
    } else if (change.kind == "rate") {
      const Bandwidth rate = parse_bandwidth(change.rate);
      for (Link& link : links) {
        if (is_between(link)) link.bandwidth = rate;
      }
    } else {
      fail(fmt::format("expected cut, rate or cable, got '{}'", change.kind));
    }
  }
};

/// Nodes that links join, whatever their direction; only parts with ranks.
std::vector<std::vector<NodeId>> parts_of(const Cables& cables) {
  const std::size_t nodes = cables.topology.num_nodes();
  std::vector<std::uint32_t> rank(nodes, 0), parent(nodes);
  std::iota(parent.begin(), parent.end(), 0U);
  boost::disjoint_sets<std::uint32_t*, std::uint32_t*> sets(rank.data(), parent.data());
  for (const Link& link : cables.links) sets.union_set(index(link.src), index(link.dst));
  std::map<std::uint32_t, std::vector<NodeId>> by_set;
  for (std::uint32_t v = 0; v < nodes; ++v) by_set[sets.find_set(v)].push_back(NodeId{v});
  std::vector<std::vector<NodeId>> parts;
  for (auto& [set, members] : by_set) {
    const auto is_rank = [&](NodeId node) { return !cables.topology.node(node).is_switch(); };
    if (std::ranges::any_of(members, is_rank)) parts.push_back(std::move(members));
  }
  std::ranges::sort(parts);
  return parts;
}

std::string names_of(const std::vector<NodeId>& nodes, const Topology& topology) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string_view> names;
  for (const NodeId node : nodes) {
    if (names.size() < kShown) names.push_back(topology.node(node).name);
  }
  const std::string more =
      nodes.size() > kShown ? fmt::format(" and {} more", nodes.size() - kShown) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

[[noreturn]] void fail_split(std::vector<std::vector<NodeId>> parts, const Topology& topology,
                             const std::string& what) {
  std::vector<std::string> words;
  for (const auto& part : parts) words.push_back(names_of(part, topology));
  const std::string told =
      fmt::format("{}; the cuts leave {} parts: {}", what, parts.size(), fmt::join(words, " | "));
  throw Split(told, std::move(parts));
}

}  // namespace

Topology changed(const Topology& topology, std::span<const Change> changes) {
  if (changes.empty()) return topology;
  Cables cables{topology, {topology.links().begin(), topology.links().end()}};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    try {
      cables.apply(changes[i]);
    } catch (const Error& error) {
      fail(fmt::format("change {}: {}", i + 1, error.what()));
    }
  }
  TopologyBuilder builder(topology.name() + " changed");
  for (const Node& node : topology.nodes()) {
    builder.add_node(node);
  }
  for (const Link& link : cables.links) {
    builder.add_link(link.src, link.dst, link.bandwidth, link.latency);
  }
  if (!cables.has_more) builder.set_shape(topology.shape());
  try {
    return std::move(builder).build();
  } catch (const Error& error) {
    auto parts = parts_of(cables);
    if (parts.size() < 2) throw;
    fail_split(std::move(parts), topology, error.what());
  }
}

}  // namespace multitree::view
