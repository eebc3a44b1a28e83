// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduce by boxes of ranks that are all alike: few messages where there are many ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/symmetric/boxes.hpp"
#include "algorithms/symmetric/symmetric_schedule.hpp"

namespace multitree {

/// The data is in as many chunks as a box has ranks. First each rank gets the sum of one of them
/// over as many ranks as a box has, along the tree that SymmetricSchedule has for a box alone; over
/// links the tree leads on into the boxes beside, where that one's is closed to a ring. Then ranks
/// in the same place of all boxes exchange these sums whole, dimension by dimension, in rounds
/// each of which doubles what is in a sum:
///
/// along a line every rank sends to the one d boxes on, d = 1, 2, 4, ...; the messages of a round
/// share links, so those of ranks whose coordinates are equal modulo the distance have a step of
/// their own; where all reach all, pairs exchange (recursive doubling), ranks beyond a power of two
/// being folded. Last, the trees tell all chunks to all.
///
/// With boxes of the whole network it is SymmetricSchedule's all-reduce of one chunk a rank, with
/// boxes of one rank an exchange of whole vectors. O(ranks of a box) memory.
class BoxedSchedule {
 public:
  /// \pre boxes are of box_ladder(ranks). \throws as SymmetricSchedule.
  BoxedSchedule(AlikeRanks ranks, Boxes boxes);

  /// A round of the exchange, or a part of it, that takes one step or, along a line, `steps`.
  struct Round {
    std::uint32_t dimension = 0;
    Op op = Op::Reduce;
    std::uint32_t first_step = 0, steps = 1;
    /// Line: how much further the receivers are. All: the bit in which the numbers of boxes differ,
    /// or for folding the power of two that those beyond are ahead.
    std::uint32_t distance = 1;
    bool folding = false;
  };
  /// A message; its route is `hops` arcs of `generator` from src on.
  struct Message {
    std::uint32_t step = 0;
    Op op = Op::Copy;
    std::uint32_t chunk = 0;
    Rank src{}, dst{};
    std::uint32_t generator = 0, hops = 1;
  };

  [[nodiscard]] const AlikeRanks& ranks() const { return ranks_; }
  [[nodiscard]] const Boxes& boxes() const { return boxes_; }
  [[nodiscard]] std::uint32_t chunks() const { return box_.ranks.graph.size(); }
  /// The trees of a box alone; none if boxes are single ranks.
  [[nodiscard]] const std::optional<SymmetricSchedule>& trees() const { return trees_; }
  [[nodiscard]] const std::vector<Round>& rounds() const { return rounds_; }
  [[nodiscard]] std::uint32_t num_steps() const;
  [[nodiscard]] std::uint64_t num_messages() const;
  /// Messages one after the other at most from a rank to another.
  [[nodiscard]] std::uint32_t depth() const;
  /// Of the busiest link, in shards of the whole network over the slowest link.
  [[nodiscard]] Rational load() const;

  /// What a rank sends in a step. O(degree).
  [[nodiscard]] std::vector<Message> sends_of_rank(std::uint32_t rank, std::uint32_t step) const;
  /// What a rank sends and receives in a step, in canonical order. O(degree).
  [[nodiscard]] std::vector<Message> messages_of_rank(std::uint32_t rank, std::uint32_t step) const;

 private:
  void add_rounds();
  /// How often the rounds of a dimension use each orbit of links at most.
  void add_load(const BoxDimension& d, std::vector<std::int64_t>& uses) const;
  [[nodiscard]] std::uint32_t tree_steps() const { return trees_ ? trees_->tree().steps : 0; }
  /// The chunk that a rank sums up and tells: its place in a box.
  [[nodiscard]] std::uint32_t chunk_of(std::uint32_t rank) const;
  [[nodiscard]] std::uint32_t moved(std::uint32_t rank, const BoxDimension& d,
                                    std::uint32_t by) const;
  /// The message that a rank sends (or receives) in a round of the exchange.
  [[nodiscard]] std::optional<Message> of_round(const Round& round, std::uint32_t rank,
                                                std::uint32_t step, bool sent) const;
  void add_tree_messages(std::uint32_t rank, std::uint32_t step, bool sent,
                         std::vector<Message>& messages) const;
  [[nodiscard]] std::vector<Message> of_rank(std::uint32_t rank, std::uint32_t step,
                                             bool sent) const;

  AlikeRanks ranks_;
  Boxes boxes_;
  BoxRanks box_;
  std::optional<SymmetricSchedule> trees_;
  std::vector<std::uint32_t> place_;  // of each element of a box: where it is from its tree's root
  std::vector<Round> rounds_;
  std::uint32_t exchange_steps_ = 0;
};

/// predict_time() of the schedule written out: the trees of a box as predict_time() has them, then
/// the rounds. It takes all ranks to begin the last phase when the last one does; along lines some
/// are earlier, by what the messages of a round take that share a link, so that it may end up to
/// that much sooner.
Time predict_time(const BoxedSchedule& schedule, std::uint64_t bytes, Time message_overhead);

}  // namespace multitree
