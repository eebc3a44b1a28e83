// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Matroid union for spanning trees in bundles (J. Roskind, R. E. Tarjan: "A note on finding
/// minimum-cost edge-disjoint spanning trees", Math. of OR 1985, with capacities instead of
/// copies of edges).
///
/// Edge f can replace edge e in a tree if e is on the path between the ends of f. The search starts
/// from edges with room and asks what they could replace, what that could replace, and so on, until
/// an overloaded edge is met. A shortest chain of replacements leaves all trees spanning trees,
/// even those that it passes several times, if it is carried out from the edge with room on.
#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <limits>
#include <numeric>
#include <utility>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/packing/trees/spanning_trees_internal.hpp"

namespace multitree {
namespace {

class Exchanger {
 public:
  explicit Exchanger(BundlePacking& packing)
      : packing_(packing), labels_(packing.load.size()), labelled_(packing.load.size()) {}

  std::optional<std::vector<std::uint32_t>> run() {
    for (;;) {
      const std::size_t overloaded = count_overloaded();
      if (overloaded == 0) return std::nullopt;
      const std::uint32_t found = search();
      if (found == kNoEdge) return classes();
      replace(found);
    }
  }

 private:
  /// `by` replaces the labelled edge in bundle `bundle`; kNoEdge: the edge has room itself.
  struct Label {
    std::uint32_t by = kNoEdge, bundle = 0;
  };

  [[nodiscard]] std::size_t count_overloaded() const {
    std::size_t count = 0;
    for (std::uint32_t e = 0; e < packing_.load.size(); ++e) count += packing_.excess(e) > 0;
    return count;
  }

  /// Breadth-first. In each tree labelled edges are contracted, so that none is met twice.
  std::uint32_t search() {
    queue_.clear();
    labelled_.assign(labelled_.size(), false);
    top_.resize(packing_.bundles.size());
    for (auto& top : top_) {
      top.resize(packing_.network->nodes);
      std::iota(top.begin(), top.end(), 0U);
    }
    for (std::uint32_t e = 0; e < labels_.size(); ++e) {
      if (packing_.excess(e) < 0) label(e, {});
    }
    std::uint32_t found = kNoEdge;
    walk_breadth_first(queue_, [&](std::uint32_t by) {
      for (std::uint32_t bundle = 0; bundle < packing_.bundles.size(); ++bundle) {
        found = label_path(by, bundle);
        if (found != kNoEdge) return false;
      }
      return true;
    });
    return found;
  }

  void label(std::uint32_t edge, Label why) {
    labelled_[edge] = true;
    labels_[edge] = why;
    queue_.push_back(edge);
  }

  /// Nodes of a tree joined to their parents. Without ranks: a set's representative is its top.
  using Tops = boost::disjoint_sets<boost::dummy_property_map, std::uint32_t*,
                                    boost::find_with_path_halving>;

  /// Labels what `by` can replace in a tree; returns an overloaded edge if there is one.
  std::uint32_t label_path(std::uint32_t by, std::uint32_t bundle) {
    const TreeBundle& tree = packing_.bundles[bundle];
    Tops tops({}, top_[bundle].data());
    std::uint32_t u = tops.find_set(packing_.network->edges[by].a);
    std::uint32_t v = tops.find_set(packing_.network->edges[by].b);
    while (u != v) {
      if (tree.depth[u] < tree.depth[v]) std::swap(u, v);
      const std::uint32_t edge = tree.edge[u];
      if (!labelled_[edge]) {
        label(edge, {by, bundle});
        if (packing_.excess(edge) > 0) return edge;
      }
      tops.link(u, tree.parent[u]);
      u = tops.find_set(u);
    }
    return kNoEdge;
  }

  /// Carries out the chain that ends at the overloaded edge, for as many trees of each bundle on it
  /// as need it and as there is room for.
  void replace(std::uint32_t overloaded) {
    std::int64_t weight = packing_.excess(overloaded);
    std::vector<std::pair<std::uint32_t, Label>> chain;
    std::uint32_t edge = overloaded;
    for (; labels_[edge].by != kNoEdge; edge = labels_[edge].by) {
      chain.emplace_back(edge, labels_[edge]);
      weight = std::min(weight, packing_.bundles[labels_[edge].bundle].weight);
    }
    weight = std::min(weight, -packing_.excess(edge));
    packing_.load[overloaded] -= weight;
    packing_.load[edge] += weight;
    for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
      const auto& [out, why] = *link;
      if (packing_.bundles[why.bundle].weight > weight) {
        packing_.bundles.push_back(packing_.bundles[why.bundle]);
        packing_.bundles.back().weight -= weight;
        packing_.bundles[why.bundle].weight = weight;
      }
      packing_.bundles[why.bundle].exchange(out, why.by, *packing_.network);
    }
  }

  /// After a search in vain: labelled edges joined. Every tree spans each class by labelled edges,
  /// so all the others are between classes, none has room, and some are overloaded.
  std::vector<std::uint32_t> classes() {
    std::vector<std::uint32_t> top(packing_.network->nodes);
    std::iota(top.begin(), top.end(), 0U);
    Tops tops({}, top.data());
    for (const std::uint32_t e : queue_) {
      tops.union_set(packing_.network->edges[e].a, packing_.network->edges[e].b);
    }
    for (std::uint32_t v = 0; v < top.size(); ++v) top[v] = tops.find_set(v);
    return top;
  }

  BundlePacking& packing_;
  std::vector<Label> labels_;
  std::vector<bool> labelled_;
  std::vector<std::uint32_t> queue_;             // labelled edges, in order
  std::vector<std::vector<std::uint32_t>> top_;  // by bundle and node: what Tops keeps
};

}  // namespace

std::optional<std::vector<std::uint32_t>> resolve_overload(BundlePacking& packing) {
  return Exchanger(packing).run();
}

}  // namespace multitree
