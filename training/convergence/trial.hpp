// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the loss falls under a policy and a way of compressing: all ranks in one process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/compression/exchange.hpp"
#include "training/learners/data.hpp"
#include "training/learners/rounds.hpp"

namespace multitree::training {

/// A training of one learner from its seed. The same trial gives the same bits on every run.
struct Trial {
  std::string learner;               ///< as make_learner() has it
  std::string policy = "bsp";        ///< all synchronous ones do the same
  std::string compression = "none";  ///< of what ranks sum up, layer by layer, with error feedback
  std::uint32_t ranks = 1;
  std::uint64_t seed = 1;
  std::uint32_t iterations = 400, points = 20;  ///< points divide iterations
  std::size_t batch = 8;                        ///< samples a rank and iteration
  Steps steps{.rate = 0.05F, .momentum = 0};
};

struct Curve {
  /// Mean cross entropy of the exam, in nats, of the mean of all ranks' parameters: at the
  /// beginning, and at each point.
  std::vector<double> losses;
  Sent sent;  ///< by a rank, in all iterations
};

/// \param lessons what ranks draw from; \param exam the samples on which all are judged
/// \throws Error as make_learner(), make_rounds(), make_compressor(); Error(InvalidArgument) if the
/// points do not divide the iterations
Curve run_trial(const Trial& trial, const DataSet& lessons, const DataSet& exam);

/// The iterations that a curve takes to a loss, between points in a straight line; infinite if it
/// does not come there. \param step iterations from point to point
double iterations_to(const Curve& curve, double loss, double step);

}  // namespace multitree::training
