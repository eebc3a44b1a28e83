// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Policies that do not wait for each iteration's sums, on real ranks.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/communicator.hpp"
#include "tools/train/run/worker.hpp"
#include "training/learners/learner.hpp"

namespace multitree::tools {

/// What happens between a rank's backward pass and its next forward pass.
class Rounds {
 public:
  Rounds() = default;
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;
  virtual ~Rounds() = default;

  /// Iterations of a round.
  [[nodiscard]] virtual std::uint32_t every() const = 0;
  /// Behind every backward pass: the learner's step, and what travels. \throws as Communicator
  virtual void step() = 0;
  /// Collective: all ranks have the same parameters.
  virtual void finish() = 0;
};

/// Whether a policy, "cocod?every=5", is one of them.
bool has_rounds(std::string_view policy);

/// pipe-sgd, local-sgd, cocod or diloco with its options; both references outlive it.
/// \pre has_rounds(policy), which planning has found good
std::unique_ptr<Rounds> make_rounds(std::string_view policy, training::Learner& learner,
                                    const Steps& steps, runtime::Communicator& communicator);

}  // namespace multitree::tools
