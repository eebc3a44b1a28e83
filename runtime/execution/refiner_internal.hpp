// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which schedule the next call runs, where the fastest is found out while running.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/tuning/refinement.hpp"
#include "runtime/communicator.hpp"
#include "runtime/execution/programs_internal.hpp"

namespace multitree::runtime {

/// Takes the times of calls, and now and then compares them with those of the other ranks. All of
/// it is collective: every rank makes the same calls.
class Refiner {
 public:
  /// Collective: the sum over all ranks. \throws Error as a collective
  using Sum = std::function<RoundTimes(const RoundTimes&)>;

  Refiner(std::uint32_t ranks, std::shared_ptr<const Refining> refining)
      : ranks_(ranks), refining_(std::move(refining)) {}

  /// Calls of one collective, root and size.
  struct Kind {
    Collective collective{};
    Rank root{};
    std::uint64_t bytes = 0;
    std::uint64_t calls = 0;
    const std::vector<PricedSpec>* rivals = nullptr;
    Refinement refinement;
  };

  /// Null if there is nothing to choose from, or where there are kMostKinds already.
  /// The first time it finds out what `sum` takes.
  Kind* kind_of(const Call& call, Rank root, const Sum& sum);
  /// What the next call runs; compares times first, if a round is over. \throws Error as `sum`
  Programs::Variant next(Kind& kind, const Sum& sum);
  /// What `sum` is to run.
  [[nodiscard]] Programs::Variant to_compare() const;
  void took(Kind& kind, std::chrono::nanoseconds time);
  [[nodiscard]] std::vector<Refined> refined() const;

 private:
  /// Who calls with ever other sizes has too few calls of each to find anything out.
  static constexpr std::size_t kMostKinds = 256;

  void find_exchange(const Sum& sum);
  [[nodiscard]] Programs::Variant variant(const std::string& spec, Collective collective,
                                          Rank root) const;

  std::uint32_t ranks_;
  std::shared_ptr<const Refining> refining_;
  double exchange_ = 0;  ///< seconds that `sum` takes, the same at all ranks; 0: not known yet
  std::deque<Kind> kinds_;
};

}  // namespace multitree::runtime
