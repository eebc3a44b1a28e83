// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What communication costs, as policies see it.
#pragma once

#include <cstdint>

#include "algorithms/collective.hpp"

namespace multitree::training {

/// Time of a collective that has the network for itself: start + per_byte * bytes.
struct Affine {
  double start = 0;     ///< seconds
  double per_byte = 0;  ///< seconds
  [[nodiscard]] double seconds(std::uint64_t bytes) const {
    return start + per_byte * static_cast<double>(bytes);
  }
};

/// Of the collectives that gradients go through; `call` is what the program takes to start one
/// (Horovod's ranks agree on what is ready), while the network is idle.
struct Costs {
  Affine all_reduce, reduce_scatter, all_gather;
  Affine push_pull;       ///< through parameter servers at all ranks: gradients there, sums back
  double call = 0;        ///< seconds
  bool switched = false;  ///< messages of collectives under way at once meet at ports of switches

  /// Where scattering and gathering each take half of an all-reduce, as with rings and wherever all
  /// trees are used both ways.
  static Costs symmetric(Affine all_reduce, double call = 0) {
    const Affine half{all_reduce.start / 2, all_reduce.per_byte / 2};
    return {all_reduce, half, half, all_reduce, call, false};
  }
};

}  // namespace multitree::training
