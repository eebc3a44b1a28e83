// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Convolutions of images, as products of matrices.
#include <algorithm>
#include <string>

#include "training/learners/layers_internal.hpp"

namespace multitree::training {
namespace {

class Convolution final : public LayerKind {
 public:
  Convolution(std::string name, std::size_t channels, std::size_t side, std::size_t outputs,
              std::size_t kernel, std::size_t padding)
      : LayerKind(std::move(name), channels * side * side,
                  outputs * pooled(side, kernel, padding) * pooled(side, kernel, padding),
                  {channels * kernel * kernel * outputs, outputs}),
        channels_(channels),
        side_(side),
        kernel_(kernel),
        padding_(padding),
        full_(side + 2 * padding - kernel + 1),
        half_(full_ / 2),
        depth_(outputs),
        patch_(channels * kernel * kernel) {}

  void initialize(Out parameters, Random& random) const override {
    fill_normal(parameters.first(tensors()[0]), 2.0F / static_cast<float>(patch_), random);
    std::ranges::fill(parameters.subspan(tensors()[0]), 0.0F);
  }

  void forward(In parameters, In x, Out y, std::size_t batch) override {
    patches_.assign(batch * full_ * full_ * patch_, 0.0F);
    for_patches(batch, [&](std::size_t place, std::size_t pixel) { patches_[place] = x[pixel]; });
    const In bias = parameters.subspan(tensors()[0]);
    made_.resize(batch * full_ * full_ * depth_);
    for (std::size_t i = 0; i < made_.size(); ++i) made_[i] = bias[i % depth_];
    multiply(patches_, parameters, made_, batch * full_ * full_, patch_, depth_);
    for (float& one : made_) one = std::max(one, 0.0F);
    std::ranges::fill(y, 0.0F);
    for_pools(batch, [&](std::size_t out, std::size_t in) { y[out] += made_[in] / 4; });
  }

  void backward(In parameters, In /*x*/, In /*y*/, Out dy, Out dparameters, Out dx,
                std::size_t batch) override {
    std::vector<float> dmade(made_.size());
    for_pools(batch, [&](std::size_t out, std::size_t in) {
      if (made_[in] > 0) dmade[in] = dy[out] / 4;
    });
    std::ranges::fill(dparameters, 0.0F);
    multiply_first_transposed(patches_, dmade, dparameters, batch * full_ * full_, patch_, depth_);
    const Out dbias = dparameters.subspan(tensors()[0]);
    for (std::size_t i = 0; i < dmade.size(); ++i) dbias[i % depth_] += dmade[i];
    if (dx.empty()) return;
    std::vector<float> dpatches(patches_.size());
    multiply_second_transposed(dmade, parameters, dpatches, batch * full_ * full_, depth_, patch_);
    std::ranges::fill(dx, 0.0F);
    for_patches(batch, [&](std::size_t place, std::size_t pixel) { dx[pixel] += dpatches[place]; });
  }

 private:
  static std::size_t pooled(std::size_t side, std::size_t kernel, std::size_t padding) {
    return (side + 2 * padding - kernel + 1) / 2;
  }

  /// Where each pixel stands in patches, which lie sample by sample, row by row.
  template <typename Visit>
  void for_patches(std::size_t batch, const Visit& visit) const {
    for (std::size_t at = 0; at < batch * full_ * full_; ++at) {
      const std::size_t sample = at / (full_ * full_);
      const std::size_t row = at / full_ % full_, column = at % full_;
      for (std::size_t p = 0; p < patch_; ++p) {
        const std::size_t y = row + p / kernel_ % kernel_, x = column + p % kernel_;
        if (y < padding_ || x < padding_ || y >= side_ + padding_ || x >= side_ + padding_)
          continue;
        const std::size_t image = sample * channels_ + p / (kernel_ * kernel_);
        visit(at * patch_ + p, (image * side_ + y - padding_) * side_ + x - padding_);
      }
    }
  }

  /// Outputs lie channel by channel, as a layer behind takes them; what was made, pixel by pixel.
  template <typename Visit>
  void for_pools(std::size_t batch, const Visit& visit) const {
    for (std::size_t i = 0; i < batch * depth_ * half_ * half_; ++i) {
      const std::size_t column = i % half_, row = i / half_ % half_;
      const std::size_t channel = i / (half_ * half_) % depth_;
      const std::size_t sample = i / (half_ * half_ * depth_);
      for (std::size_t part = 0; part < 4; ++part) {
        const std::size_t y = 2 * row + part / 2, x = 2 * column + part % 2;
        visit(i, ((sample * full_ + y) * full_ + x) * depth_ + channel);
      }
    }
  }

  std::size_t channels_, side_, kernel_, padding_, full_, half_, depth_, patch_;
  std::vector<float> patches_, made_;
};

}  // namespace

std::unique_ptr<LayerKind> make_convolution(std::string name, std::size_t channels,
                                            std::size_t side, std::size_t outputs,
                                            std::size_t kernel, std::size_t padding) {
  return std::make_unique<Convolution>(std::move(name), channels, side, outputs, kernel, padding);
}

}  // namespace multitree::training
