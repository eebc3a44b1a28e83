// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gradients that come in time or late, and parameters that are averaged once in several
/// iterations.
#include "training/learners/rounds.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "topologies/spec.hpp"

namespace multitree::training {
namespace {

/// A vector whose mean over all ranks is made while they go on.
class Mean {
 public:
  explicit Mean(Sums& sums) : sums_(sums) {}

  [[nodiscard]] bool started() const { return started_; }
  /// What it is to be the mean of, before start().
  std::vector<float>& values() { return values_; }
  void start() {
    sums_.start(values_);
    started_ = true;
  }
  /// After start().
  const std::vector<float>& take() {
    sums_.wait();
    started_ = false;
    const float part = 1 / static_cast<float>(sums_.ranks());
    for (float& value : values_) value *= part;
    return values_;
  }

 private:
  Sums& sums_;
  std::vector<float> values_;
  bool started_ = false;
};

void step_all(Learner& learner, const Steps& steps) {
  for (std::size_t l = 0; l < learner.layers(); ++l) {
    learner.step(l, steps, 1);
  }
}

/// Synchronous SGD.
class InTime final : public Rounds {
 public:
  InTime(Learner& learner, const Steps& steps, Sums& sums)
      : learner_(learner), steps_(steps), sums_(sums) {}

  [[nodiscard]] std::uint32_t every() const override { return 1; }
  void step() override {
    sums_.start(learner_.gradients());
    sums_.wait();
    for (std::size_t l = 0; l < learner_.layers(); ++l) {
      step_with_sums(learner_, l, steps_, sums_.ranks());
    }
  }
  void finish() override {}

 private:
  Learner& learner_;
  Steps steps_;
  Sums& sums_;
};

/// Pipe-SGD: a step takes the gradients of the iteration before.
class Late final : public Rounds {
 public:
  Late(Learner& learner, const Steps& steps, Sums& sums)
      : learner_(learner), steps_(steps), mean_(sums) {}

  [[nodiscard]] std::uint32_t every() const override { return 1; }
  void step() override {
    const std::span<float> gradients = learner_.gradients();
    std::vector<float> own(gradients.begin(), gradients.end());
    finish();
    mean_.values() = std::move(own);
    mean_.start();
  }
  void finish() override {
    if (!mean_.started()) return;
    std::ranges::copy(mean_.take(), learner_.gradients().begin());
    step_all(learner_, steps_);
  }

 private:
  Learner& learner_;
  Steps steps_;
  Mean mean_;
};

/// Each rank steps for itself. Once in a round all agree: from the parameters that they agreed on
/// the last time they go by the mean of what each has changed since, which is the mean of their
/// parameters, or an outer step with Nesterov's momentum.
class Averaged final : public Rounds {
 public:
  /// \param beside the mean is made while the next round goes on, and what this one changes is kept
  Averaged(Learner& learner, const Steps& steps, Sums& sums, std::uint32_t every, bool beside,
           const OuterStep& outer)
      : learner_(learner),
        steps_(steps),
        every_(every),
        beside_(beside),
        outer_(outer),
        agreed_(learner.parameters().begin(), learner.parameters().end()),
        velocity_(agreed_.size()),
        mean_(sums) {}

  [[nodiscard]] std::uint32_t every() const override { return every_; }

  void step() override {
    step_all(learner_, steps_);
    if (++iteration_ % every_ != 0) return;
    take();
    offer();
    if (!beside_) take();
  }

  void finish() override {
    take();
    offer();
    take();
  }

 private:
  void offer() {
    const std::span<float> now = learner_.parameters();
    left_.assign(now.begin(), now.end());
    mean_.values().resize(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) mean_.values()[i] = agreed_[i] - now[i];
    mean_.start();
  }

  void take() {
    if (!mean_.started()) return;
    const std::vector<float>& mean = mean_.take();
    const std::span<float> now = learner_.parameters();
    for (std::size_t i = 0; i < now.size(); ++i) {
      velocity_[i] = outer_.momentum * velocity_[i] + mean[i];
      agreed_[i] -= outer_.rate * (mean[i] + outer_.momentum * velocity_[i]);
      now[i] = beside_ ? agreed_[i] + (now[i] - left_[i]) : agreed_[i];
    }
  }

  Learner& learner_;
  Steps steps_;
  std::uint32_t every_;
  bool beside_;
  OuterStep outer_;
  std::uint64_t iteration_ = 0;
  std::vector<float> agreed_, velocity_;
  std::vector<float> left_;  ///< parameters of this rank where the round began
  Mean mean_;
};

/// What distinguishes the policies that average.
struct RoundsRow {
  std::string_view name;
  std::uint32_t every;
  bool beside;
  OuterStep (*outer)(const Spec& options);
};
OuterStep plain_mean(const Spec& /*options*/) { return {}; }
constexpr std::array kRoundsRows{RoundsRow{"local-sgd", 5, false, plain_mean},
                                 RoundsRow{"cocod", 5, true, plain_mean},
                                 RoundsRow{"diloco", 500, false, outer_step_of}};
constexpr std::string_view kLate = "pipe-sgd";

}  // namespace

void step_with_sums(Learner& learner, std::size_t layer, const Steps& steps, std::uint32_t ranks) {
  learner.step(layer, steps, 1 / static_cast<float>(ranks));
}

OuterStep outer_step_of(const Spec& diloco) {
  return {number_option(diloco, "rate", 0.7F, false),
          number_option(diloco, "momentum", 0.9F, true)};
}

bool has_rounds(std::string_view policy) {
  const std::string name = Spec::parse(policy).name();
  return name == kLate ||
         std::ranges::find(kRoundsRows, name, &RoundsRow::name) != kRoundsRows.end();
}

std::unique_ptr<Rounds> make_rounds(std::string_view policy, Learner& learner, const Steps& steps,
                                    Sums& sums) {
  if (!has_rounds(policy)) return std::make_unique<InTime>(learner, steps, sums);
  const Spec spec = Spec::parse(policy);
  if (spec.name() == kLate) return std::make_unique<Late>(learner, steps, sums);
  const RoundsRow& row =
      *std::ranges::find(kRoundsRows, std::string_view(spec.name()), &RoundsRow::name);
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::uint32_t every = spec.get_number("every", row.every, 1, kMost);
  const bool beside = row.beside || spec.get_number("fragments", 1, 1, kMost) > 1;
  return std::make_unique<Averaged>(learner, steps, sums, every, beside, row.outer(spec));
}

}  // namespace multitree::training
