// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Learners by name.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "topologies/error.hpp"
#include "topologies/spec.hpp"
#include "training/learners/layers_internal.hpp"

namespace multitree::training {
namespace {

using Layers = std::vector<std::unique_ptr<LayerKind>>;

Layers logistic(const DataShape& shape, const Spec& /*spec*/) {
  Layers layers;
  layers.push_back(make_dense("linear", shape.inputs, shape.classes, false));
  return layers;
}

Layers mlp(const DataShape& shape, const Spec& spec) {
  const std::size_t hidden = spec.get_number("hidden", 512, 1, 1 << 16);
  const std::size_t depth = spec.get_number("depth", 2, 1, 1 << 10);
  Layers layers;
  std::size_t width = shape.inputs;
  for (std::size_t d = 0; d < depth; ++d) {
    layers.push_back(make_dense(fmt::format("hidden{}", d + 1), width, hidden, true));
    width = hidden;
  }
  layers.push_back(make_dense("output", width, shape.classes, false));
  return layers;
}

/// LeCun et al., 1998, with 28 x 28 pixels and means for pooling; with smaller kernels on images
/// that are smaller than 16 x 16.
Layers lenet5(const DataShape& shape, const Spec& spec) {
  const auto side = static_cast<std::size_t>(std::lround(std::sqrt(shape.inputs)));
  if (side * side != shape.inputs || side < 8 || side % 4 != 0) {
    spec.fail(fmt::format("expected square images, of a side of 8, 12, 16, ..., got {} numbers",
                          shape.inputs));
  }
  const std::size_t kernel = side < 16 ? 3 : 5;
  Layers layers;
  layers.push_back(make_convolution("conv1", 1, side, 6, kernel, kernel / 2));
  layers.push_back(make_convolution("conv2", 6, side / 2, 16, kernel, 0));
  layers.push_back(make_dense("fc1", layers.back()->outputs(), 120, true));
  layers.push_back(make_dense("fc2", 120, 84, true));
  layers.push_back(make_dense("output", 84, shape.classes, false));
  return layers;
}

Layers transformer(const DataShape& shape, const Spec& spec) {
  const std::size_t width = spec.get_number("width", 64, 1, 1 << 14);
  const std::size_t blocks = spec.get_number("blocks", 2, 1, 1 << 10);
  const std::size_t heads = spec.get_number("heads", 4, 1, 1 << 10);
  if (width % heads != 0) {
    spec.fail(fmt::format("heads: expected a divisor of the width, {}, got {}", width, heads));
  }
  Layers layers;
  layers.push_back(make_embedding("embedding", shape.inputs, shape.classes, width));
  for (std::size_t b = 0; b < blocks; ++b) {
    layers.push_back(make_block(fmt::format("block{}", b + 1), shape.inputs, width, heads));
  }
  layers.push_back(make_dense("output", width, shape.classes, false, shape.inputs));
  return layers;
}

struct Row {
  std::string_view name;
  bool sequence;  ///< what it learns from
  Layers (*make)(const DataShape& shape, const Spec& spec);
};
constexpr std::array kRows{Row{"logistic", false, logistic}, Row{"mlp", false, mlp},
                           Row{"lenet5", false, lenet5}, Row{"transformer", true, transformer}};

}  // namespace

std::unique_ptr<Learner> make_learner(std::string_view text, const DataShape& shape,
                                      std::uint64_t seed) {
  const Spec spec = Spec::parse(text);
  for (const Row& row : kRows) {
    if (row.name != spec.name()) continue;
    if (row.sequence != shape.sequence) {
      spec.fail(row.sequence ? "expected sequences of tokens as data"
                             : "expected samples with a label as data, got sequences");
    }
    Layers layers = row.make(shape, spec);
    spec.check_all_used();
    return std::make_unique<Learner>(std::string(text), std::move(layers), seed);
  }
  std::string names;
  for (const Row& row : kRows) names += fmt::format(" {}", row.name);
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("unknown learner '{}'; one of:{}", spec.name(), names));
}

}  // namespace multitree::training
