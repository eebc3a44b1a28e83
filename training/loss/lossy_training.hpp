// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network that learns from sums of which a part is lost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "training/learners/data.hpp"
#include "training/loss/counted_sums.hpp"

namespace multitree::training {

struct LossyLesson {
  std::string learner = "mlp?hidden=64&depth=2";
  std::uint32_t iterations = 200;
  std::size_t batch = 8;     ///< samples of a rank
  std::size_t packet = 256;  ///< numbers in a message
  float rate = 0.05F, momentum = 0.0F;
  std::uint64_t seed = 1;  ///< of parameters
};

struct LossyRun {
  std::vector<double> losses;  ///< by iteration: mean over ranks of the loss of their samples
  LossReport report;           ///< of all iterations
};

/// All ranks of the schedule in one process, which have the same parameters. \throws as
/// make_learner() and CountedSums.
LossyRun train_with_losses(const LossyLesson& lesson, const DataSet& data, const Schedule& schedule,
                           const Losses& losses, Missing missing);

/// How many iterations until the loss, as the mean of `window` iterations, is at most `target`,
/// between two of them linearly; as many as there were if never.
double iterations_to(const std::vector<double>& losses, double target, std::size_t window);

/// The least mean of `window` iterations up to the last.
double least_mean(const std::vector<double>& losses, std::size_t window);

}  // namespace multitree::training
