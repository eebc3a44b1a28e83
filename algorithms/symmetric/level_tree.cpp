// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trees over switches, level by level: first to one rank of each box, which tells the others of
/// it. Links of the upper levels that would be idle take over what those below have not done yet.
#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "algorithms/symmetric/tree_builders_internal.hpp"

namespace multitree {
namespace {

/// The ranks that differ from one in a coordinate: those from `next` on, up to `end`, are to come.
struct Fan {
  std::uint32_t parent = 0;
  std::uint32_t next = 1, end = 0;
};

class Levelled {
 public:
  Levelled(const AlikeRanks& ranks, std::uint32_t chunks)
      : ranks_(ranks), fans_(ranks.levels.size()), used_(ranks.levels.size(), 0) {
    const std::uint32_t size = ranks.graph.size();
    tree_.chunks = chunks;
    tree_.generator.assign(std::size_t{size} * chunks, TranslationTree::kNone);
    tree_.step = tree_.generator;
    depth_.assign(tree_.generator.size(), 0);
    for (std::uint32_t stride = 1; const std::uint32_t level : ranks.levels) {
      strides_.push_back(stride);
      stride *= level;
    }
    set_shares();
  }

  TranslationTree run() && {
    const std::uint32_t size = ranks_.graph.size();
    for (std::uint32_t k = 0; k < tree_.chunks; ++k) open_fans(k * size, ranks_.levels.size());
    for (std::size_t left = std::size_t{size - 1} * tree_.chunks; left > 0; ++tree_.steps) {
      room_.clear();
      for (const LinkOrbits::Orbit& orbit : ranks_.links.orbits) room_.push_back(orbit.slots);
      joined_.clear();
      for (std::size_t level = fans_.size(); level-- > 0;) serve(level);
      for (std::size_t level = fans_.size(); level-- > 1;) {
        while (fans_[level].empty() && take_over(level)) {
        }
      }
      // What has come in this step is passed on in later ones.
      for (const std::uint32_t element : joined_) open_fans(element, lowest(element));
      left -= joined_.size();
    }
    return std::move(tree_);
  }

 private:
  /// How many arcs of each level make the load of all links the same.
  void set_shares() {
    const std::uint64_t all = ranks_.links.slots_out();
    const std::uint64_t arcs = std::uint64_t{ranks_.graph.size() - 1} * tree_.chunks;
    for (std::size_t level = 0; level < fans_.size(); ++level) {
      const std::uint64_t own = ranks_.links.slots_out(ranks_.first_generator(level));
      shares_.push_back(all == 0 ? 0 : arcs * own / all);
    }
  }

  [[nodiscard]] std::uint32_t coordinate(std::uint32_t element, std::size_t level) const {
    return element % ranks_.graph.size() / strides_[level] % ranks_.levels[level];
  }
  /// The lowest level in which an element differs from the root.
  [[nodiscard]] std::size_t lowest(std::uint32_t element) const {
    std::size_t level = 0;
    while (coordinate(element, level) == 0) ++level;
    return level;
  }
  [[nodiscard]] bool is_root(std::uint32_t element) const {
    return element % ranks_.graph.size() == 0;
  }
  /// Before this step.
  [[nodiscard]] bool had(std::uint32_t element) const {
    return is_root(element) || tree_.step[element] < tree_.steps;
  }

  /// The element is to tell those that differ from it in a level below `above`.
  void open_fans(std::uint32_t element, std::size_t above) {
    for (std::size_t level = 0; level < above; ++level) {
      const std::uint32_t size = ranks_.levels[level];
      if (size > 1) fans_[level].push_back({.parent = element, .next = 1, .end = size});
    }
  }

  /// Adds an arc if its links have room.
  bool join(std::uint32_t parent, std::size_t level, std::uint32_t offset) {
    const std::uint32_t generator = ranks_.first_generator(level) + offset - 1;
    const auto way = ranks_.links.way(generator);
    if (std::ranges::any_of(way, [&](std::uint32_t orbit) { return room_[orbit] == 0; })) {
      return false;
    }
    for (const std::uint32_t orbit : way) --room_[orbit];
    const std::uint32_t element = parent + offset * strides_[level];
    tree_.generator[element] = generator;
    tree_.step[element] = tree_.steps;
    depth_[element] = depth_[parent] + 1;
    tree_.depth = std::max(tree_.depth, depth_[element]);
    joined_.push_back(element);
    ++used_[level];
    return true;
  }

  /// First come, first served.
  void serve(std::size_t level) {
    std::deque<Fan>& fans = fans_[level];
    while (!fans.empty()) {
      Fan& fan = fans.front();
      while (fan.next < fan.end && join(fan.parent, level, fan.next)) ++fan.next;
      if (fan.next < fan.end) return;
      fans.pop_front();
    }
  }

  /// Takes the last of those that wait below, if the root's part of the network has it already.
  bool take_over(std::size_t level) {
    if (used_[level] >= shares_[level]) return false;
    for (std::size_t below = 0; below < level; ++below) {
      if (fans_[below].empty()) continue;
      Fan& fan = fans_[below].back();
      const std::uint32_t element = fan.parent + (fan.end - 1) * strides_[below];
      const std::uint32_t offset = coordinate(element, level);
      const std::uint32_t parent = element - offset * strides_[level];
      if (offset == 0 || !had(parent) || !join(parent, level, offset)) continue;
      if (--fan.end == fan.next) fans_[below].pop_back();
      return true;
    }
    return false;
  }

  const AlikeRanks& ranks_;
  TranslationTree tree_;
  std::vector<std::deque<Fan>> fans_;  // of each level
  std::vector<std::uint64_t> used_, shares_;
  std::vector<std::uint32_t> strides_, depth_, room_, joined_;
};

/// A box is entered once at least.
std::uint32_t least_steps_of_levels(const AlikeRanks& ranks, std::uint32_t chunks) {
  std::uint64_t least = 0, inside = 1;
  for (std::size_t level = 0; level < ranks.levels.size(); ++level) {
    const std::uint64_t slots = ranks.links.slots_out(ranks.first_generator(level));
    const std::uint64_t arcs = chunks * (ranks.graph.size() / inside - 1);
    if (arcs > 0) least = std::max(least, (arcs + slots - 1) / slots);
    inside *= ranks.levels[level];
  }
  return static_cast<std::uint32_t>(least);
}

}  // namespace

TranslationTree make_level_tree(const AlikeRanks& ranks, std::uint32_t chunks) {
  TranslationTree tree = Levelled(ranks, chunks).run();
  tree.least_steps = least_steps_of_levels(ranks, chunks);
  tree.diameter = static_cast<std::uint32_t>(
      std::ranges::count_if(ranks.levels, [](std::uint32_t size) { return size > 1; }));
  return tree;
}

}  // namespace multitree
