// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which schedule the next call runs, where the fastest is found out while running.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/tuning/refinement.hpp"
#include "runtime/communicator.hpp"
#include "runtime/execution/programs_internal.hpp"

namespace multitree::runtime {

/// Takes the times of calls, and now and then has them compared with those of the other ranks. All
/// of it is collective: every rank makes the same calls.
class Refiner {
 public:
  Refiner(std::uint32_t ranks, std::shared_ptr<const Refining> refining)
      : ranks_(ranks), refining_(std::move(refining)) {}

  /// Calls of one collective, root and size.
  struct Kind {
    Collective collective{};
    Rank root{};
    std::uint64_t bytes = 0;
    std::uint64_t calls = 0;
    const std::vector<PricedSpec>* rivals = nullptr;
    std::optional<Refinement> refinement;  ///< none before it is known what comparing takes
  };

  /// Null if there is nothing to choose from, or where there are kMostKinds already.
  Kind* kind_of(const Call& call, Rank root);
  /// What has to be summed over all ranks before the next call; none: that can be made.
  [[nodiscard]] std::optional<RoundTimes> to_sum(Kind& kind) const;
  /// The sum, and how long it took here.
  void summed(Kind& kind, const RoundTimes& sum, std::chrono::nanoseconds time);
  /// What the next call runs. \pre nothing is to be summed
  Programs::Variant next(Kind& kind) const;
  /// What sums are to run.
  [[nodiscard]] Programs::Variant to_compare() const;
  void took(Kind& kind, std::chrono::nanoseconds time);
  [[nodiscard]] std::vector<Refined> refined() const;

 private:
  /// Who calls with ever other sizes has too few calls of each to find anything out.
  static constexpr std::size_t kMostKinds = 256;
  /// Sums until it is known what one takes: the first brings all to the same moment and has things
  /// made ready, the second is timed, the third tells of its time.
  static constexpr int kFirstSums = 3;

  [[nodiscard]] Programs::Variant variant(const std::string& spec, Collective collective,
                                          Rank root) const;

  std::uint32_t ranks_;
  std::shared_ptr<const Refining> refining_;
  int first_sums_ = 0;      ///< so many of them are done
  RoundTimes first_times_;  ///< what the second of them took
  double exchange_ = 0;     ///< seconds that a sum takes, the same at all ranks
  std::deque<Kind> kinds_;
};

}  // namespace multitree::runtime
