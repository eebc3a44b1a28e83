// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gradients that come late, and parameters that are averaged once in several iterations.
#include "tools/train/run/rounds.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "topologies/spec.hpp"

namespace multitree::tools {
namespace {

using runtime::Communicator;
using training::Learner;

/// A vector whose sum over all ranks is made while they go on.
class Sum {
 public:
  explicit Sum(Communicator& communicator) : communicator_(communicator) {}

  [[nodiscard]] bool started() const { return request_.has_value(); }
  /// What is to be summed up, before start().
  std::vector<float>& values() { return values_; }
  void start() {
    request_ = communicator_.start({.collective = Collective::AllReduce,
                                    .send = values_.data(),
                                    .recv = values_.data(),
                                    .count = values_.size(),
                                    .type = runtime::DataType::Float32});
  }
  /// The mean over ranks, after start().
  const std::vector<float>& mean() {
    request_->wait();
    request_.reset();
    const float part = 1 / static_cast<float>(communicator_.size());
    for (float& value : values_) value *= part;
    return values_;
  }

 private:
  Communicator& communicator_;
  std::vector<float> values_;
  std::optional<runtime::Request> request_;
};

void step_all(Learner& learner, const Steps& steps) {
  for (std::size_t l = 0; l < learner.layers(); ++l) {
    learner.step(l, steps.rate, steps.momentum, 1);
  }
}

/// Pipe-SGD: a step takes the gradients of the iteration before.
class Late final : public Rounds {
 public:
  Late(Learner& learner, const Steps& steps, Communicator& communicator)
      : learner_(learner), steps_(steps), sum_(communicator) {}

  [[nodiscard]] std::uint32_t every() const override { return 1; }
  void step() override {
    const std::span<float> gradients = learner_.gradients();
    std::vector<float> own(gradients.begin(), gradients.end());
    finish();
    sum_.values() = std::move(own);
    sum_.start();
  }
  void finish() override {
    if (!sum_.started()) return;
    std::ranges::copy(sum_.mean(), learner_.gradients().begin());
    step_all(learner_, steps_);
  }

 private:
  Learner& learner_;
  Steps steps_;
  Sum sum_;
};

/// Each rank steps for itself. Once in a round all agree: from the parameters that they agreed on
/// the last time they go by the mean of what each has changed since, which is the mean of their
/// parameters, or an outer step with Nesterov's momentum.
class Averaged final : public Rounds {
 public:
  struct Outer {
    float rate = 1, momentum = 0;
  };

  /// \param beside the mean is made while the next round goes on, and what this one changes is kept
  Averaged(Learner& learner, const Steps& steps, Communicator& communicator, std::uint32_t every,
           bool beside, const Outer& outer)
      : learner_(learner),
        steps_(steps),
        every_(every),
        beside_(beside),
        outer_(outer),
        agreed_(learner.parameters().begin(), learner.parameters().end()),
        velocity_(agreed_.size()),
        sum_(communicator) {}

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
    sum_.values().resize(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) sum_.values()[i] = agreed_[i] - now[i];
    sum_.start();
  }

  void take() {
    if (!sum_.started()) return;
    const std::vector<float>& mean = sum_.mean();
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
  Outer outer_;
  std::uint64_t iteration_ = 0;
  std::vector<float> agreed_, velocity_;
  std::vector<float> left_;  ///< parameters of this rank where the round began
  Sum sum_;
};

/// What distinguishes the policies that average.
struct Row {
  std::string_view name;
  std::uint32_t every;
  bool beside;
  Averaged::Outer outer;
};
constexpr std::array kRows{
    Row{"local-sgd", 5, false, {}}, Row{"cocod", 5, true, {}},
    Row{"diloco", 500, false, {0.7F, 0.9F}},  // the rates of its authors
};
constexpr std::string_view kLate = "pipe-sgd";

}  // namespace

bool has_rounds(std::string_view policy) {
  const std::string name = Spec::parse(policy).name();
  return name == kLate || std::ranges::find(kRows, name, &Row::name) != kRows.end();
}

std::unique_ptr<Rounds> make_rounds(std::string_view policy, Learner& learner, const Steps& steps,
                                    Communicator& communicator) {
  const Spec spec = Spec::parse(policy);
  if (spec.name() == kLate) return std::make_unique<Late>(learner, steps, communicator);
  const Row& row = *std::ranges::find(kRows, std::string_view(spec.name()), &Row::name);
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::uint32_t every = spec.get_number("every", row.every, 1, kMost);
  const bool beside = row.beside || spec.get_number("fragments", 1, 1, kMost) > 1;
  return std::make_unique<Averaged>(learner, steps, communicator, every, beside, row.outer);
}

}  // namespace multitree::tools
