// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The network as policies use it: one transfer after the other.
#pragma once

#include <cstddef>
#include <vector>

#include "training/iteration.hpp"

namespace multitree::training {

/// Takes transfers one after the other, each when it is ready and the one before has ended, or, if
/// transfers overlap, when the one before has sent its bytes: what it takes to start is hidden by
/// the next.
class Channel {
 public:
  explicit Channel(const Costs& costs, bool overlaps = false)
      : costs_(costs), overlaps_(overlaps) {}

  /// For so many transfers.
  void reserve(std::size_t transfers) { transfers_.reserve(transfers); }
  /// The time from which the channel is free.
  [[nodiscard]] double free_at() const { return free_at_; }
  /// How long a transfer takes.
  [[nodiscard]] double duration(Collective collective, std::uint64_t bytes) const;
  /// Runs one; returns from when on the next can begin.
  double run(Transfer transfer);
  [[nodiscard]] const std::vector<Transfer>& transfers() const { return transfers_; }

 private:
  const Costs& costs_;
  bool overlaps_;
  double free_at_ = 0;
  std::vector<Transfer> transfers_;
};

/// All wait for the last transfer (one optimizer step for all layers).
Iteration finish_together(const Model& model, const Channel& channel);

/// Each layer waits for the transfers that carry it.
Iteration finish_apart(const Model& model, const Channel& channel);

}  // namespace multitree::training
