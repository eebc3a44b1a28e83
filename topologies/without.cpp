// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Removing named links from a generated network.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <utility>

#include "topologies/error.hpp"
#include "topologies/without_internal.hpp"

namespace multitree {
namespace {

// Nodes by their two spellings.
class NodeFinder {
 public:
  explicit NodeFinder(const Topology& topology) : topology_(topology) {
    for (std::uint32_t id = 0; id < topology.num_nodes(); ++id) {
      by_name_.emplace(topology.node(NodeId{id}).name, NodeId{id});
    }
  }

  [[nodiscard]] std::optional<NodeId> find(std::string_view text) const {
    if (const auto found = by_name_.find(text); found != by_name_.end()) return found->second;
    std::uint32_t rank = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, rank);
    if (error != std::errc{} || rest != end || rank >= topology_.num_ranks()) return std::nullopt;
    return topology_.node_of(Rank{rank});
  }

 private:
  const Topology& topology_;
  std::map<std::string_view, NodeId> by_name_;
};

void mark_links(const Topology& topology, NodeId src, NodeId dst, std::vector<bool>& removed,
                bool& found) {
  for (const LinkId id : topology.out_links(src)) {
    if (topology.link(id).dst != dst) continue;
    removed[index(id)] = true;
    found = true;
  }
}

void mark_item(const Spec& spec, const Topology& topology, const NodeFinder& nodes,
               std::string_view item, std::vector<bool>& removed) {
  const std::size_t mark = item.find_first_of("->");
  if (mark == std::string_view::npos) {
    spec.fail(fmt::format("without: expected A-B or A>B, got '{}'", item));
  }
  const auto find = [&](std::string_view text) {
    const auto node = nodes.find(text);
    if (!node) {
      spec.fail(fmt::format("without: '{}' is neither a rank below {} nor the name of a node", text,
                            topology.num_ranks()));
    }
    return *node;
  };
  const NodeId a = find(item.substr(0, mark)), b = find(item.substr(mark + 1));
  bool found = false;
  mark_links(topology, a, b, removed, found);
  if (item[mark] == '-') mark_links(topology, b, a, removed, found);
  if (!found) {
    spec.fail(fmt::format("without: there is no link {} in {}", item, spec.name()));
  }
}

}  // namespace

Topology apply_without(const Spec& spec, Topology topology) {
  if (!spec.has("without")) return topology;
  const NodeFinder nodes(topology);
  std::vector<bool> removed(topology.num_links());
  for (const std::string& item : spec.get_list("without", "")) {
    mark_item(spec, topology, nodes, item, removed);
  }

  TopologyBuilder builder(topology.name());
  builder.set_shape(topology.shape());
  for (const Node& node : topology.nodes()) {
    node.is_switch() ? builder.add_switch(node.name) : builder.add_endpoint(node.name, *node.rank);
  }
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    if (removed[id]) continue;
    const Link& link = topology.link(LinkId{id});
    builder.add_link(link.src, link.dst, link.bandwidth, link.latency);
  }
  try {
    return std::move(builder).build();
  } catch (const Error& error) {
    spec.fail(fmt::format("without: {}", error.what()));
  }
}

}  // namespace multitree
