// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Workers that sleep, and workers that learn.
#include "tools/train/run/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Gradients repeat after so many numbers, and are below as much: sums are exact.
constexpr std::size_t kPeriod = 8;

class Emulated final : public Worker {
 public:
  Emulated(const training::Model& model, std::uint32_t rank, std::uint32_t ranks)
      : model_(model), rank_(rank), ranks_(ranks), begins_(1, 0) {
    for (const training::Layer& layer : model.layers) {
      begins_.push_back(begins_.back() + layer.bytes() / sizeof(float));
    }
    gradients_.resize(begins_.back());
  }

  std::span<float> gradients() override { return gradients_; }

  void backward(std::size_t layer) override {
    if (layer + 1 == model_.layers.size()) ++iteration_;
    std::array<float, kPeriod> values{};
    for (std::size_t i = 0; i < kPeriod; ++i) values[i] = value(i, rank_);
    for (std::size_t i = begins_[layer]; i < begins_[layer + 1]; ++i) {
      gradients_[i] = values[i % kPeriod];
    }
    pace_.sleep(model_.layers[layer].backward);
  }

  void forward(std::size_t layer, bool sums) override {
    if (sums) check(layer);
    pace_.sleep(model_.layers[layer].forward);
  }

  void waited() override { pace_.restart(); }

 private:
  [[nodiscard]] float value(std::size_t i, std::uint32_t rank) const {
    return static_cast<float>((7 * i + 13 * std::size_t{rank} + 3 * iteration_) % kPeriod);
  }

  void check(std::size_t layer) const {
    std::array<float, kPeriod> sums{};
    for (std::size_t i = 0; i < kPeriod; ++i) {
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) sums[i] += value(i, rank);
    }
    for (std::size_t i = begins_[layer]; i < begins_[layer + 1]; ++i) {
      if (gradients_[i] == sums[i % kPeriod]) continue;
      throw Error(
          ErrorCode::Transport,
          fmt::format("rank {}: iteration {}, layer '{}', gradient {}: expected the sum {}, "
                      "found {}",
                      rank_, iteration_, model_.layers[layer].name, i - begins_[layer],
                      sums[i % kPeriod], gradients_[i]));
    }
  }

  const training::Model& model_;
  std::uint32_t rank_, ranks_;
  std::vector<std::size_t> begins_;
  std::vector<float> gradients_;
  std::size_t iteration_ = 0;
  Pace pace_;
};

double seconds_since(Clock::time_point begin) { return Seconds(Clock::now() - begin).count(); }

}  // namespace

std::unique_ptr<Worker> emulated_worker(const training::Model& model, std::uint32_t rank,
                                        std::uint32_t ranks) {
  return std::make_unique<Emulated>(model, rank, ranks);
}

void Pace::sleep(double seconds) {
  // Waking up late is made up for, being kept from running is not.
  constexpr std::chrono::milliseconds kLate{2};
  clock_ = std::max(clock_, Clock::now() - kLate) +
           std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  std::this_thread::sleep_until(clock_);
}

void Pupil::backward(std::size_t layer) {
  const auto& late = teaching_.straggler;
  if (layer + 1 == learner_.layers() && late && late->rank == rank_ &&
      grades_.size() % late->every == 0) {
    std::this_thread::sleep_for(Seconds(late->seconds));
  }
  learner_.backward(layer);
  if (paced_ != nullptr) pace_.sleep(paced_->layers[layer].backward);
}

void Pupil::skip(std::size_t layer) {
  learner_.step(layer, teaching_.steps, 1 / static_cast<float>(ranks_));
  if (layer + 1 == learner_.layers()) grades_.push_back(grades_.back());
}

void Pupil::forward(std::size_t layer, bool sums) {
  if (sums) training::step_with_sums(learner_, layer, teaching_.steps, ranks_);
  if (layer == 0) learner_.show(data_.batch(grades_.size(), rank_, ranks_, teaching_.batch));
  learner_.forward(layer);
  if (layer + 1 == learner_.layers()) grades_.push_back({learner_.loss(), learner_.accuracy()});
  if (paced_ != nullptr) pace_.sleep(paced_->layers[layer].forward);
}

training::Model untimed_model(const training::Learner& learner) {
  training::Model model{.name = learner.name(), .layers = {}};
  for (std::size_t l = 0; l < learner.layers(); ++l) {
    training::Layer& layer = model.layers.emplace_back();
    layer.name = learner.layer(l).name();
    for (const std::size_t tensor : learner.layer(l).tensors()) {
      layer.tensors.push_back(tensor * sizeof(float));
    }
  }
  return model;
}

training::Model measured_model(training::Learner& learner, const training::DataSet& data,
                               const Teaching& teaching) {
  constexpr std::size_t kPasses = 5;
  const std::size_t layers = learner.layers();
  std::vector<std::array<double, kPasses>> forward(layers), backward(layers);
  learner.show(data.batch(0, 0, 1, teaching.batch));
  for (std::size_t pass = 0; pass < kPasses; ++pass) {
    for (std::size_t l = 0; l < layers; ++l) {
      const auto begin = Clock::now();
      learner.forward(l);
      forward[l][pass] = seconds_since(begin);
    }
    for (std::size_t l = layers; l-- > 0;) {
      const auto begin = Clock::now();
      learner.backward(l);
      backward[l][pass] = seconds_since(begin);
    }
  }
  const auto median = [](std::array<double, kPasses> times) {
    std::ranges::nth_element(times, times.begin() + kPasses / 2);
    return times[kPasses / 2];
  };
  training::Model model = untimed_model(learner);
  for (std::size_t l = 0; l < layers; ++l) {
    model.layers[l].forward = median(forward[l]);
    model.layers[l].backward = median(backward[l]);
  }
  return model;
}

}  // namespace multitree::tools
