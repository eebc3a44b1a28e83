// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Folding products onto systolic arrays.
#include "study/systolic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "study/saturate_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::study {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

void check_field(const char* field, std::uint32_t value, std::uint32_t most) {
  if (value >= 1 && value <= most) return;
  throw Error(
      ErrorCode::InvalidArgument,
      fmt::format("accelerator: {}: expected a number from 1 to {}, found {}", field, most, value));
}

void check(const Accelerator& accelerator) {
  check_field("rows", accelerator.rows, 256);
  check_field("columns", accelerator.columns, 256);
  check_field("arrays", accelerator.arrays, 1U << 16);
  check_field("samples", accelerator.samples, 1U << 16);
}

std::uint64_t streamed_cycles(const Gemm& gemm, std::uint64_t row_folds, std::uint64_t column_folds,
                              const Accelerator& accelerator) {
  const std::uint64_t used_rows = std::min<std::uint64_t>(gemm.rows, accelerator.rows);
  const std::uint64_t used_columns = std::min<std::uint64_t>(gemm.columns, accelerator.columns);
  const std::uint64_t last_rows = gemm.rows - (row_folds - 1) * accelerator.rows;
  const std::uint64_t last_fold = std::max(gemm.depth, last_rows);
  const std::uint64_t all_folds =
      column_folds * ((row_folds - 1) * std::max(gemm.depth, used_rows) + last_fold);
  // After the very last fold comes the emptying of the array, so that it waits for no other.
  return all_folds - last_fold + gemm.depth + 2 * used_rows + used_columns - 2;
}

}  // namespace

std::uint64_t LayerCycles::backward() const {
  return saturating_add(saturating_add(input_gradient, weight_gradient), aggregation);
}

std::uint64_t gemm_cycles(const Gemm& gemm, const Accelerator& accelerator) {
  if (volume(gemm) == 0) return 0;
  const std::uint64_t row_folds = divide_up(gemm.rows, accelerator.rows);
  const std::uint64_t column_folds = divide_up(gemm.columns, accelerator.columns);
  if (accelerator.folds == Folds::Streamed) {
    return streamed_cycles(gemm, row_folds, column_folds, accelerator);
  }
  const std::uint64_t fold =
      2 * std::uint64_t{accelerator.rows} + accelerator.columns + gemm.depth - 2;
  return row_folds * column_folds * fold;
}

Gemm input_gradient(const Layer& layer, InputGradient form) {
  const Gemm& forward = layer.forward;
  if (volume(forward) == 0) return {};
  if (form == InputGradient::Unfolded) {
    return {.rows = forward.rows, .columns = forward.depth, .depth = forward.columns};
  }
  const std::uint64_t filter_area = forward.depth / layer.channels;
  return {.rows = layer.input_pixels,
          .columns = layer.channels,
          .depth = filter_area * forward.columns};
}

Gemm weight_gradient(const Layer& layer) {
  const Gemm& forward = layer.forward;
  return {.rows = forward.depth, .columns = forward.columns, .depth = forward.rows};
}

std::uint64_t aggregation_cycles(std::uint64_t parameters, const Accelerator& accelerator) {
  if (accelerator.arrays == 1) return 0;
  const std::uint64_t share = divide_up(parameters, accelerator.arrays);
  return divide_up(share, std::max(accelerator.rows, accelerator.columns)) * accelerator.arrays;
}

std::vector<LayerCycles> training_cycles(const Workload& workload, const Accelerator& accelerator) {
  check(accelerator);
  std::vector<LayerCycles> cycles;
  cycles.reserve(workload.layers.size());
  for (const Layer& layer : workload.layers) {
    const std::uint64_t times = saturating_multiply(layer.repeat, accelerator.samples);
    const auto pass = [&](const Gemm& gemm) {
      return saturating_multiply(times, gemm_cycles(gemm, accelerator));
    };
    const bool skipped = cycles.empty() && !accelerator.first_input_gradient;
    cycles.push_back(
        {.forward = pass(layer.forward),
         .input_gradient = skipped ? 0 : pass(input_gradient(layer, accelerator.input_gradient)),
         .weight_gradient = pass(weight_gradient(layer)),
         .aggregation = aggregation_cycles(layer.parameters, accelerator)});
  }
  return cycles;
}

std::uint64_t total_cycles(std::span<const LayerCycles> layers) {
  std::uint64_t sum = 0;
  for (const LayerCycles& layer : layers) {
    sum = saturating_add(sum, saturating_add(layer.forward, layer.backward()));
  }
  return sum;
}

}  // namespace multitree::study
