// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduce of few bytes on networks without switches: trees of few hops around neighbours that
/// exchange their sums.
///
/// A tree with one root takes twice the way to its farthest rank. Where it is cut in its middle,
/// and the two ends of the middle link send each other their sums at the same time, that is a hop
/// less, at no price: as many messages. Four ranks of a square that exchange in two rounds save
/// another hop, for two more messages. Which link a rank takes to the middle is chosen so that all
/// links are equally busy, also those of each distance, so that little waits on its way.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// What one piece takes, by link, in picoseconds.
struct PieceTimes {
  std::vector<std::int64_t> busy;  ///< it keeps the link busy
  std::vector<std::int64_t> hop;   ///< from when it starts to when it is over the link
};

/// Ranks that exchange their sums, in rounds of swaps: each by a link, there, and its mate, back.
struct Middle {
  std::vector<std::uint32_t> ranks;
  std::vector<std::vector<LinkId>> rounds;
  std::vector<std::int64_t> distance;  ///< by rank: hops of a piece, in picoseconds
};

/// The way of one piece: every rank sends its sum on `up`, and gets the result by its mate.
struct ShortTree {
  std::uint32_t middle = 0;
  std::vector<LinkId> up;           ///< by rank; kNoUp: it is in the middle
  std::vector<std::int64_t> depth;  ///< by rank, as Middle::distance but over the tree
  static constexpr LinkId kNoUp{~std::uint32_t{0}};
};

struct ShortTrees {
  std::vector<Middle> middles;
  std::vector<ShortTree> trees;  ///< one for each piece
};

/// What is best depends on the network and the size.
struct ShortTreesOptions {
  std::uint32_t exchange = 1;  ///< ranks of a middle: 1, 2 or 4
  /// Links are compared with those that carry least, not most: for few pieces.
  bool from_least = false;
  /// Of middles that serve as many pieces the next is the one whose links carry least.
  bool idle_middles = true;
};

/// No trees where there are no such middles. \pre no switches, and every link has a mate.
ShortTrees grow_short_trees(const Topology& topology, const PieceTimes& times, std::uint64_t bytes,
                            std::uint32_t pieces, const ShortTreesOptions& options);

struct TimedSchedule {
  Schedule schedule;
  std::int64_t end = 0;  ///< when the last piece has arrived, in picoseconds
};

/// List scheduling: a link that is free takes the piece that has farthest to go. \param spread in
/// percent: pieces of higher number count as due later, the last one by so much of the time that
/// the busiest link is busy
TimedSchedule time_short_trees(const ShortTrees& trees, const Topology& topology,
                               const PieceTimes& times, std::int64_t spread);

/// The fastest of these, with middles of 1, 2 and 4 ranks, in pieces of about so many bytes.
Schedule short_all_reduce(const Topology& topology, std::uint64_t bytes, std::uint64_t piece);

}  // namespace multitree
