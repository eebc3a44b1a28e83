// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From what a file says to a validated Topology.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "topologies/io/raw_network_internal.hpp"

namespace multitree {
namespace {

void number_ranks(std::vector<RawNode>& nodes, const ReportError& report) {
  for (std::size_t id = 0; id < nodes.size(); ++id) {
    if (nodes[id].is_switch && nodes[id].rank) {
      report(TopologyPart::Node, id,
             fmt::format("node '{}' is a switch and has rank {}", nodes[id].name, *nodes[id].rank));
    }
  }
  if (std::ranges::any_of(nodes, [](const RawNode& node) { return node.rank.has_value(); })) return;
  std::uint32_t next = 0;
  for (RawNode& node : nodes) {
    if (!node.is_switch) node.rank = next++;
  }
}

}  // namespace

Topology build_topology(RawNetwork network, const ReportError& report) {
  number_ranks(network.nodes, report);
  TopologyBuilder builder(std::move(network.name));
  builder.set_shape(std::move(network.shape));
  for (std::size_t id = 0; id < network.nodes.size(); ++id) {
    RawNode& node = network.nodes[id];
    if (node.name.empty()) report(TopologyPart::Node, id, "the name is empty");
    const auto rank = node.rank ? std::optional(Rank{*node.rank}) : std::nullopt;
    builder.add_node({std::move(node.name), rank, node.abilities});
  }
  for (const Link& link : network.links) {
    builder.add_link(link.src, link.dst, link.bandwidth, link.latency);
  }
  try {
    return std::move(builder).build();
  } catch (const TopologyError& error) {
    report(error.part(), error.index(), error.what());
    throw;
  }
}

std::optional<std::vector<std::uint32_t>> parse_shape_dims(const std::string& text) {
  std::vector<std::uint32_t> dims;
  const char* pos = text.data();
  const char* const end = pos + text.size();
  while (pos != end) {
    if (!dims.empty() && *pos++ != 'x') return std::nullopt;
    std::uint32_t size = 0;
    const auto [rest, error] = std::from_chars(pos, end, size);
    if (error != std::errc{}) return std::nullopt;
    dims.push_back(size);
    pos = rest;
  }
  return dims;
}

std::string format_shape_dims(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape.dims, "x"));
}

}  // namespace multitree
