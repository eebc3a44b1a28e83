// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks that are threads, each with a learner and an end of the sums.
#include "training/convergence/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "topologies/error.hpp"
#include "training/compression/compressor.hpp"
#include "training/compression/in_process.hpp"

namespace multitree::training {
namespace {

/// The samples of the exam, in parts that ranks take turns in: the same ones for all numbers of
/// ranks, and none that a step of training draws.
constexpr std::uint64_t kExamStep = std::uint64_t{1} << 40;
constexpr std::size_t kParts = 16, kPartSamples = 32;

/// Sums as a compressor makes them, layer by layer, when they are started.
class CompressedSums final : public Sums {
 public:
  CompressedSums(const Trial& trial, const Learner& learner, Exchange& exchange)
      : learner_(learner), exchange_(exchange) {
    for (std::size_t l = 0; l < learner.layers(); ++l) {
      compressors_.push_back(make_compressor(trial.compression, trial.seed + l));
    }
  }

  [[nodiscard]] std::uint32_t ranks() const override { return exchange_.ranks(); }
  void start(std::span<float> values) override {
    errors_.resize(values.size());
    const Sent before = exchange_.sent();
    for (std::size_t l = 0; l < compressors_.size(); ++l) {
      const std::size_t begin = learner_.begin(l), size = learner_.layer(l).parameters();
      if (size == 0) continue;
      compressors_[l]->sum(values.subspan(begin, size), std::span(errors_).subspan(begin, size),
                           exchange_);
    }
    sent_.reduced += exchange_.sent().reduced - before.reduced;
    sent_.gathered += exchange_.sent().gathered - before.gathered;
  }
  void wait() override {}
  [[nodiscard]] const Sent& sent() const { return sent_; }

 private:
  const Learner& learner_;
  Exchange& exchange_;
  std::vector<std::unique_ptr<Compressor>> compressors_;
  std::vector<float> errors_;
  Sent sent_;
};

/// One rank's part.
class Student {
 public:
  Student(const Trial& trial, const DataSet& lessons, const DataSet& exam, Exchange& exchange)
      : trial_(trial),
        lessons_(lessons),
        exam_(exam),
        exchange_(exchange),
        learner_(make_learner(trial.learner, lessons.shape(), trial.seed)),
        judged_(make_learner(trial.learner, lessons.shape(), trial.seed)),
        sums_(trial, *learner_, exchange),
        rounds_(make_rounds(trial.policy, *learner_, trial.steps, sums_)) {}

  Curve run() {
    Curve curve;
    curve.losses.push_back(loss());
    const std::uint32_t step = trial_.iterations / trial_.points;
    for (std::uint32_t i = 0; i < trial_.iterations; ++i) {
      learner_->show(lessons_.batch(i, exchange_.rank(), exchange_.ranks(), trial_.batch));
      for (std::size_t l = 0; l < learner_->layers(); ++l) learner_->forward(l);
      for (std::size_t l = learner_->layers(); l-- > 0;) learner_->backward(l);
      rounds_->step();
      if ((i + 1) % step == 0) curve.losses.push_back(loss());
    }
    curve.sent = sums_.sent();
    rounds_->finish();
    return curve;
  }

 private:
  /// Of the mean of all parameters as they are.
  double loss() {
    const std::span<float> mean = judged_->parameters();
    std::ranges::copy(learner_->parameters(), mean.begin());
    exchange_.sum(mean);
    for (float& one : mean) one /= static_cast<float>(exchange_.ranks());
    std::vector<float> losses(kParts, 0.0F);  // of other ranks 0: their sum is exact
    for (std::size_t part = exchange_.rank(); part < kParts; part += exchange_.ranks()) {
      judged_->show(exam_.batch(kExamStep + part, 0, 1, kPartSamples));
      for (std::size_t l = 0; l < judged_->layers(); ++l) judged_->forward(l);
      losses[part] = static_cast<float>(judged_->loss());
    }
    exchange_.sum(losses);
    double sum = 0;
    for (const float one : losses) sum += one;
    return sum / kParts;
  }

  const Trial& trial_;
  const DataSet& lessons_;
  const DataSet& exam_;
  Exchange& exchange_;
  std::unique_ptr<Learner> learner_, judged_;
  CompressedSums sums_;
  std::unique_ptr<Rounds> rounds_;
};

}  // namespace

Curve run_trial(const Trial& trial, const DataSet& lessons, const DataSet& exam) {
  if (trial.points == 0 || trial.iterations % trial.points != 0 || trial.ranks == 0) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("trial: expected ranks, and points that divide the {} iterations, got "
                            "{} ranks and {} points",
                            trial.iterations, trial.ranks, trial.points));
  }
  Curve curve;
  run_together(trial.ranks, [&](Exchange& exchange) {
    Student student(trial, lessons, exam, exchange);
    Curve own = student.run();
    if (exchange.rank() == 0) curve = std::move(own);
  });
  return curve;
}

double iterations_to(const Curve& curve, double loss, double step) {
  for (std::size_t p = 0; p < curve.losses.size(); ++p) {
    if (!(curve.losses[p] <= loss)) continue;
    if (p == 0) return 0;
    const double before = curve.losses[p - 1];
    return step * (static_cast<double>(p) - (loss - curve.losses[p]) / (before - curve.losses[p]));
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace multitree::training
