// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A call by the schedule that is in use or is tried, with the comparisons that are due before it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "runtime/execution/operation_internal.hpp"
#include "runtime/execution/refiner_internal.hpp"

namespace multitree::runtime {

/// One after the other. Whoever has it starts nothing else before it is complete.
class RefinedOperation final : public Operation {
 public:
  /// Starts a call by a schedule.
  using Start = std::function<std::unique_ptr<Operation>(const Call&, const Programs::Variant&)>;
  /// The same for one that is nobody's collective.
  struct Starts {
    Start call, comparison;
  };

  RefinedOperation(Refiner& refiner, Refiner::Kind& kind, const Call& call, Starts starts)
      : refiner_(refiner), kind_(kind), call_(call), starts_(std::move(starts)) {
    begin_next();
  }

  bool test() override {
    while (current_ != nullptr) {
      if (!current_->test()) return false;
      end_current();
    }
    return true;
  }
  void wait() override {
    while (current_ != nullptr) {
      current_->wait();
      end_current();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void begin_next();
  void end_current();

  Refiner& refiner_;
  Refiner::Kind& kind_;
  Call call_;
  Starts starts_;
  std::uint64_t summands_[5] = {}, sums_[5] = {};
  bool compares_ = false;
  Clock::time_point began_;
  std::unique_ptr<Operation> current_;  ///< null: it is complete
};

}  // namespace multitree::runtime
