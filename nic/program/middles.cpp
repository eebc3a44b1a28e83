// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduces from the middles of their trees.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "nic/program/pieces_internal.hpp"

namespace multitree::nic {
namespace {

/// A tree of messages without a root.
class Tree {
 public:
  /// An edge, once for each way.
  struct Way {
    Rank to{};
    std::vector<LinkId> there, back;  ///< links as they are passed
  };

  /// Of all groups of a chunk; nothing if they are not the same tree once up and once down.
  static std::optional<Tree> of(const std::vector<const PieceGroup*>& groups) {
    std::map<Rank, const Piece*> up, down;  // by far end
    for (const PieceGroup* group : groups) {
      auto& pieces = group->op == Op::Reduce ? up : down;
      for (const Piece& piece : group->pieces) {
        if (!pieces.emplace(piece.far, &piece).second) return std::nullopt;
      }
    }
    Tree tree;
    if (up.size() != down.size()) return std::nullopt;
    for (const auto& [far, sum] : up) {
      const auto copy = down.find(far);
      if (copy == down.end() || copy->second->near != sum->near) return std::nullopt;
      std::vector<LinkId> links(sum->route.rbegin(), sum->route.rend());
      tree.ways_[sum->near].push_back({far, copy->second->route, links});
      tree.ways_[far].push_back({sum->near, std::move(links), copy->second->route});
      if (!up.contains(sum->near)) tree.root_ = sum->near;
    }
    const bool is_tree = tree.ways_.size() == up.size() + 1;
    return is_tree && !up.empty() ? std::optional(std::move(tree)) : std::nullopt;
  }

  /// The node from which the farthest is least far, the root or one that may be another.
  template <class MayBe>
  [[nodiscard]] Rank middle(const Topology& with, const MayBe& may_be) const {
    Rank best = root_;
    std::int64_t least = reach(root_, with);
    for (const auto& [node, ways] : ways_) {
      if (!may_be(node)) continue;
      const std::int64_t far = reach(node, with);
      if (far < least) std::tie(best, least) = std::pair(node, far);
    }
    return best;
  }
  [[nodiscard]] Rank root() const { return root_; }

  /// Of sums to a node, or of copies from there; nearer ones first.
  [[nodiscard]] std::vector<Piece> pieces_from(Rank node, Op op) const {
    std::vector<Piece> pieces;
    visit(node, [&](Rank at, const Way& way, std::uint32_t level) {
      pieces.push_back({at, way.to, level, op == Op::Copy ? way.there : way.back});
      if (op == Op::Reduce) std::ranges::reverse(pieces.back().route);
    });
    return pieces;
  }

 private:
  template <class Visit>
  void visit(Rank node, const Visit& visit) const {
    struct Place {
      Rank at{}, from{};
      std::uint32_t level = 0;
    };
    std::vector<Place> open{{node, node, 0}};
    for (std::size_t i = 0; i < open.size(); ++i) {
      const Place place = open[i];
      for (const Way& way : ways_.at(place.at)) {
        if (way.to == place.from) continue;
        visit(place.at, way, place.level);
        open.push_back({way.to, place.at, place.level + 1});
      }
    }
  }

  /// How far the farthest is, in latency; a message more where that is the same.
  [[nodiscard]] std::int64_t reach(Rank node, const Topology& with) const {
    std::map<Rank, std::int64_t> far{{node, 0}};
    std::int64_t most = 0;
    visit(node, [&](Rank at, const Way& way, std::uint32_t) {
      std::int64_t there = far[at] + 1;
      for (const LinkId link : way.there) there += with.link(link).latency.picoseconds;
      far[way.to] = there;
      most = std::max(most, there);
    });
    return most;
  }

  Rank root_{};
  std::map<Rank, std::vector<Way>> ways_;
};

}  // namespace

void turn_to_middles(std::vector<PieceGroup>& groups, const Topology& topology,
                     const Topology& with) {
  std::map<std::uint32_t, std::vector<const PieceGroup*>> of_chunk;
  for (const PieceGroup& group : groups) of_chunk[group.chunk].push_back(&group);
  std::vector<PieceGroup> turned;
  for (const auto& [chunk, list] : of_chunk) {
    const auto tree = Tree::of(list);
    const Rank middle = !tree ? Rank{} : tree->middle(with, [&](Rank node) {
      const SwitchAbilities& abilities = topology.node(with.node_of(node)).abilities;
      return index(node) < topology.num_ranks() || (abilities.adds && abilities.copies);
    });
    if (!tree || middle == tree->root()) {
      for (const PieceGroup* group : list) turned.push_back(*group);
      continue;
    }
    for (const Op op : {Op::Reduce, Op::Copy}) {
      const auto first = std::ranges::find(list, op, &PieceGroup::op);
      turned.push_back({(*first)->step, chunk, op, tree->pieces_from(middle, op), true});
    }
  }
  groups = std::move(turned);
}

}  // namespace multitree::nic
