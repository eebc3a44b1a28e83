// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What policies do to parameters: where sums over ranks go, and when.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "training/learners/learner.hpp"

namespace multitree::training {

/// One rank's end of sums over all ranks, which may be made while they go on.
class Sums {
 public:
  Sums() = default;
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;
  virtual ~Sums() = default;

  [[nodiscard]] virtual std::uint32_t ranks() const = 0;
  /// Collective, in place: `values` stay where they are, and as they are, until wait(). One at a
  /// time. \throws if the ranks cannot
  virtual void start(std::span<float> values) = 0;
  /// Until the sums are there. \pre start()
  virtual void wait() = 0;
};

/// A layer's step with gradients that are sums over so many ranks: what all synchronous policies
/// do, whenever the sums come.
void step_with_sums(Learner& learner, std::size_t layer, const Steps& steps, std::uint32_t ranks);

/// What happens between a rank's backward pass and its next forward pass.
class Rounds {
 public:
  Rounds() = default;
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;
  virtual ~Rounds() = default;

  /// Iterations of a round.
  [[nodiscard]] virtual std::uint32_t every() const = 0;
  /// Behind every backward pass: the learner's step, and what travels. \throws as Sums
  virtual void step() = 0;
  /// Collective: all ranks have the same parameters.
  virtual void finish() = 0;
};

/// What averaging policies do with the mean of what ranks have changed: a step with Nesterov's
/// momentum. The defaults go by the mean itself.
struct OuterStep {
  float rate = 1, momentum = 0;
};
/// Options rate and momentum of diloco; by default those of its authors, 0.7 and 0.9.
/// \throws Error(InvalidArgument)
OuterStep outer_step_of(const Spec& diloco);

/// Whether a policy, "cocod?every=5", does not wait for each iteration's sums.
bool has_rounds(std::string_view policy);

/// pipe-sgd, local-sgd, cocod or diloco with its options; of any other policy what all synchronous
/// ones do: the sums of all gradients, then a step. Both references outlive it.
/// \pre a policy with options that planning has found good
std::unique_ptr<Rounds> make_rounds(std::string_view policy, Learner& learner, const Steps& steps,
                                    Sums& sums);

}  // namespace multitree::training
