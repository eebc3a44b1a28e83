// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Layers from convolutions, and sums over them.
#include "study/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "topologies/error.hpp"

namespace multitree::study {
namespace {

/// The product, or more than `most`.
std::uint64_t capped_product(std::initializer_list<std::uint64_t> factors, std::uint64_t most) {
  std::uint64_t product = 1;
  for (const std::uint64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product) || product > most) return most + 1;
  }
  return product;
}

std::uint64_t outputs(std::uint64_t input, std::uint64_t filter, std::uint64_t stride) {
  return (input - filter) / stride + 1;
}

}  // namespace

Layer make_layer(std::string name, const Convolution& c, std::uint64_t repeat) {
  const std::uint64_t height = outputs(c.input_height, c.filter_height, c.stride);
  const std::uint64_t width = outputs(c.input_width, c.filter_width, c.stride);
  const std::uint64_t weights =
      capped_product({c.filter_height, c.filter_width, c.channels, c.filters}, kMaxParameters);
  if (weights > kMaxParameters) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("layer '{}': expected at most {} weights, found more", name, kMaxParameters));
  }
  // Input gradients are products over all input pixels; those are never fewer than output pixels.
  if (capped_product({c.input_height, c.input_width, weights, repeat}, kMaxVolume) > kMaxVolume) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format(
            "layer '{}': expected input pixels x weights x repeat of at most {}, found more", name,
            kMaxVolume));
  }
  return {.name = std::move(name),
          .forward = {.rows = height * width,
                      .columns = c.filters,
                      .depth = c.filter_height * c.filter_width * c.channels},
          .input_pixels = c.input_height * c.input_width,
          .channels = c.channels,
          .repeat = repeat,
          .parameters = weights};
}

std::uint64_t total_parameters(const Workload& workload) {
  std::uint64_t sum = 0;
  for (const Layer& layer : workload.layers) sum += layer.parameters;
  return sum;
}

std::uint64_t total_multiplications(const Workload& workload) {
  std::uint64_t sum = 0;
  for (const Layer& layer : workload.layers) sum += layer.repeat * volume(layer.forward);
  return sum;
}

}  // namespace multitree::study
