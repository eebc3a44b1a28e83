// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An algorithm on ranks that are all alike, priced by what one of them does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "algorithms/symmetric/boxed_schedule.hpp"
#include "algorithms/symmetric/symmetric_schedule.hpp"

namespace multitree {

/// Whether a spec names an algorithm of which one rank can stand for all: `symmetric` or `ring`.
bool is_of_one_rank(std::string_view spec);

/// One of: the trees of `symmetric`, with chunks= or, of an all-reduce, within=; `ring` where each
/// rank is linked to the next, equally. Made when it is asked for more than floor().
class AlikeCandidate {
 public:
  /// \throws Error(InvalidArgument) for its options; Error(Unsupported) for others, for networks
  /// that have no such ring or boxes, and for collectives with a root.
  AlikeCandidate(const AlikeRanks& ranks, Collective collective, std::string spec,
                 Time message_overhead);

  [[nodiscard]] const std::string& spec() const { return spec_; }
  /// No prediction is below: what messages take of their sender, one after the other.
  [[nodiscard]] Time floor() const { return {messages_ * overhead_.picoseconds}; }
  /// Predicted, with the overhead of messages or without; kept. \throws as predict_time().
  Time time(std::uint64_t bytes);
  Time time_of_links(std::uint64_t bytes);
  std::uint64_t steps();
  [[nodiscard]] std::uint64_t transfers() const { return transfers_; }
  /// Of the busiest link, in shard times.
  Rational load();
  /// What it stands for, if it is that.
  const SymmetricSchedule* trees();
  const BoxedSchedule* boxed();

 private:
  enum class Kind : std::uint8_t { OfTrees, OfBoxes, OfRing };
  void check_ring() const;
  void make();
  Time predict(std::uint64_t bytes, Time overhead);

  const AlikeRanks& ranks_;
  Collective collective_;
  std::string spec_;
  Time overhead_;
  Kind kind_ = Kind::OfTrees;
  std::uint32_t chunks_ = 1;
  Boxes boxes_;
  std::int64_t messages_ = 0;  // of a rank
  std::uint64_t transfers_ = 0;
  std::optional<SymmetricSchedule> trees_;
  std::optional<BoxedSchedule> boxed_;
  std::map<std::uint64_t, Time> known_;
};

}  // namespace multitree
