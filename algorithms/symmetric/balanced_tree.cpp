// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Balanced shortest-path trees, timed by the height of subtrees.
#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/symmetric/tree_builders_internal.hpp"

namespace multitree {
namespace {

// Every element gets a generator of one of its shortest paths, level by level (distance), so that
// up to each level all generators have about the same number of elements. A full generator passes
// one of this level's elements on, if need be along a chain of generators:
//
//   new element -> s (full) -> s' (full) -> s'' (has room)
class Balancing {
 public:
  Balancing(const CayleyDistances& distances, std::uint64_t seed)
      : distances_(distances),
        graph_(distances.graph),
        degree_(graph_.degree()),
        random_(seed),
        generator_(distances.elements(), TranslationTree::kNone),
        used_(degree_, 0),
        movable_(std::size_t{degree_} * degree_),
        order_(degree_),
        from_(degree_) {
    std::iota(order_.begin(), order_.end(), 0U);
    skip_first_step();
  }

  /// The generator of each element; empty if there is no balanced tree.
  std::vector<std::uint32_t> run() && {
    std::vector<std::uint32_t> elements(distances_.elements());
    std::iota(elements.begin(), elements.end(), 0U);
    shuffle(elements, random_);
    std::ranges::stable_sort(elements, {}, [&](std::uint32_t x) {
      return std::pair(distances_.distance[x], distances_.flex[x]);
    });
    const std::uint32_t roots = distances_.chunks, most = share(distances_.elements());
    for (std::uint32_t i = roots; i < elements.size(); ++i) {
      const std::uint32_t level = distances_.distance[elements[i]];
      if (level != distances_.distance[elements[i - 1]]) begin_level(elements, i, level);
      while (!assign(elements[i])) {
        if (limit_ == most) return {};
        ++limit_;
      }
    }
    return std::move(generator_);
  }

 private:
  /// In the first step of so few trees, all but the first of equal generators have no element to
  /// reach: as if they had been used.
  void skip_first_step() {
    for (std::uint32_t s = distances_.chunks; s < degree_; ++s) {
      used_[s] = graph_.generators()[s - distances_.chunks] == graph_.generators()[s] ? 1 : 0;
      idle_ += used_[s];
    }
  }

  /// Uses of each generator if the first elements, less the roots, are spread equally.
  [[nodiscard]] std::uint32_t share(std::uint32_t elements) const {
    return (elements - distances_.chunks + idle_ + degree_ - 1) / degree_;
  }

  void begin_level(const std::vector<std::uint32_t>& elements, std::uint32_t first,
                   std::uint32_t level) {
    std::uint32_t end = first;
    while (end < elements.size() && distances_.distance[elements[end]] == level) ++end;
    limit_ = share(end);
    for (auto& list : movable_) list.clear();
  }

  [[nodiscard]] bool is_option(std::uint32_t element, std::uint32_t s) const {
    const std::uint32_t parent = graph_.apply(element, graph_.inverse(s));
    return distances_.distance[parent] + 1 == distances_.distance[element];
  }

  /// Searches breadth-first for a generator with room.
  bool assign(std::uint32_t element) {
    shuffle(order_, random_);
    std::ranges::stable_sort(order_, {}, [&](std::uint32_t s) { return used_[s]; });
    std::ranges::fill(from_, TranslationTree::kNone);
    queue_.clear();
    for (const std::uint32_t s : order_) {
      if (!is_option(element, s)) continue;
      from_[s] = s;
      queue_.push_back(s);
    }
    return !walk_breadth_first(queue_, [&](std::uint32_t s) {
      if (used_[s] < limit_) {
        pass_on(element, s);
        return false;
      }
      for (const std::uint32_t next : order_) {
        if (from_[next] == TranslationTree::kNone && find_movable(s, next)) {
          from_[next] = s;
          queue_.push_back(next);
        }
      }
      return true;
    });
  }

  /// Whether an element of this level can go from s to `to`; it is then the last of the list.
  bool find_movable(std::uint32_t s, std::uint32_t to) {
    auto& list = movable_[std::size_t{s} * degree_ + to];
    while (!list.empty() && generator_[list.back()] != s) list.pop_back();
    return !list.empty();
  }

  void pass_on(std::uint32_t element, std::uint32_t last) {
    ++used_[last];
    std::uint32_t to = last;
    for (; from_[to] != to; to = from_[to]) {
      give(movable_[std::size_t{from_[to]} * degree_ + to].back(), to);
    }
    give(element, to);
  }

  void give(std::uint32_t element, std::uint32_t s) {
    generator_[element] = s;
    for (std::uint32_t other = 0; other < degree_; ++other) {
      if (other != s && is_option(element, other)) {
        movable_[std::size_t{s} * degree_ + other].push_back(element);
      }
    }
  }

  const CayleyDistances& distances_;
  const CayleyGraph& graph_;
  std::uint32_t degree_;
  std::mt19937_64 random_;
  std::vector<std::uint32_t> generator_, used_;
  // Elements of this level that have generator s and could have s': [s * degree + s']. Those that
  // have been moved since are dropped when met.
  std::vector<std::vector<std::uint32_t>> movable_;
  std::vector<std::uint32_t> order_, from_, queue_;
  std::uint32_t limit_ = 0;  // uses of a generator
  std::uint32_t idle_ = 0;   // uses that serve no element
};

/// Arcs to the farthest leaf below each element.
std::vector<std::uint32_t> heights(const CayleyDistances& distances,
                                   const std::vector<std::uint32_t>& generator) {
  const CayleyGraph& graph = distances.graph;
  std::vector<std::uint32_t> elements(distances.elements()), height(distances.elements(), 0);
  std::iota(elements.begin(), elements.end(), 0U);
  std::ranges::stable_sort(elements, std::ranges::greater{},
                           [&](std::uint32_t x) { return distances.distance[x]; });
  for (const std::uint32_t x : elements) {
    if (distances.is_root(x)) continue;
    std::uint32_t& parent = height[graph.apply(x, graph.inverse(generator[x]))];
    parent = std::max(parent, height[x] + 1);
  }
  return height;
}

/// In each step every generator takes the arc with the tallest subtree of those it could.
void set_steps(const CayleyDistances& distances, std::uint64_t seed, TranslationTree& tree) {
  const CayleyGraph& graph = distances.graph;
  const std::vector<std::uint32_t> height = heights(distances, tree.generator);
  std::mt19937_64 random(seed);
  // Height, nearness, tie break, element.
  using Arc = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint32_t>;
  std::vector<std::priority_queue<Arc>> ready(graph.degree());
  const auto add_arcs = [&](std::uint32_t from) {
    for (std::uint32_t s = 0; s < graph.degree(); ++s) {
      const std::uint32_t to = graph.apply(from, s);
      if (distances.is_root(to) || tree.generator[to] != s) continue;
      ready[s].emplace(height[to], UINT32_MAX - distances.distance[to], random(), to);
    }
  };
  for (std::uint32_t k = 0; k < distances.chunks; ++k) add_arcs(distances.root(k));
  std::vector<std::uint32_t> joined;
  for (std::uint32_t count = distances.chunks; count < distances.elements(); ++tree.steps) {
    joined.clear();
    for (auto& queue : ready) {
      if (queue.empty()) continue;
      joined.push_back(std::get<3>(queue.top()));
      queue.pop();
    }
    for (const std::uint32_t element : joined) {
      tree.step[element] = tree.steps;
      add_arcs(element);
    }
    count += static_cast<std::uint32_t>(joined.size());
  }
}

}  // namespace

std::optional<TranslationTree> balance_translation_tree(const CayleyDistances& distances,
                                                        std::uint64_t seed) {
  TranslationTree tree = empty_tree(distances);
  tree.generator = Balancing(distances, seed).run();
  if (tree.generator.empty()) return std::nullopt;
  tree.depth = distances.diameter;
  set_steps(distances, seed, tree);
  return tree;
}

}  // namespace multitree
