// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How far a rank has come with a plan, and what those who are left after a loss go on from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "tools/train/run/worker.hpp"
#include "training/learners/learner.hpp"

namespace multitree::tools {

/// Kept between iterations, where all ranks are equal: under a plan a rank that has begun an
/// iteration has had the gradients of all others in the one before, so two that are left are one
/// apart at most, and what the farther one has is what the other would have come to.
struct Course {
  std::uint32_t plan = 0;            ///< number of the plan
  std::uint32_t done = 0;            ///< iterations, or rounds; those of warming up included
  std::uint32_t untimed = 0;         ///< of them
  std::uint32_t passes = 1;          ///< forward passes of each
  std::vector<float> state;          ///< of the learner, behind them
  std::vector<double> seconds;       ///< of iterations that are timed
  std::vector<Pupil::Grade> grades;  ///< of forward passes

  /// So many are done. \param learner null: there is nothing to keep
  void keep(std::uint32_t number, const training::Learner* learner);
  /// Collective: goes on where the first rank of those that have come farthest does, with its
  /// state. \returns whether that is this plan; if not, the others have ended it. \throws
  /// Error(Transport) if a rank is lost meanwhile
  bool agree(runtime::Bootstrap& job, runtime::Deadline deadline);
};

}  // namespace multitree::tools
