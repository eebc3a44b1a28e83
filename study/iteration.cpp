// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums and maxima over the layers of an iteration.
#include "study/iteration.hpp"

#include <algorithm>

#include "study/saturate_internal.hpp"

namespace multitree::study {
namespace {

std::uint64_t cost(std::uint64_t bytes, const AllReduceCycles& all_reduce) {
  return bytes == 0 ? 0 : all_reduce(bytes);
}

}  // namespace

std::uint64_t IterationTime::exposed() const { return total - saturating_add(forward, backward); }

std::vector<LayerTask> layer_tasks(const Workload& workload, std::span<const LayerCycles> cycles,
                                   std::uint64_t bytes_per_parameter) {
  std::vector<LayerTask> tasks;
  tasks.reserve(cycles.size());
  for (std::size_t i = 0; i < cycles.size(); ++i) {
    tasks.push_back({.forward = cycles[i].forward,
                     .backward = cycles[i].backward(),
                     .gradient_bytes =
                         saturating_multiply(workload.layers[i].parameters, bytes_per_parameter)});
  }
  return tasks;
}

IterationTime sequential_iteration(std::span<const LayerTask> layers,
                                   const AllReduceCycles& all_reduce) {
  IterationTime time;
  std::uint64_t bytes = 0;
  for (const LayerTask& layer : layers) {
    time.forward = saturating_add(time.forward, layer.forward);
    time.backward = saturating_add(time.backward, layer.backward);
    bytes = saturating_add(bytes, layer.gradient_bytes);
  }
  time.communication = cost(bytes, all_reduce);
  time.total = saturating_add(saturating_add(time.forward, time.backward), time.communication);
  return time;
}

IterationTime overlapped_iteration(std::span<const LayerTask> layers,
                                   const AllReduceCycles& all_reduce) {
  IterationTime time;
  for (const LayerTask& layer : layers) time.forward = saturating_add(time.forward, layer.forward);
  std::uint64_t channel_free = 0;
  for (auto task = layers.rbegin(); task != layers.rend(); ++task) {
    const LayerTask& layer = *task;
    time.backward = saturating_add(time.backward, layer.backward);
    if (layer.gradient_bytes == 0) continue;
    const std::uint64_t ready = saturating_add(time.forward, time.backward);
    const std::uint64_t busy = all_reduce(layer.gradient_bytes);
    time.communication = saturating_add(time.communication, busy);
    channel_free = saturating_add(std::max(channel_free, ready), busy);
  }
  time.total = std::max(saturating_add(time.forward, time.backward), channel_free);
  return time;
}

}  // namespace multitree::study
