// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Two binary trees over all ranks in which every rank is an inner node of at most one, half of the
/// data each, pipelined. P. Sanders, J. Speck, J. L. Traeff: "Two-tree algorithms for full
/// bandwidth broadcast, reduction and scan", Parallel Computing 35(12), 2009
/// (DOI 10.1016/j.parco.2009.09.001).
///
/// Tree 0 is the in-order tree: rank r stands at position r+1, and the lowest set bit of the
/// position is its height, so the leaves are the odd positions:
///
///            4                 Tree 1 is the same shifted by one: rank r stands at position
///        2       6             r+2 (the last rank at 1). Inner nodes of one tree, at even
///        positions,
///      1   3   5   7           are at odd ones, leaves, in the other.
#include <algorithm>
#include <bit>
#include <utility>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/pack.hpp"

namespace multitree {
namespace {

/// The parent of a position (1..count), itself for the root.
std::uint32_t parent_position(std::uint32_t position, std::uint32_t count) {
  if (position == std::bit_floor(count)) return position;
  const std::uint32_t low = position & (~position + 1);
  const std::uint32_t parent = (position - low) | (2 * low);
  return parent <= count ? parent : position - low;
}

/// One of the two trees, without a root.
class BinaryTree {
 public:
  /// An edge as seen from some root; depth of the child.
  struct Edge {
    std::uint32_t parent, child, depth;
  };

  BinaryTree(std::uint32_t ranks, std::uint32_t shift) : neighbours_(ranks) {
    const auto rank_at = [&](std::uint32_t p) { return (p - 1 + ranks - shift % ranks) % ranks; };
    root_ = rank_at(std::bit_floor(ranks));
    for (std::uint32_t position = 1; position <= ranks; ++position) {
      const std::uint32_t parent = parent_position(position, ranks);
      if (parent == position) continue;
      neighbours_[rank_at(position)].push_back(rank_at(parent));
      neighbours_[rank_at(parent)].push_back(rank_at(position));
    }
  }

  [[nodiscard]] std::uint32_t root() const { return root_; }

  /// The edges away from `root`, nearest first.
  [[nodiscard]] std::vector<Edge> edges_from(std::uint32_t root) const {
    std::vector<Edge> edges = {{root, root, 0}};
    walk_breadth_first(edges, [&](const Edge& edge) {
      for (const std::uint32_t next : neighbours_[edge.child]) {
        if (next != edge.parent) edges.push_back({edge.child, next, edge.depth + 1});
      }
    });
    edges.erase(edges.begin());
    return edges;
  }

 private:
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::uint32_t root_ = 0;
};

/// Messages with the time they would have in an uncontended pipeline.
class Pipeline {
 public:
  void add(std::uint32_t time, const Message& message) { timed_.push_back({time, message}); }

  /// In the order of their times.
  std::vector<Message> messages() && {
    std::ranges::stable_sort(timed_, {}, &Timed::time);
    std::vector<Message> list;
    list.reserve(timed_.size());
    for (const Timed& timed : timed_) list.push_back(timed.message);
    return list;
  }

 private:
  struct Timed {
    std::uint32_t time;
    Message message;
  };
  std::vector<Timed> timed_;
};

/// Chunk s of tree t is chunk 2*s + t, so that consecutive chunks alternate between the trees.
struct Plan {
  std::uint32_t ranks, segments;
  BinaryTree trees[2];

  Plan(const Topology& topology, const Spec& options)
      : ranks(topology.num_ranks()),
        segments(options.get_number("segments", (ranks + 1) / 2, 1, kMaxSegments)),
        trees{BinaryTree(ranks, 0), BinaryTree(ranks, 1)} {}
};

Schedule binary_tree_all_gather(const Topology& topology, const Spec& options) {
  const Plan plan(topology, options);
  Pipeline pipeline;
  for (std::uint32_t root = 0; root < plan.ranks; ++root) {
    for (const auto& edge : plan.trees[root % 2].edges_from(root)) {
      pipeline.add(edge.depth, {Op::Copy, root, Rank{edge.parent}, Rank{edge.child}});
    }
  }
  return pack(all_gather_header(topology), std::move(pipeline).messages(), topology);
}

Schedule binary_tree_broadcast(const Topology& topology, Rank root, const Spec& options) {
  const Plan plan(topology, options);
  Schedule header = broadcast_header(topology, root, 2 * plan.segments);
  Pipeline pipeline;
  for (const std::uint32_t tree : {0U, 1U}) {
    const auto edges = plan.trees[tree].edges_from(index(root));
    for (std::uint32_t segment = 0; segment < plan.segments; ++segment) {
      const std::uint32_t chunk = 2 * segment + tree;
      header.chunks[chunk].tree = tree;
      for (const auto& edge : edges) {
        pipeline.add(2 * segment + edge.depth,
                     {Op::Copy, chunk, Rank{edge.parent}, Rank{edge.child}});
      }
    }
  }
  return pack(std::move(header), std::move(pipeline).messages(), topology);
}

/// Up to the root and down again, segment after segment.
Schedule binary_tree_all_reduce(const Topology& topology, const Spec& options) {
  const Plan plan(topology, options);
  Schedule header;
  header.collective = Collective::AllReduce;
  header.ranks = plan.ranks;
  header.chunks.resize(2 * std::size_t{plan.segments});
  Pipeline pipeline;
  for (const std::uint32_t tree : {0U, 1U}) {
    const std::uint32_t root = plan.trees[tree].root();
    const auto edges = plan.trees[tree].edges_from(root);
    const std::uint32_t height = edges.empty() ? 0 : edges.back().depth;
    for (std::uint32_t segment = 0; segment < plan.segments; ++segment) {
      const std::uint32_t chunk = 2 * segment + tree;
      header.chunks[chunk] = Chunk::rooted(Rank{root}, tree, 1);
      for (const auto& edge : edges) {
        pipeline.add(2 * segment + height - edge.depth,
                     {Op::Reduce, chunk, Rank{edge.child}, Rank{edge.parent}});
        pipeline.add(2 * segment + height + edge.depth,
                     {Op::Copy, chunk, Rank{edge.parent}, Rank{edge.child}});
      }
    }
  }
  return pack(std::move(header), std::move(pipeline).messages(), topology);
}

}  // namespace

Algorithm double_binary_tree_algorithm() {
  return {.name = "double-binary-tree",
          .summary = "two complementary binary trees, half of the data each, pipelined",
          .source = "Sanders, Speck, Traeff, Parallel Computing 2009",
          .parameters =
              "segments=N: pieces of each half in allreduce, broadcast and reduce "
              "(default: half the ranks, rounded up)",
          .unsupported = supports_all,
          .all_gather = binary_tree_all_gather,
          .broadcast = binary_tree_broadcast,
          .all_reduce = binary_tree_all_reduce};
}

}  // namespace multitree
