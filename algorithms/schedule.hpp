// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who sends what when: the one value that is verified, priced, drawn, compiled to NIC tables and
/// run.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// What the receiver does with the data: accumulate into its own, or overwrite.
enum class Op : std::uint8_t { Reduce, Copy };

/// Reduce transfers make up the reduce-scatter phase, Copy transfers the all-gather phase; packings
/// that reduce and broadcast at the same time have both in one step.
enum class Phase : std::uint8_t { ReduceScatter, AllGather };
[[nodiscard]] constexpr Phase phase(Op op) {
  return op == Op::Reduce ? Phase::ReduceScatter : Phase::AllGather;
}

/// The most that the weights of a schedule's chunks may add up to.
inline constexpr std::uint64_t kMaxWeights = std::uint64_t{1} << 62;

/// A piece of the buffer. The buffer is divided among the chunks, in index order, in proportion to
/// their weights (chunk_ranges()).
struct Chunk {
  /// The rank that it comes from, and the rank that it is for. Where every rank has an input of it,
  /// or every rank wants it, there is only one of the two, and both are the root of its tree:
  /// where the contributions meet and from where the result is copied.
  Rank source{}, target{};
  /// Chunks of one tree travel the same way, one after the other (pipelining). Flow of the NIC.
  std::uint32_t tree = 0;
  /// > 0; a chunk holds weight / (sum of weights) of the buffer. All weights add up to at most
  /// kMaxWeights.
  std::uint64_t weight = 1;
  auto operator<=>(const Chunk&) const = default;

  /// Where its tree is rooted: where its copies start, or if it is only reduced, where that ends.
  [[nodiscard]] Rank root() const { return source; }
  /// A chunk whose source and target are one rank.
  [[nodiscard]] static Chunk rooted(Rank root, std::uint32_t tree, std::uint64_t weight) {
    return {root, root, tree, weight};
  }
  void set_root(Rank root) { source = target = root; }
};

/// One message of one step: `src` sends its current value of `chunk` to `dst` along a route.
struct Transfer {
  std::uint32_t step = 0;
  Op op = Op::Copy;
  std::uint32_t chunk = 0;
  Rank src{};
  Rank dst{};
  /// The links passed, in order: Schedule::routes[route_begin .. route_begin+route_size).
  std::uint32_t route_begin = 0;
  std::uint32_t route_size = 0;
};

/// A collective as transfers in logical steps, independent of the message size.
///
/// Meaning of a step: every transfer of step t reads its source's value as it was before step t and
/// takes effect after it; the links of a step's routes carry at most slots(link) transfers.
/// Executors need no barrier between steps: they keep, per rank and chunk, the order of the
/// operations. Several Reduce transfers into one (rank, chunk) at one step are accumulated in list
/// order, so the floating-point result of a schedule is one and the same for every executor.
///
/// Where `in_network` is set, switches add and copy. Copies of one step, chunk and sender are one
/// message as far as their routes from the sender run together, and the switch where they part
/// copies it; reductions of one step, chunk and receiver are one message from where their routes
/// run together to the receiver, and the switch where they meet adds them. A link carries one
/// transfer for each such message (combined_routes.hpp).
struct Schedule {
  Collective collective = Collective::AllReduce;
  std::string algorithm;  ///< the generator's spec, for reports
  Rank root{};            ///< of broadcast and reduce; 0 otherwise
  std::uint32_t ranks = 0;
  bool in_network = false;  ///< switches add and copy
  /// What a rank sends to another in one round (coalesced.hpp) can be one message of up to so many
  /// bytes; 0: each transfer is one by itself. For algorithms in rounds, in which a rank needs all
  /// that comes in a round before it goes on. Who sends each transfer by itself gets the same
  /// result.
  std::uint64_t coalesces = 0;
  /// The last so many ranks only help: they start with nothing and need not end with anything, as
  /// switches with interfaces of their own (nic/program/switches.hpp).
  std::uint32_t helpers = 0;
  std::vector<Chunk> chunks;
  std::vector<Transfer> transfers;  ///< sorted by (step, op, chunk, dst, src), see canonicalize()
  std::vector<LinkId> routes;       ///< pool of all routes

  [[nodiscard]] bool is_helper(Rank rank) const { return index(rank) >= ranks - helpers; }
  [[nodiscard]] std::span<const LinkId> route(const Transfer& transfer) const {
    return std::span(routes).subspan(transfer.route_begin, transfer.route_size);
  }
  /// One past the last step; 0 without transfers.
  [[nodiscard]] std::uint32_t num_steps() const;
  /// Appends a transfer and its route.
  void add(std::uint32_t step, Op op, std::uint32_t chunk, Rank src, Rank dst,
           std::span<const LinkId> route);
  /// Sorts the transfers into the canonical order and lays the route pool out in that order, so
  /// that equal schedules are equal values and equal bytes. O(T log T); O(T) if they are sorted.
  void canonicalize();

  /// Compares meaning: header, chunks, transfers with their routes (canonical order assumed).
  bool operator==(const Schedule& other) const;
};

/// Whether `rank` starts, must end, with a chunk of a schedule.
[[nodiscard]] inline bool starts_with(const Schedule& schedule, Rank rank, std::uint32_t chunk) {
  return !schedule.is_helper(rank) &&
         starts_with(schedule.collective, rank, schedule.chunks[chunk].source);
}
[[nodiscard]] inline bool ends_with(const Schedule& schedule, Rank rank, std::uint32_t chunk) {
  return !schedule.is_helper(rank) &&
         ends_with(schedule.collective, rank, schedule.chunks[chunk].target);
}

/// The rank whose shard a chunk of a sharded collective is part of.
[[nodiscard]] Rank shard_of(Collective collective, const Chunk& chunk);

/// A run of elements.
struct ElementRange {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  bool operator==(const ElementRange&) const = default;
};

/// Where each chunk lies in a buffer of `count` elements.
///
/// Without shards (is_sharded()) chunk c covers floor(count*W(c)/W) .. floor(count*W(c+1)/W), W(c)
/// the weights before c. With shards `count` is a multiple of the ranks that are no helpers; rank
/// r's shard is elements r*count/N .. (r+1)*count/N, divided in the same way among the chunks of r
/// (shard_of()). \throws Error(InvalidArgument) if count is not such a multiple.
std::vector<ElementRange> chunk_ranges(const Schedule& schedule, std::uint64_t count);

/// For what sends each transfer as a message of its own. `who`: "the runtime".
/// \throws Error(Unsupported) if switches add and copy in the schedule.
void expect_no_switches_at_work(const Schedule& schedule, std::string_view who);

/// Chunks 0..n-1 of weight 1, chunk c rooted at rank c with tree c: the usual layout.
std::vector<Chunk> one_chunk_per_rank(std::uint32_t ranks);

}  // namespace multitree
