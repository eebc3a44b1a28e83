// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Products of matrices, and layers that are little else.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "training/learners/layers_internal.hpp"

namespace multitree::training {

void multiply(std::span<const float> a, std::span<const float> b, std::span<float> out,
              std::size_t m, std::size_t k, std::size_t n) {
  for (std::size_t row = 0; row < m; ++row) {
    float* const to = out.data() + row * n;
    for (std::size_t i = 0; i < k; ++i) {
      const float factor = a[row * k + i];
      const float* const from = b.data() + i * n;
      for (std::size_t j = 0; j < n; ++j) to[j] += factor * from[j];
    }
  }
}

void multiply_first_transposed(std::span<const float> a, std::span<const float> b,
                               std::span<float> out, std::size_t m, std::size_t k, std::size_t n) {
  for (std::size_t row = 0; row < m; ++row) {
    const float* const from = b.data() + row * n;
    for (std::size_t i = 0; i < k; ++i) {
      const float factor = a[row * k + i];
      if (factor == 0) continue;  // much is, behind layers that cut negative values off
      float* const to = out.data() + i * n;
      for (std::size_t j = 0; j < n; ++j) to[j] += factor * from[j];
    }
  }
}

void multiply_second_transposed(std::span<const float> a, std::span<const float> b,
                                std::span<float> out, std::size_t m, std::size_t n, std::size_t k) {
  constexpr std::size_t kParts = 16;  // sums that do not wait for each other
  for (std::size_t row = 0; row < m; ++row) {
    const float* const left = a.data() + row * n;
    for (std::size_t i = 0; i < k; ++i) {
      const float* const right = b.data() + i * n;
      std::array<float, kParts> sums{};
      std::size_t j = 0;
      for (; j + kParts <= n; j += kParts) {
        for (std::size_t p = 0; p < kParts; ++p) sums[p] += left[j + p] * right[j + p];
      }
      float sum = 0;
      for (; j < n; ++j) sum += left[j] * right[j];
      for (const float part : sums) sum += part;
      out[row * k + i] += sum;
    }
  }
}

void fill_normal(std::span<float> values, float variance, Random& random) {
  const float deviation = std::sqrt(variance);
  for (float& value : values) value = deviation * random.normal();
}

namespace {

class Dense final : public LayerKind {
 public:
  Dense(std::string name, std::size_t inputs, std::size_t outputs, bool relu, std::size_t rows)
      : LayerKind(std::move(name), rows * inputs, rows * outputs, {inputs * outputs, outputs}),
        wide_in_(inputs),
        wide_out_(outputs),
        rows_(rows),
        relu_(relu) {}

  void initialize(Out parameters, Random& random) const override {
    fill_normal(parameters.first(tensors()[0]),
                (relu_ ? 2.0F : 1.0F) / static_cast<float>(wide_in_), random);
    std::ranges::fill(parameters.subspan(tensors()[0]), 0.0F);
  }

  void forward(In parameters, In x, Out y, std::size_t batch) override {
    const In bias = parameters.subspan(tensors()[0]);
    for (std::size_t row = 0; row < batch * rows_; ++row) {
      std::ranges::copy(bias, y.begin() + static_cast<std::ptrdiff_t>(row * wide_out_));
    }
    multiply(x, parameters, y, batch * rows_, wide_in_, wide_out_);
    if (!relu_) return;
    for (float& one : y) one = std::max(one, 0.0F);
  }

  void backward(In parameters, In x, In y, Out dy, Out dparameters, Out dx,
                std::size_t batch) override {
    if (relu_) {
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (y[i] <= 0) dy[i] = 0;
      }
    }
    std::ranges::fill(dparameters, 0.0F);
    multiply_first_transposed(x, dy, dparameters, batch * rows_, wide_in_, wide_out_);
    const Out dbias = dparameters.subspan(tensors()[0]);
    for (std::size_t i = 0; i < dy.size(); ++i) dbias[i % wide_out_] += dy[i];
    if (dx.empty()) return;
    std::ranges::fill(dx, 0.0F);
    multiply_second_transposed(dy, parameters, dx, batch * rows_, wide_out_, wide_in_);
  }

 private:
  std::size_t wide_in_, wide_out_, rows_;
  bool relu_;
};

class Embedding final : public LayerKind {
 public:
  Embedding(std::string name, std::size_t length, std::size_t tokens, std::size_t width)
      : LayerKind(std::move(name), length, length * width, {tokens * width, length * width}),
        length_(length),
        width_(width) {}

  void initialize(Out parameters, Random& random) const override {
    fill_normal(parameters, 0.02F, random);
  }

  void forward(In parameters, In x, Out y, std::size_t /*batch*/) override {
    for (std::size_t t = 0; t < x.size(); ++t) {
      const In token = token_of(parameters, x[t]), place = place_of(parameters, t);
      for (std::size_t i = 0; i < width_; ++i) y[t * width_ + i] = token[i] + place[i];
    }
  }

  void backward(In /*parameters*/, In x, In /*y*/, Out dy, Out dparameters, Out /*dx*/,
                std::size_t /*batch*/) override {
    std::ranges::fill(dparameters, 0.0F);
    for (std::size_t t = 0; t < x.size(); ++t) {
      const Out token = token_of(dparameters, x[t]), place = place_of(dparameters, t);
      for (std::size_t i = 0; i < width_; ++i) {
        token[i] += dy[t * width_ + i];
        place[i] += dy[t * width_ + i];
      }
    }
  }

 private:
  template <typename Span>
  [[nodiscard]] Span token_of(Span parameters, float token) const {
    return parameters.subspan(static_cast<std::size_t>(token) * width_, width_);
  }
  template <typename Span>
  [[nodiscard]] Span place_of(Span parameters, std::size_t t) const {
    return parameters.subspan(tensors()[0] + t % length_ * width_, width_);
  }

  std::size_t length_, width_;
};

}  // namespace

std::unique_ptr<LayerKind> make_dense(std::string name, std::size_t inputs, std::size_t outputs,
                                      bool relu, std::size_t rows) {
  return std::make_unique<Dense>(std::move(name), inputs, outputs, relu, rows);
}

std::unique_ptr<LayerKind> make_embedding(std::string name, std::size_t length, std::size_t tokens,
                                          std::size_t width) {
  return std::make_unique<Embedding>(std::move(name), length, tokens, width);
}

}  // namespace multitree::training
