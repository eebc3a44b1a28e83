// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Blocks of a transformer.
#include <algorithm>
#include <cmath>
#include <string>

#include "training/learners/layers_internal.hpp"

namespace multitree::training {
namespace {

using Values = std::vector<float>;

/// Rows to mean 0 and variance 1; without parameters.
class Normalization {
 public:
  const Values& forward(std::span<const float> x, std::size_t width) {
    width_ = width;
    values_.assign(x.begin(), x.end());
    deviations_.assign(x.size() / width, 0.0F);
    for (std::size_t row = 0; row < deviations_.size(); ++row) {
      const std::span<float> y = std::span(values_).subspan(row * width, width);
      float mean = 0, variance = 0;
      for (const float one : y) mean += one;
      mean /= static_cast<float>(width);
      for (float& one : y) {
        one -= mean;
        variance += one * one;
      }
      deviations_[row] = std::sqrt(variance / static_cast<float>(width) + 1e-5F);
      for (float& one : y) one /= deviations_[row];
    }
    return values_;
  }

  [[nodiscard]] const Values& values() const { return values_; }

  /// Adds to `dx`.
  void backward(std::span<const float> dy, std::span<float> dx) const {
    for (std::size_t row = 0; row < deviations_.size(); ++row) {
      const std::size_t begin = row * width_;
      float mean = 0, along = 0;
      for (std::size_t i = begin; i < begin + width_; ++i) {
        mean += dy[i];
        along += dy[i] * values_[i];
      }
      mean /= static_cast<float>(width_);
      along /= static_cast<float>(width_);
      for (std::size_t i = begin; i < begin + width_; ++i) {
        dx[i] += (dy[i] - mean - values_[i] * along) / deviations_[row];
      }
    }
  }

 private:
  std::size_t width_ = 1;
  Values values_, deviations_;
};

/// y = x w + b, where the layer around it holds the parameters.
struct Affine {
  std::size_t weights, bias, in, out;  // where they begin, and widths

  [[nodiscard]] Values forward(std::span<const float> p, std::span<const float> x) const {
    const std::size_t rows = x.size() / in;
    Values y(rows * out);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = p[bias + i % out];
    multiply(x, p.subspan(weights, in * out), y, rows, in, out);
    return y;
  }

  [[nodiscard]] Values backward(std::span<const float> p, std::span<const float> x,
                                std::span<const float> dy, std::span<float> dp) const {
    const std::size_t rows = x.size() / in;
    multiply_first_transposed(x, dy, dp.subspan(weights, in * out), rows, in, out);
    for (std::size_t i = 0; i < dy.size(); ++i) dp[bias + i % out] += dy[i];
    Values dx(x.size());
    multiply_second_transposed(dy, p.subspan(weights, in * out), dx, rows, out, in);
    return dx;
  }
};

class Block final : public LayerKind {
 public:
  Block(std::string name, std::size_t length, std::size_t width, std::size_t heads)
      : LayerKind(std::move(name), length * width, length * width,
                  {width * 3 * width, 3 * width, width * width, width, width * 4 * width, 4 * width,
                   4 * width * width, width}),
        length_(length),
        width_(width),
        heads_(heads),
        triple_(affine(0, width, 3 * width)),
        joining_(affine(2, width, width)),
        widening_(affine(4, width, 4 * width)),
        narrowing_(affine(6, 4 * width, width)) {}

  void initialize(Out parameters, Random& random) const override {
    std::ranges::fill(parameters, 0.0F);
    for (const Affine& one : {triple_, joining_, widening_, narrowing_}) {
      fill_normal(parameters.subspan(one.weights, one.in * one.out),
                  0.5F / static_cast<float>(one.in), random);
    }
  }

  void forward(In p, In x, Out y, std::size_t batch) override {
    qkv_ = triple_.forward(p, before_.forward(x, width_));
    attend(batch);
    const Values joined = joining_.forward(p, mixed_);
    middle_.assign(x.begin(), x.end());
    for (std::size_t i = 0; i < middle_.size(); ++i) middle_[i] += joined[i];
    wide_ = widening_.forward(p, between_.forward(middle_, width_));
    for (float& one : wide_) one = std::max(one, 0.0F);
    const Values narrow = narrowing_.forward(p, wide_);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = middle_[i] + narrow[i];
  }

  void backward(In p, In /*x*/, In /*y*/, Out dy, Out dp, Out dx, std::size_t batch) override {
    std::ranges::fill(dp, 0.0F);
    Values dwide = narrowing_.backward(p, wide_, dy, dp);
    for (std::size_t i = 0; i < wide_.size(); ++i) {
      if (wide_[i] <= 0) dwide[i] = 0;
    }
    between_.backward(widening_.backward(p, between_.values(), dwide, dp), dy);  // dy: of middle_
    const Values dqkv = attend_back(joining_.backward(p, mixed_, dy, dp), batch);
    const Values dbefore = triple_.backward(p, before_.values(), dqkv, dp);
    if (dx.empty()) return;
    std::ranges::copy(dy, dx.begin());
    before_.backward(dbefore, dx);
  }

 private:
  [[nodiscard]] Affine affine(std::size_t first, std::size_t in, std::size_t out) const {
    std::size_t begin = 0;
    for (std::size_t t = 0; t < first; ++t) begin += tensors()[t];
    return {begin, begin + tensors()[first], in, out};
  }

  /// Of one head of one token: its query (part 0), key (1) or value (2) in `values`.
  [[nodiscard]] std::size_t at(std::size_t token, std::size_t part, std::size_t head) const {
    return token * 3 * width_ + part * width_ + head * (width_ / heads_);
  }

  /// Calls visit(first token of the sample, head, where the head's weights begin).
  template <typename Visit>
  void for_heads(std::size_t batch, const Visit& visit) const {
    for (std::size_t sample = 0; sample < batch; ++sample) {
      for (std::size_t head = 0; head < heads_; ++head) {
        visit(sample * length_, head, (sample * heads_ + head) * length_ * length_);
      }
    }
  }

  void attend(std::size_t batch) {
    const std::size_t depth = width_ / heads_;
    const float scale = 1 / std::sqrt(static_cast<float>(depth));
    weights_.assign(batch * heads_ * length_ * length_, 0.0F);
    mixed_.assign(batch * length_ * width_, 0.0F);
    for_heads(batch, [&](std::size_t first, std::size_t head, std::size_t begin) {
      for (std::size_t t = 0; t < length_; ++t) {
        float* const row = weights_.data() + begin + t * length_;
        const float* const query = qkv_.data() + at(first + t, 0, head);
        float largest = -INFINITY, sum = 0;
        for (std::size_t s = 0; s <= t; ++s) {  // itself and what is before it
          const float* const key = qkv_.data() + at(first + s, 1, head);
          for (std::size_t i = 0; i < depth; ++i) row[s] += query[i] * key[i];
          row[s] *= scale;
          largest = std::max(largest, row[s]);
        }
        for (std::size_t s = 0; s <= t; ++s) sum += row[s] = std::exp(row[s] - largest);
        float* const out = mixed_.data() + (first + t) * width_ + head * depth;
        for (std::size_t s = 0; s <= t; ++s) {
          row[s] /= sum;
          const float* const value = qkv_.data() + at(first + s, 2, head);
          for (std::size_t i = 0; i < depth; ++i) out[i] += row[s] * value[i];
        }
      }
    });
  }

  [[nodiscard]] Values attend_back(const Values& dmixed, std::size_t batch) const {
    const std::size_t depth = width_ / heads_;
    const float scale = 1 / std::sqrt(static_cast<float>(depth));
    Values dqkv(qkv_.size()), drow(length_);
    for_heads(batch, [&](std::size_t first, std::size_t head, std::size_t begin) {
      for (std::size_t t = 0; t < length_; ++t) {
        const float* const row = weights_.data() + begin + t * length_;
        const float* const dout = dmixed.data() + (first + t) * width_ + head * depth;
        float along = 0;
        for (std::size_t s = 0; s <= t; ++s) {
          const float* const value = qkv_.data() + at(first + s, 2, head);
          float* const dvalue = dqkv.data() + at(first + s, 2, head);
          drow[s] = 0;
          for (std::size_t i = 0; i < depth; ++i) {
            drow[s] += dout[i] * value[i];
            dvalue[i] += row[s] * dout[i];
          }
          along += drow[s] * row[s];
        }
        const float* const query = qkv_.data() + at(first + t, 0, head);
        float* const dquery = dqkv.data() + at(first + t, 0, head);
        for (std::size_t s = 0; s <= t; ++s) {
          const float slope = row[s] * (drow[s] - along) * scale;
          const float* const key = qkv_.data() + at(first + s, 1, head);
          float* const dkey = dqkv.data() + at(first + s, 1, head);
          for (std::size_t i = 0; i < depth; ++i) {
            dquery[i] += slope * key[i];
            dkey[i] += slope * query[i];
          }
        }
      }
    });
    return dqkv;
  }

  std::size_t length_, width_, heads_;
  Affine triple_, joining_, widening_, narrowing_;
  Normalization before_, between_;
  Values qkv_, weights_, mixed_, middle_, wide_;  // of the last forward pass
};

}  // namespace

std::unique_ptr<LayerKind> make_block(std::string name, std::size_t length, std::size_t width,
                                      std::size_t heads) {
  return std::make_unique<Block>(std::move(name), length, width, heads);
}

}  // namespace multitree::training
