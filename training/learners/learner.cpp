// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Passes, the loss, steps.
#include "training/learners/learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "topologies/error.hpp"

namespace multitree::training {

std::size_t LayerKind::parameters() const {
  return std::accumulate(tensors_.begin(), tensors_.end(), std::size_t{0});
}

Learner::Learner(std::string name, std::vector<std::unique_ptr<LayerKind>> layers,
                 std::uint64_t seed)
    : name_(std::move(name)), layers_(std::move(layers)), begins_(1, 0) {
  for (const auto& layer : layers_) begins_.push_back(begins_.back() + layer->parameters());
  parameters_.resize(begins_.back());
  gradients_.resize(begins_.back());
  velocity_.resize(begins_.back());
  squares_.resize(begins_.back());
  steps_.resize(layers_.size());
  values_.resize(layers_.size() + 1);
  slopes_.resize(layers_.size() + 1);
  Random random(seed);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    layers_[l]->initialize(std::span(parameters_).subspan(begins_[l], begins_[l + 1] - begins_[l]),
                           random);
  }
}

void Learner::show(Batch batch) {
  const std::size_t inputs = layers_.front()->inputs();
  samples_ = batch.inputs.size() / inputs;
  if (batch.inputs.empty() || samples_ * inputs != batch.inputs.size() ||
      samples_ * layers_.back()->outputs() % batch.labels.size() != 0) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: expected samples of {} numbers and their labels, got {} numbers "
                            "and {} labels",
                            name_, inputs, batch.inputs.size(), batch.labels.size()));
  }
  batch_ = std::move(batch);
}

void Learner::forward(std::size_t l) {
  if (l == 0) values_[0].assign(batch_.inputs.begin(), batch_.inputs.end());
  LayerKind& layer = *layers_[l];
  values_[l + 1].resize(samples_ * layer.outputs());
  layer.forward(std::span(parameters_).subspan(begins_[l], begins_[l + 1] - begins_[l]), values_[l],
                values_[l + 1], samples_);
  if (l + 1 == layers_.size()) compare();
}

/// The loss, and its slope for each output: what the labels' probabilities lack.
void Learner::compare() {
  const std::vector<float>& outputs = values_.back();
  std::vector<float>& slopes = slopes_.back();
  slopes.resize(outputs.size());
  const std::size_t rows = batch_.labels.size(), classes = outputs.size() / rows;
  double sum = 0;
  std::size_t right = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::span<const float> of_row = std::span(outputs).subspan(row * classes, classes);
    const std::span<float> to = std::span(slopes).subspan(row * classes, classes);
    const auto largest = std::ranges::max_element(of_row);
    const std::size_t label = std::min<std::size_t>(batch_.labels[row], classes - 1);
    float all = 0;
    for (std::size_t c = 0; c < classes; ++c) all += to[c] = std::exp(of_row[c] - *largest);
    sum += std::log(static_cast<double>(all)) - (of_row[label] - *largest);
    right += static_cast<std::size_t>(largest - of_row.begin()) == label ? 1 : 0;
    for (std::size_t c = 0; c < classes; ++c) {
      to[c] = (to[c] / all - (c == label ? 1.0F : 0.0F)) / static_cast<float>(rows);
    }
  }
  loss_ = sum / static_cast<double>(rows);
  accuracy_ = static_cast<double>(right) / static_cast<double>(rows);
}

void Learner::backward(std::size_t l) {
  LayerKind& layer = *layers_[l];
  std::vector<float>& dx = slopes_[l];
  dx.resize(l == 0 ? 0 : values_[l].size());
  const std::size_t begin = begins_[l], size = begins_[l + 1] - begin;
  layer.backward(std::span(parameters_).subspan(begin, size), values_[l], values_[l + 1],
                 slopes_[l + 1], std::span(gradients_).subspan(begin, size), dx, samples_);
}

void Learner::save(std::vector<float>& state) const {
  state.clear();
  for (const auto* part : {&parameters_, &velocity_, &squares_, &steps_}) {
    state.insert(state.end(), part->begin(), part->end());
  }
}

void Learner::restore(std::span<const float> state) {
  const std::size_t expected = 3 * parameters_.size() + steps_.size();
  if (state.size() != expected) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("{}: expected a state of {} numbers, got {}", name_, expected, state.size()));
  }
  auto from = state.begin();
  for (auto* part : {&parameters_, &velocity_, &squares_, &steps_}) {
    std::copy_n(from, part->size(), part->begin());
    from += static_cast<std::ptrdiff_t>(part->size());
  }
}

void Learner::step(std::size_t l, const Steps& steps, float scale) {
  if (steps.adamw) return step_adamw(l, steps, scale);
  for (std::size_t i = begins_[l]; i < begins_[l + 1]; ++i) {
    velocity_[i] = steps.momentum * velocity_[i] + scale * gradients_[i];
    parameters_[i] -= steps.rate * velocity_[i];
  }
}

/// The means begin at 0, which is made up for (Kingma, Ba, ICLR 2015, section 3).
void Learner::step_adamw(std::size_t l, const Steps& steps, float scale) {
  const AdamW& adamw = *steps.adamw;
  const float count = ++steps_[l];
  const float mean = 1 / (1 - std::pow(steps.momentum, count));
  const float square = 1 / (1 - std::pow(adamw.squares, count));
  for (std::size_t i = begins_[l]; i < begins_[l + 1]; ++i) {
    const float gradient = scale * gradients_[i];
    velocity_[i] = steps.momentum * velocity_[i] + (1 - steps.momentum) * gradient;
    squares_[i] = adamw.squares * squares_[i] + (1 - adamw.squares) * gradient * gradient;
    parameters_[i] -=
        steps.rate * (mean * velocity_[i] / (std::sqrt(square * squares_[i]) + adamw.least) +
                      adamw.decay * parameters_[i]);
  }
}

}  // namespace multitree::training
