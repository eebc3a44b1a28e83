// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How a learner goes by its gradients.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topologies/spec.hpp"

namespace multitree::training {

/// AdamW (Loshchilov, Hutter, ICLR 2019): steps are divided by the root of the mean square of each
/// gradient, and parameters decay apart from them.
struct AdamW {
  float squares = 0.999F;  ///< what is kept of the mean squares at each step
  float decay = 0.01F;     ///< of parameters at each step, times the rate
  float least = 1e-8F;     ///< added to the root

  bool operator==(const AdamW&) const = default;
};

/// Of a learner: stochastic gradient descent with momentum, unless there is more.
struct Steps {
  float rate = 0.05F, momentum = 0.9F;  ///< momentum: for AdamW, what is kept of the mean gradient
  std::optional<AdamW> adamw = {};
};

/// "sgd", or "adamw?squares=0.999&decay=0.01&least=1e-8". \throws Error(InvalidArgument)
std::optional<AdamW> parse_optimizer(std::string_view text);
/// What parse_optimizer() reads.
std::string to_string(const std::optional<AdamW>& optimizer);

/// An option that is a number from 0 on, and below 1 if it is a part of something.
/// \throws Error(InvalidArgument) naming it
float number_option(const Spec& options, std::string_view key, float fallback, bool is_part);

}  // namespace multitree::training
