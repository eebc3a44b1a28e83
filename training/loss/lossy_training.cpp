// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network that learns from sums of which a part is lost.
#include "training/loss/lossy_training.hpp"

#include <algorithm>

#include "training/learners/learner.hpp"

namespace multitree::training {
namespace {

/// Means of `window` iterations, from the first whole window on.
std::vector<double> means_of(const std::vector<double>& losses, std::size_t window) {
  std::vector<double> means;
  double sum = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    sum += losses[i];
    if (i >= window) sum -= losses[i - window];
    if (i + 1 >= window) means.push_back(sum / static_cast<double>(window));
  }
  return means;
}

}  // namespace

LossyRun train_with_losses(const LossyLesson& lesson, const DataSet& data, const Schedule& schedule,
                           const Losses& losses, Missing missing) {
  const auto learner = make_learner(lesson.learner, data.shape(), lesson.seed);
  std::vector<std::size_t> begins;
  for (std::size_t l = 0; l < learner->layers(); ++l) begins.push_back(learner->begin(l));
  const std::size_t numbers = learner->gradients().size();
  CountedSums sums(schedule, numbers, lesson.packet, begins);
  std::vector<std::vector<float>> own(schedule.ranks, std::vector<float>(numbers));
  LossyRun run;
  run.report.least_count = schedule.ranks;
  for (std::uint32_t i = 0; i < lesson.iterations; ++i) {
    double loss = 0;
    for (std::uint32_t rank = 0; rank < schedule.ranks; ++rank) {
      learner->show(data.batch(i, rank, schedule.ranks, lesson.batch));
      for (std::size_t l = 0; l < learner->layers(); ++l) learner->forward(l);
      for (std::size_t l = learner->layers(); l-- > 0;) learner->backward(l);
      std::ranges::copy(learner->gradients(), own[rank].begin());
      loss += learner->loss() / schedule.ranks;
    }
    run.losses.push_back(loss);
    const LossReport report = sums.sum(own, learner->gradients(), losses, i, missing);
    run.report.messages += report.messages;
    run.report.lost_messages += report.lost_messages;
    run.report.contributions += report.contributions;
    run.report.lost += report.lost;
    run.report.least_count = std::min(run.report.least_count, report.least_count);
    for (std::size_t l = 0; l < learner->layers(); ++l) {
      learner->step(l, {.rate = lesson.rate, .momentum = lesson.momentum},
                    1 / static_cast<float>(schedule.ranks));
    }
  }
  return run;
}

double least_mean(const std::vector<double>& losses, std::size_t window) {
  return std::ranges::min(means_of(losses, std::min(window, losses.size())));
}

double iterations_to(const std::vector<double>& losses, double target, std::size_t window) {
  window = std::min(window, losses.size());
  const std::vector<double> means = means_of(losses, window);
  for (std::size_t i = 0; i < means.size(); ++i) {
    if (means[i] > target) continue;
    const double part = i == 0 ? 0 : (means[i - 1] - target) / (means[i - 1] - means[i]);
    return static_cast<double>(window + i) - (i == 0 ? 0 : 1 - part);
  }
  return static_cast<double>(losses.size());
}

}  // namespace multitree::training
