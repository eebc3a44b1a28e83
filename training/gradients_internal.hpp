// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gradients in the order in which they are made, and groups of them that travel as one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "training/iteration.hpp"

namespace multitree::training {

/// What is summed up as one: a tensor, a layer, or a group of either. What Transfer starts from.
struct Gradient {
  std::uint32_t first = 0, last = 0;  ///< layers, in forward order
  std::uint64_t bytes = 0;
  double ready = 0;  ///< seconds from the start of the backward pass
};

/// Last layer first.
std::vector<Gradient> tensors_of(const Model& model);
std::vector<Gradient> layers_of(const Model& model);

/// Neighbours together, in their order: a group is closed before it would exceed `most` bytes, the
/// first one `first`. One gradient may exceed it alone.
std::vector<Gradient> fuse(const std::vector<Gradient>& gradients, std::uint64_t most,
                           std::optional<std::uint64_t> first = std::nullopt);

/// Two neighbours as one.
Gradient joined(const Gradient& a, const Gradient& b);

Transfer transfer_of(const Gradient& gradient, Collective collective = Collective::AllReduce);

}  // namespace multitree::training
