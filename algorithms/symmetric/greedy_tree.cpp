// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Scarcity-first matching of generators to elements.
#include <algorithm>
#include <numeric>

#include "algorithms/symmetric/tree_builders_internal.hpp"

namespace multitree {
namespace {

/// Candidates of a generator that are looked at in one step.
constexpr std::size_t kMostCandidates = 8;

// For each generator, the elements it would reach from the tree wait in queues, one for each flex
// and a last one for detours. First come, first served: near elements before far ones.
class Growing {
 public:
  Growing(const CayleyDistances& distances, bool any_path, std::uint64_t seed)
      : distances_(distances),
        graph_(distances.graph),
        any_path_(any_path),
        shuffled_(seed != 0),
        random_(seed),
        tree_(empty_tree(distances)),
        queues_per_generator_(std::ranges::max(distances.flex) + 1),
        queues_(std::size_t{graph_.degree()} * queues_per_generator_),
        candidates_(graph_.degree()),
        visited_(graph_.degree(), 0),
        depth_(distances.elements(), 0) {}

  TranslationTree run() && {
    for (std::uint32_t k = 0; k < tree_.chunks; ++k) add_arcs(distances_.root(k));
    for (std::uint32_t joined = tree_.chunks; joined < distances_.elements(); ++tree_.steps) {
      find_candidates();
      match();
      joined += commit();
    }
    return std::move(tree_);
  }

 private:
  struct Queue {
    std::vector<std::uint32_t> targets;
    std::size_t head = 0;
  };

  [[nodiscard]] bool has(std::uint32_t element) const {
    return distances_.is_root(element) || tree_.step[element] != TranslationTree::kNone;
  }

  void add_arcs(std::uint32_t from) {
    for (std::uint32_t s = 0; s < graph_.degree(); ++s) {
      const std::uint32_t to = graph_.apply(from, s);
      if (has(to)) continue;
      const bool shortest = distances_.distance[to] == distances_.distance[from] + 1;
      if (!shortest && !any_path_) continue;
      const std::uint32_t place = shortest ? distances_.flex[to] - 1 : queues_per_generator_ - 1;
      queues_[std::size_t{s} * queues_per_generator_ + place].targets.push_back(to);
    }
  }

  void find_candidates() {
    for (std::uint32_t s = 0; s < graph_.degree(); ++s) {
      candidates_[s].clear();
      for (std::uint32_t q = 0; q < queues_per_generator_; ++q) {
        take_from(queues_[std::size_t{s} * queues_per_generator_ + q], candidates_[s]);
        if (candidates_[s].size() == kMostCandidates) break;
      }
    }
  }

  /// The first elements of the queue that are not in the tree. They stay in it; what is before and
  /// between them goes.
  void take_from(Queue& queue, std::vector<std::uint32_t>& candidates) const {
    const std::size_t before = candidates.size();
    std::size_t at = queue.head;
    for (; at < queue.targets.size() && candidates.size() < kMostCandidates; ++at) {
      if (!has(queue.targets[at])) candidates.push_back(queue.targets[at]);
    }
    queue.head = at - (candidates.size() - before);
    std::copy(candidates.begin() + static_cast<std::ptrdiff_t>(before), candidates.end(),
              queue.targets.begin() + static_cast<std::ptrdiff_t>(queue.head));
  }

  /// Kuhn's maximum matching. An element that is matched, but not in the tree yet, has a generator
  /// and no step.
  void match() {
    order_.resize(graph_.degree());
    std::iota(order_.begin(), order_.end(), 0U);
    if (shuffled_) shuffle(order_, random_);
    std::ranges::stable_sort(order_, {}, [&](std::uint32_t s) { return candidates_[s].size(); });
    for (const std::uint32_t s : order_) {
      ++stamp_;
      augment(s);
    }
  }

  bool augment(std::uint32_t s) {
    if (visited_[s] == stamp_) return false;
    visited_[s] = stamp_;
    for (const std::uint32_t target : candidates_[s]) {
      std::uint32_t& holder = tree_.generator[target];
      if (holder == TranslationTree::kNone || augment(holder)) {
        holder = s;
        return true;
      }
    }
    return false;
  }

  std::uint32_t commit() {
    joined_.clear();
    for (const std::uint32_t s : order_) {
      for (const std::uint32_t target : candidates_[s]) {
        if (tree_.generator[target] != s || has(target)) continue;
        tree_.step[target] = tree_.steps;
        depth_[target] = depth_[graph_.apply(target, graph_.inverse(s))] + 1;
        tree_.depth = std::max(tree_.depth, depth_[target]);
        joined_.push_back(target);
      }
    }
    for (const std::uint32_t element : joined_) add_arcs(element);
    return static_cast<std::uint32_t>(joined_.size());
  }

  const CayleyDistances& distances_;
  const CayleyGraph& graph_;
  bool any_path_, shuffled_;
  std::mt19937_64 random_;
  TranslationTree tree_;
  std::uint32_t queues_per_generator_;
  std::vector<Queue> queues_;
  std::vector<std::vector<std::uint32_t>> candidates_;
  std::vector<std::uint32_t> order_, joined_;
  std::vector<std::uint64_t> visited_;  // stamp of the last search that tried a generator
  std::uint64_t stamp_ = 0;
  std::vector<std::uint32_t> depth_;
};

}  // namespace

TranslationTree grow_translation_tree(const CayleyDistances& distances, bool any_path,
                                      std::uint64_t seed) {
  return Growing(distances, any_path, seed).run();
}

}  // namespace multitree
