// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One tree of a Forest opened for changes: children, depths, and the best arcs to hang a rank on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/replan/forest_internal.hpp"

namespace multitree {

/// A way to attach a rank: over switches only, each link with room for the chunk.
struct Entry {
  Rank parent{};
  LinkLoad load;    ///< of its busiest link once it is taken
  LinkLoad judged;  ///< the same, but no less than the load that is aimed at
  std::uint32_t depth = 0;
  std::vector<LinkId> route;

  /// Less load beyond the aim first, then nearer to the root, then less load.
  friend bool operator<(const Entry& a, const Entry& b) {
    if (a.judged < b.judged || b.judged < a.judged) return a.judged < b.judged;
    if (a.depth != b.depth) return a.depth < b.depth;
    if (a.load < b.load || b.load < a.load) return a.load < b.load;
    return a.route.size() < b.route.size();
  }
};

class TreeWork {
 public:
  explicit TreeWork(Forest& forest);

  /// Opens a tree. `aim`: load below which links are all the same.
  void open(Op op, std::uint32_t chunk, LinkLoad aim);
  /// Ranks without a parent other than the root, ascending.
  [[nodiscard]] std::vector<std::uint32_t> orphans() const;
  /// Takes `rank` and what is below it off the tree.
  void detach(std::uint32_t rank);
  void attach(std::uint32_t rank, const Entry& entry);
  /// The same arc as before detach().
  void attach_again(std::uint32_t rank, std::uint32_t arc);
  /// The best arc from the tree to `rank`, which is not in it.
  std::optional<Entry> entry(std::uint32_t rank);
  /// Hangs an orphan, or if that is better (or the only way) first a part of what is below it.
  /// False if nothing could be attached. The load is at most that of the busiest arc.
  bool hang(std::uint32_t orphan);
  /// Moves a rank to an arc that leaves its links with less than `limit`, if there is one.
  bool improve(std::uint32_t rank, LinkLoad limit);

 private:
  struct Visit {
    LinkLoad load, judged;
    std::uint32_t hops, node, link, before;
  };
  template <class Accept>
  std::optional<Entry> search(std::uint32_t rank, const Accept& accept);
  [[nodiscard]] Entry entry_of(const Visit& visit) const;
  [[nodiscard]] std::uint32_t parent(std::uint32_t rank) const {
    return forest_.parent(op_, chunk_, rank);
  }
  void set_depths(std::uint32_t top, std::uint32_t depth);
  [[nodiscard]] std::vector<std::uint32_t> below(std::uint32_t top) const;

  Forest& forest_;
  Op op_ = Op::Copy;
  std::uint32_t chunk_ = 0;
  LinkLoad aim_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<bool> in_tree_;
  std::vector<std::uint32_t> depth_;
  std::vector<Visit> visits_;
  std::vector<std::uint32_t> seen_;  // stamp of the last search that left a switch
  std::uint32_t stamp_ = 0;
};

}  // namespace multitree
