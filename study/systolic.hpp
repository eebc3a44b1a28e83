// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cycles that an accelerator of output-stationary systolic arrays trains a sample in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/workload.hpp"

namespace multitree::study {

/// How the folds of a product (what the array holds at once: R x C outputs) follow each other.
enum class Folds {
  /// The next fold's operands follow those of the one before: a fold takes max(depth, rows used)
  /// cycles, for outputs leave through the columns one row a cycle. Array fill and last outputs are
  /// paid once. What the study's simulator does.
  Streamed,
  /// Each fold is filled, computed and emptied before the next: 2R + C + depth - 2 cycles each, the
  /// analytical model of SCALE-Sim (Samajdar et al., ISPASS 2020, section III).
  Drained,
};

/// How a convolution's input gradient becomes a product.
enum class InputGradient {
  /// A convolution of the output gradient, spread by the stride and padded, with the turned
  /// filters: input pixels x (filter area * filters) x channels, zeros included. What the study
  /// does.
  Transposed,
  /// Output pixels x filters x (filter area * channels), then adding up what overlaps, which is not
  /// counted: as many multiplications as the forward pass.
  Unfolded,
};

/// An accelerator; the defaults are those of the MULTITREE study (Huang et al., ISCA 2021, section
/// V and the released simulator): 16 arrays of 32x32, one sample on each, so that a mini-batch is
/// 16 samples a rank. Memory delivers whatever the arrays ask for.
struct Accelerator {
  std::uint32_t rows = 32;     ///< of an array
  std::uint32_t columns = 32;  ///< of an array
  std::uint32_t arrays = 16;   ///< which sum their gradients up before the all-reduce
  std::uint32_t samples = 1;   ///< of a mini-batch on each array, one after the other
  Folds folds = Folds::Streamed;
  InputGradient input_gradient = InputGradient::Transposed;
  /// Nobody needs the gradient of the network's input; the study computes it.
  bool first_input_gradient = true;
};

/// Of one layer and iteration, in cycles (1 ns in the study); what leaves 64 bits is the largest
/// number.
struct LayerCycles {
  std::uint64_t forward = 0;
  std::uint64_t input_gradient = 0;
  std::uint64_t weight_gradient = 0;
  std::uint64_t aggregation = 0;  ///< adding up the gradients of all arrays
  [[nodiscard]] std::uint64_t backward() const;
  bool operator==(const LayerCycles&) const = default;
};

/// Cycles of a product on one array; 0 for none.
std::uint64_t gemm_cycles(const Gemm& gemm, const Accelerator& accelerator);

/// The products of the backward pass.
/// \{
Gemm input_gradient(const Layer& layer, InputGradient form);
Gemm weight_gradient(const Layer& layer);
/// \}

/// Cycles until the gradients of `parameters` weights are the sums over all arrays: each array
/// takes its share, from every array in turn, max(rows, columns) elements a cycle. 0 on one array.
std::uint64_t aggregation_cycles(std::uint64_t parameters, const Accelerator& accelerator);

/// Cycles of every layer, in the order of the workload.
/// \throws Error(InvalidArgument) unless rows and columns are 1 to 256, arrays and samples 1 to
/// 2^16.
std::vector<LayerCycles> training_cycles(const Workload& workload,
                                         const Accelerator& accelerator = {});

/// Forward and backward cycles of all layers: what one iteration computes.
std::uint64_t total_cycles(std::span<const LayerCycles> layers);

}  // namespace multitree::study
