// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Changing one cut at a time.
#include "training/cut_search_internal.hpp"

#include <limits>

namespace multitree::training {
namespace {

/// Whether a group ends behind each gradient; the last one's always does.
using Cuts = std::vector<bool>;

std::vector<Gradient> groups_of(const std::vector<Gradient>& gradients, const Cuts& cuts) {
  std::vector<Gradient> groups;
  bool is_new = true;
  for (std::size_t g = 0; g < gradients.size(); ++g) {
    if (is_new) {
      groups.push_back(gradients[g]);
    } else {
      groups.back() = joined(groups.back(), gradients[g]);
    }
    is_new = cuts[g];
  }
  return groups;
}

/// Where fuse() with that limit cuts.
Cuts fused(const std::vector<Gradient>& gradients, std::uint64_t most) {
  Cuts cuts(gradients.size(), false);
  std::uint64_t bytes = gradients.front().bytes;
  for (std::size_t g = 1; g < gradients.size(); ++g) {
    cuts[g - 1] = gradients[g].bytes > most || bytes > most - gradients[g].bytes;
    bytes = gradients[g].bytes + (cuts[g - 1] ? 0 : bytes);
  }
  return cuts;
}

class Search {
 public:
  Search(const std::vector<Gradient>& gradients, const GroupCost& seconds, std::uint32_t left)
      : gradients_(gradients), seconds_(seconds), left_(left), best_(fused(gradients, 0)) {
    best_seconds_ = seconds_(groups_of(gradients_, best_));
  }

  void start() {
    constexpr std::uint64_t kFirst = std::uint64_t{1} << 20, kLast = std::uint64_t{1} << 29;
    for (std::uint64_t most = kFirst; most <= kLast; most *= 2) try_out(fused(gradients_, most));
    try_out(fused(gradients_, std::numeric_limits<std::uint64_t>::max()));
  }
  void improve() {
    for (bool better = true; better && left_ > 0;) {
      better = false;
      for (std::size_t cut = 0; cut + 1 < gradients_.size(); ++cut) {
        better = flip(cut) || move(cut) || better;
      }
    }
  }
  [[nodiscard]] std::vector<Gradient> groups() const { return groups_of(gradients_, best_); }

 private:
  bool try_out(Cuts cuts) {
    if (left_ == 0) return false;
    --left_;
    const double seconds = seconds_(groups_of(gradients_, cuts));
    if (!(seconds < best_seconds_)) return false;
    best_ = std::move(cuts);
    best_seconds_ = seconds;
    return true;
  }
  bool flip(std::size_t cut) {
    Cuts cuts = best_;
    cuts[cut] = !cuts[cut];
    return try_out(std::move(cuts));
  }
  /// One further back.
  bool move(std::size_t cut) {
    if (cut + 2 >= gradients_.size() || best_[cut] == best_[cut + 1]) return false;
    Cuts cuts = best_;
    cuts[cut] = best_[cut + 1];
    cuts[cut + 1] = best_[cut];
    return try_out(std::move(cuts));
  }

  const std::vector<Gradient>& gradients_;
  const GroupCost& seconds_;
  std::uint32_t left_;
  Cuts best_;
  double best_seconds_ = 0;
};

}  // namespace

std::vector<Gradient> search_cuts(const std::vector<Gradient>& gradients, const GroupCost& seconds,
                                  std::uint32_t evaluations) {
  if (gradients.empty()) return {};
  Search search(gradients, seconds, evaluations);
  search.start();
  search.improve();
  return search.groups();
}

}  // namespace multitree::training
