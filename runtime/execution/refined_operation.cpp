// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/execution/refined_operation_internal.hpp"

#include <algorithm>
#include <iterator>

namespace multitree::runtime {

void RefinedOperation::begin_next() {
  const auto times = refiner_.to_sum(kind_);
  compares_ = times.has_value();
  began_ = Clock::now();
  if (!compares_) {
    current_ = starts_.call(call_, refiner_.next(kind_));
    return;
  }
  const std::uint64_t mine[] = {times->all, times->usual, times->trial, times->trial_all,
                                times->exchange};
  std::ranges::copy(mine, summands_);
  const Call sum{Collective::AllReduce, summands_, sums_, std::size(summands_), DataType::Uint64};
  current_ = starts_.comparison(sum, refiner_.to_compare());
}

void RefinedOperation::end_current() {
  const Clock::duration time = Clock::now() - began_;
  current_.reset();
  if (!compares_) return refiner_.took(kind_, time);
  refiner_.summed(kind_, {sums_[0], sums_[1], sums_[2], sums_[3], sums_[4]}, time);
  begin_next();
}

}  // namespace multitree::runtime
