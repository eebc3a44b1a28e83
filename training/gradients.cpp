// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gradients in the order in which they are made.
#include <algorithm>

#include "training/gradients_internal.hpp"

namespace multitree::training {
namespace {

/// What `add` makes of each layer that has gradients, last layer first.
template <typename Add>
std::vector<Gradient> backwards(const Model& model, const Add& add) {
  std::vector<Gradient> gradients;
  double now = 0;
  for (auto l = static_cast<std::uint32_t>(model.layers.size()); l-- > 0;) {
    now += model.layers[l].backward;
    add(gradients, l, now);
  }
  return gradients;
}

}  // namespace

std::vector<Gradient> tensors_of(const Model& model) {
  return backwards(model, [&](std::vector<Gradient>& all, std::uint32_t l, double now) {
    const std::vector<std::uint64_t>& tensors = model.layers[l].tensors;
    for (auto bytes = tensors.rbegin(); bytes != tensors.rend(); ++bytes) {
      all.push_back({l, l, *bytes, now});
    }
  });
}

std::vector<Gradient> layers_of(const Model& model) {
  return backwards(model, [&](std::vector<Gradient>& all, std::uint32_t l, double now) {
    if (const std::uint64_t bytes = model.layers[l].bytes(); bytes != 0) {
      all.push_back({l, l, bytes, now});
    }
  });
}

Gradient joined(const Gradient& a, const Gradient& b) {
  return {std::min(a.first, b.first), std::max(a.last, b.last), a.bytes + b.bytes,
          std::max(a.ready, b.ready)};
}

std::vector<Gradient> fuse(const std::vector<Gradient>& gradients, std::uint64_t most,
                           std::optional<std::uint64_t> first) {
  std::vector<Gradient> groups;
  for (const Gradient& gradient : gradients) {
    const std::uint64_t limit = groups.size() == 1 ? first.value_or(most) : most;
    if (!groups.empty() && groups.back().bytes + gradient.bytes <= limit) {
      groups.back() = joined(groups.back(), gradient);
    } else {
      groups.push_back(gradient);
    }
  }
  return groups;
}

Transfer transfer_of(const Gradient& gradient, Collective collective) {
  return {.collective = collective,
          .first = gradient.first,
          .last = gradient.last,
          .bytes = gradient.bytes,
          .ready = gradient.ready};
}

}  // namespace multitree::training
