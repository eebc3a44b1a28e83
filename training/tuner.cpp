// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bayesian optimisation of one number.
#include "training/tuner_internal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

namespace multitree::training {
namespace {

constexpr std::uint32_t kLeast = 1, kMost = 256, kFirst = 25, kTrials = 10;  // MiB
constexpr double kBeyond = 0.1, kNoise = 1e-6;
constexpr std::array kLengths{0.02, 0.05, 0.1, 0.2, 0.5, 1.0};  // of [kLeast, kMost]

double matern(double distance, double length) {
  const double r = std::sqrt(5.0) * distance / length;
  return (1 + r + r * r / 3) * std::exp(-r);
}

/// A Gaussian process of mean 0 and variance 1 through points.
class Process {
 public:
  Process(const std::vector<double>& x, const std::vector<double>& y, double length)
      : x_(x), length_(length), lower_(x.size()) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = matern(std::abs(x[i] - x[j]), length);
        if (i == j) sum += kNoise;
        for (std::size_t k = 0; k < j; ++k) sum -= lower_[i][k] * lower_[j][k];
        lower_[i].push_back(i == j ? std::sqrt(sum) : sum / lower_[j][j]);
      }
    }
    half_ = solved(y);
    for (std::size_t i = 0; i < x.size(); ++i) {
      likelihood_ -= half_[i] * half_[i] / 2 + std::log(lower_[i][i]);
    }
  }

  /// Its logarithm, but for a constant.
  [[nodiscard]] double likelihood() const { return likelihood_; }

  /// Of what is above `beyond`.
  [[nodiscard]] double expected_improvement(double x, double beyond) const {
    std::vector<double> to(x_.size());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = matern(std::abs(x - x_[i]), length_);
    const std::vector<double> part = solved(to);
    double mean = 0, variance = 1 + kNoise;
    for (std::size_t i = 0; i < part.size(); ++i) {
      mean += part[i] * half_[i];
      variance -= part[i] * part[i];
    }
    const double deviation = std::sqrt(std::max(variance, kNoise)), z = (mean - beyond) / deviation;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    return deviation * (z * std::erfc(-z / std::numbers::sqrt2) / 2 + density);
  }

 private:
  /// By the lower triangle.
  [[nodiscard]] std::vector<double> solved(std::vector<double> right) const {
    for (std::size_t i = 0; i < right.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) right[i] -= lower_[i][k] * right[k];
      right[i] /= lower_[i][i];
    }
    return right;
  }

  const std::vector<double>& x_;
  double length_, likelihood_ = 0;
  std::vector<std::vector<double>> lower_;
  std::vector<double> half_;
};

double place_of(std::uint32_t size) {
  return static_cast<double>(size - kLeast) / static_cast<double>(kMost - kLeast);
}

/// Negative times, to mean 0 and variance 1.
std::vector<double> scores_of(const std::vector<double>& seconds) {
  double mean = 0, variance = 0;
  const auto count = static_cast<double>(seconds.size());
  for (const double one : seconds) mean += one / count;
  for (const double one : seconds) variance += (one - mean) * (one - mean) / count;
  const double deviation = variance > 0 ? std::sqrt(variance) : 1;
  std::vector<double> scores;
  for (const double one : seconds) scores.push_back((mean - one) / deviation);
  return scores;
}

std::uint32_t next_trial(const std::vector<std::uint32_t>& sizes,
                         const std::vector<double>& seconds) {
  std::vector<double> x;
  for (const std::uint32_t size : sizes) x.push_back(place_of(size));
  const std::vector<double> scores = scores_of(seconds);
  std::optional<Process> process;
  for (const double length : kLengths) {
    Process one(x, scores, length);
    if (!process || one.likelihood() > process->likelihood()) process.emplace(std::move(one));
  }
  const double beyond = *std::ranges::max_element(scores) + kBeyond;
  std::uint32_t best = 0;
  double most = -1;
  for (std::uint32_t size = kLeast; size <= kMost; ++size) {
    if (std::ranges::find(sizes, size) != sizes.end()) continue;
    const double gain = process->expected_improvement(place_of(size), beyond);
    if (gain <= most) continue;
    most = gain;
    best = size;
  }
  return best;
}

}  // namespace

std::uint64_t tuned_group_size(const std::function<double(std::uint64_t)>& seconds) {
  std::vector<std::uint32_t> sizes;
  std::vector<double> took;
  const auto bytes_of = [](std::uint32_t size) { return std::uint64_t{size} << 20; };
  while (sizes.size() < kTrials) {
    sizes.push_back(sizes.empty() ? kFirst : next_trial(sizes, took));
    took.push_back(seconds(bytes_of(sizes.back())));
  }
  const auto best = std::ranges::min_element(took) - took.begin();
  return bytes_of(sizes[static_cast<std::size_t>(best)]);
}

}  // namespace multitree::training
