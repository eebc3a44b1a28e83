// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A proof that no schedule of a collective on a network beats a bandwidth bound: weighted cuts.
/// The proof is a value: whoever doubts it evaluates it (evaluate.hpp) without trusting its maker.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/collective.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// A rational number of any size. Construct, compare and print; nothing overflows.
using Exact = boost::multiprecision::cpp_rational;

/// One cut. `far` lists, ascending, the nodes of one side; the others are its near side. Weight
/// `gather` counts finished data that must cross from near to far, `reduce` partial sums that must
/// cross from far to near.
struct WeightedCut {
  std::vector<NodeId> far;  ///< at least one rank, and not all nodes
  Exact gather = 0;         ///< >= 0
  Exact reduce = 0;         ///< >= 0
  bool operator==(const WeightedCut&) const = default;
};

/// Prices of a unit of flow at a switch. A switch that forwards what it receives, no more (no
/// multicast) and no less (no in-network reduction), may charge any price on the way in and refund
/// it on the way out. One that copies sends more than it receives, so its price `gather` is 0 at
/// most; one that adds sends less, so its price `reduce` is 0 at least.
struct SwitchPrice {
  NodeId node{};
  Exact gather = 0;
  Exact reduce = 0;
  bool operator==(const SwitchPrice&) const = default;
};

/// Price of a byte on a link, of an AllToAll.
struct LinkPrice {
  LinkId link{};
  Exact price = 0;  ///< >= 0
  bool operator==(const LinkPrice&) const = default;
};

/// Lower bound on the time of a collective.
///
/// Model: store and forward, copying and reduction at ranks and at switches that copy and add, no
/// coding; every element is reduced along a tree to one place and spread from it along another, a
/// rank or a switch that adds. (For the cuts of a partition of the nodes, all of one weight, the
/// last condition is not needed.)
///
/// Let g(e) = sum of `gather` of the cuts that link e crosses from near to far, plus the price
/// `gather` of its dst minus that of its src (0 at ranks); h(e) likewise with `reduce` and the cuts
/// crossed from far to near. Let z be, over the ranks r that may be an element's root, the least
/// (all-reduce, root free), the mean (all-gather, reduce-scatter: equal shards) or the only
/// (rooted) value of the sum over the cuts with r on the near side of gather + reduce. Then
///     time >= z * bytes / sum over links e of bandwidth(e) * max(0, g(e), h(e)),
/// the linear-programming dual of packing in-trees and out-trees. Where switches that add are
/// roots, z counts their price `reduce` minus `gather` as well. Where every link has a mate, some
/// switch adds and copies, and each does both or none, trees may be used both ways and from any
/// root: there z is that of the best rank, if each cut has `gather` = `reduce` and each price
/// `gather` = -`reduce`. All-gather and broadcast have gather weights only, reduce-scatter and
/// reduce have reduce weights only.
///
/// Of an AllToAll, prices of links are the proof instead of cuts. What goes from s to t pays at
/// least the length d(s, t) of the cheapest path, and all links together can earn no more than
/// price * bandwidth * time, so
///     time >= sum over s and t of bytes(s, t) * d(s, t) / sum over links of price * bandwidth,
/// the dual of the concurrent multicommodity flow.
struct Certificate {
  Collective collective = Collective::AllReduce;
  Rank root{};              ///< of broadcast and reduce; 0 otherwise
  std::uint32_t ranks = 0;  ///< of the network it is for
  /// What the cuts prove, in shard times: the time of 1/ranks of the buffer on the slowest link.
  Exact bound = 0;
  std::vector<WeightedCut> cuts;
  std::vector<SwitchPrice> prices;  ///< ascending by node; absent: 0
  std::vector<LinkPrice> links;     ///< of an AllToAll alone, ascending by link; absent: 0
  /// Of an AllToAll alone: what rank s has for rank t, at s * ranks + t, in any unit. A shard is
  /// the largest sum of a row. Empty: the same for everyone, itself included.
  std::vector<std::uint64_t> demand;
  /// A pair of ranks that are most hops apart, and how many (rank to rank, through switches only).
  std::uint32_t hops = 0;
  std::pair<Rank, Rank> far_apart{};
  bool operator==(const Certificate&) const = default;
};

/// The model that a bound of a network holds in, for whatever prints "optimal".
[[nodiscard]] std::string_view certificate_model(const Topology& topology);

}  // namespace multitree
