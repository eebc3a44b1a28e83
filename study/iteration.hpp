// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Time of a training iteration: computing, and all-reduces of gradients beside it or after it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "study/systolic.hpp"
#include "study/workload.hpp"

namespace multitree::study {

/// What a layer takes and sends; cycles of the accelerator's clock.
struct LayerTask {
  std::uint64_t forward = 0;
  std::uint64_t backward = 0;
  std::uint64_t gradient_bytes = 0;
  bool operator==(const LayerTask&) const = default;
};

/// Layers in forward order, with the gradients of their own weights. \pre as many cycles as layers.
std::vector<LayerTask> layer_tasks(const Workload& workload, std::span<const LayerCycles> cycles,
                                   std::uint64_t bytes_per_parameter = 4);

/// Cycles of an all-reduce of so many bytes on every rank; never asked about 0 bytes.
using AllReduceCycles = std::function<std::uint64_t(std::uint64_t bytes)>;

/// Of an iteration, in cycles; sums that leave 64 bits are the largest number.
struct IterationTime {
  std::uint64_t forward = 0;
  std::uint64_t backward = 0;
  std::uint64_t communication = 0;  ///< that all-reduces take, hidden or not
  std::uint64_t total = 0;
  /// Communication that nothing was computed beside.
  [[nodiscard]] std::uint64_t exposed() const;
  bool operator==(const IterationTime&) const = default;
};

/// Forward and backward pass, then one all-reduce of all gradients together.
IterationTime sequential_iteration(std::span<const LayerTask> layers,
                                   const AllReduceCycles& all_reduce);

/// Layer-wise: the backward pass goes from the last layer to the first, and the all-reduce of a
/// layer starts when its gradients are there and that of the layer before it in that order is done.
/// The iteration ends when computing and communication have.
IterationTime overlapped_iteration(std::span<const LayerTask> layers,
                                   const AllReduceCycles& all_reduce);

}  // namespace multitree::study
