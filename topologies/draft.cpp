// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Building the network that a Draft describes.
#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/biconnected_components.hpp>
#include <utility>

#include "topologies/draft_internal.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

using Bidirected =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property,
                          boost::property<boost::edge_index_t, std::uint32_t>>;

bool is_left(const Draft& draft, std::uint32_t link) {
  return draft.copies[link] > 0 && !draft.gone[index(draft.links[link].src)] &&
         !draft.gone[index(draft.links[link].dst)];
}

std::vector<Rank> ranks_left(const Draft& draft) {
  std::vector<Rank> ranks;
  for (std::uint32_t r = 0; r < draft.original.num_ranks(); ++r) {
    if (!draft.gone[index(draft.original.node_of(Rank{r}))]) ranks.push_back(Rank{r});
  }
  return ranks;
}

/// Pairs of nodes with a link between them, each once: Boost gives an edge that is parallel to
/// another no block.
std::vector<std::pair<std::uint32_t, std::uint32_t>> neighbours_of(const Draft& draft) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t id = 0; id < draft.links.size(); ++id) {
    if (!is_left(draft, id)) continue;
    pairs.emplace_back(std::minmax(index(draft.links[id].src), index(draft.links[id].dst)));
  }
  std::ranges::sort(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

/// The tree of biconnected blocks and of the nodes that they share. Leaves that are no member are
/// removed until there are none: then each block that is left joins two members, and each of its
/// nodes is on a path between them.
class BlockTree {
 public:
  BlockTree(const Draft& draft, const std::vector<bool>& is_member)
      : num_nodes_(draft.original.num_nodes()), is_member_(is_member) {
    const auto edges = neighbours_of(draft);
    Bidirected graph(num_nodes_);
    for (std::uint32_t id = 0; id < edges.size(); ++id) {
      boost::add_edge(edges[id].first, edges[id].second, id, graph);
    }
    std::vector<std::uint32_t> block(edges.size());
    const auto blocks = boost::biconnected_components(
        graph,
        boost::make_iterator_property_map(block.begin(), boost::get(boost::edge_index, graph)));
    neighbours_.resize(num_nodes_ + blocks);
    nodes_of_block_.resize(blocks);
    for (std::uint32_t id = 0; id < edges.size(); ++id) {
      nodes_of_block_[block[id]].push_back(edges[id].first);
      nodes_of_block_[block[id]].push_back(edges[id].second);
    }
    for (std::uint32_t b = 0; b < blocks; ++b) {
      auto& nodes = nodes_of_block_[b];
      std::ranges::sort(nodes);
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      for (const std::uint32_t node : nodes) {
        neighbours_[node].push_back(num_nodes_ + b);
        neighbours_[num_nodes_ + b].push_back(node);
      }
    }
  }

  /// Which nodes lie on a path between two members, or are one.
  std::vector<bool> needed() {
    std::vector<std::uint32_t> degree, leaves;
    for (const auto& list : neighbours_) degree.push_back(static_cast<std::uint32_t>(list.size()));
    const auto is_leaf = [&](std::uint32_t v) {
      return degree[v] <= 1 && (v >= num_nodes_ || !is_member_[v]);
    };
    std::vector<bool> removed(neighbours_.size(), false);
    for (std::uint32_t v = 0; v < neighbours_.size(); ++v) {
      if (is_leaf(v)) leaves.push_back(v);
    }
    while (!leaves.empty()) {
      const std::uint32_t leaf = leaves.back();
      leaves.pop_back();
      if (removed[leaf]) continue;
      removed[leaf] = true;
      for (const std::uint32_t v : neighbours_[leaf]) {
        if (removed[v]) continue;
        --degree[v];
        if (is_leaf(v)) leaves.push_back(v);
      }
    }
    std::vector<bool> result = is_member_;
    for (std::uint32_t b = 0; b < nodes_of_block_.size(); ++b) {
      if (removed[num_nodes_ + b]) continue;
      for (const std::uint32_t node : nodes_of_block_[b]) result[node] = true;
    }
    return result;
  }

 private:
  std::uint32_t num_nodes_;
  const std::vector<bool>& is_member_;
  std::vector<std::vector<std::uint32_t>> neighbours_;  // of nodes, then of blocks
  std::vector<std::vector<std::uint32_t>> nodes_of_block_;
};

/// Lengths of the box that `ranks` fill in row order, empty if they do not.
std::vector<std::uint32_t> box_of(const std::vector<Rank>& ranks,
                                  const std::vector<std::uint32_t>& dims) {
  std::vector<std::uint32_t> low, size;
  std::uint32_t first = index(ranks.front()), last = index(ranks.back());
  std::uint64_t volume = 1;
  for (const std::uint32_t dim : dims) {
    if (last % dim < first % dim) return {};
    low.push_back(first % dim);
    size.push_back(last % dim - first % dim + 1);
    volume *= size.back();
    first /= dim;
    last /= dim;
  }
  if (volume != ranks.size()) return {};
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    std::uint32_t rest = i, expected = 0, stride = 1;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      expected += (low[d] + rest % size[d]) * stride;
      rest /= size[d];
      stride *= dims[d];
    }
    if (index(ranks[i]) != expected) return {};
  }
  return size;
}

/// The layout of `ranks` if they are an aligned box of a grid whose lines stay of one kind.
Shape shape_of(const Topology& original, const std::vector<Rank>& ranks, bool has_switches) {
  const Shape& shape = original.shape();
  const bool all = ranks.size() == original.num_ranks() && std::ranges::is_sorted(ranks);
  if (all) return shape;
  const std::optional<Grid> grid = structure_of(original).grid;
  if (has_switches || !grid || grid->part.empty()) return {};
  const std::vector<std::uint32_t> size = box_of(ranks, grid->sizes);
  bool whole = false, cut = false;
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (size[d] > 2) (size[d] == grid->sizes[d] ? whole : cut) = true;
  }
  const bool wraps = grid->line == Line::Ring;
  if (size.empty() || (wraps && whole && cut)) return {};
  return {wraps && whole ? shape.family : std::string(grid->part), size};
}

}  // namespace

Topology finish(const Draft& draft, std::string name) {
  const std::vector<Rank> ranks = draft.members ? *draft.members : ranks_left(draft);
  std::vector<bool> keep(draft.gone.size());
  for (std::size_t v = 0; v < keep.size(); ++v) keep[v] = !draft.gone[v];
  std::vector<std::optional<Rank>> new_rank(keep.size());
  std::vector<bool> is_member(keep.size(), false);
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    const NodeId node = draft.original.node_of(ranks[i]);
    new_rank[index(node)] = Rank{i};
    is_member[index(node)] = true;
  }
  if (draft.members && ranks.size() < draft.original.num_ranks()) {
    keep = BlockTree(draft, is_member).needed();
  }

  TopologyBuilder builder(std::move(name));
  std::vector<NodeId> new_node(keep.size());
  bool has_switches = false;
  for (std::uint32_t v = 0; v < keep.size(); ++v) {
    if (!keep[v]) continue;
    // A rank that takes no part forwards, as a switch without abilities.
    has_switches |= !new_rank[v];
    new_node[v] =
        builder.add_node({draft.original.node(NodeId{v}).name, new_rank[v], draft.abilities[v]});
  }
  for (std::uint32_t id = 0; id < draft.links.size(); ++id) {
    const Link& link = draft.links[id];
    if (!is_left(draft, id) || !keep[index(link.src)] || !keep[index(link.dst)]) continue;
    for (std::uint64_t copy = 0; copy < draft.copies[id]; ++copy) {
      builder.add_link(new_node[index(link.src)], new_node[index(link.dst)], link.bandwidth,
                       link.latency);
    }
  }
  if (!ranks.empty()) builder.set_shape(shape_of(draft.original, ranks, has_switches));
  return std::move(builder).build();
}

}  // namespace multitree
