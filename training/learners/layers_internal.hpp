// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kinds of layers, and products of matrices.
#pragma once

#include <memory>

#include "training/learners/learner.hpp"

namespace multitree::training {

/// Products of matrices that lie row by row; all add to what `out` holds.
/// \{
/// out[m][n] += a[m][k] b[k][n]
void multiply(std::span<const float> a, std::span<const float> b, std::span<float> out,
              std::size_t m, std::size_t k, std::size_t n);
/// out[k][n] += a[m][k] b[m][n], the first one transposed
void multiply_first_transposed(std::span<const float> a, std::span<const float> b,
                               std::span<float> out, std::size_t m, std::size_t k, std::size_t n);
/// out[m][k] += a[m][n] b[k][n], the second one transposed
void multiply_second_transposed(std::span<const float> a, std::span<const float> b,
                                std::span<float> out, std::size_t m, std::size_t n, std::size_t k);
/// \}

/// Normally distributed with this variance.
void fill_normal(std::span<float> values, float variance, Random& random);

/// y = x w + b of each of `rows` rows of a sample; negative outputs become 0 with `relu`.
std::unique_ptr<LayerKind> make_dense(std::string name, std::size_t inputs, std::size_t outputs,
                                      bool relu, std::size_t rows = 1);
/// Images of `channels`, convolved with square kernels, negative values 0, then means of 2 x 2.
/// \param padding zeros around
std::unique_ptr<LayerKind> make_convolution(std::string name, std::size_t channels,
                                            std::size_t side, std::size_t outputs,
                                            std::size_t kernel, std::size_t padding);
/// A vector for each token and one for its place, added.
std::unique_ptr<LayerKind> make_embedding(std::string name, std::size_t length, std::size_t tokens,
                                          std::size_t width);
/// Causal self-attention and two dense layers, each behind a normalization and around both a
/// shortcut (Vaswani et al., 2017; Xiong et al., 2020).
std::unique_ptr<LayerKind> make_block(std::string name, std::size_t length, std::size_t width,
                                      std::size_t heads);

}  // namespace multitree::training
