// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Chunks as runs of equal units: other formats know no weights.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"

namespace multitree::interchange {

/// The buffer as `total` units; chunk c is the `count[c]` units from `offset[c]` on. Where each
/// rank has a shard (reduce-scatter, all-gather), rank r's is the `shard` units from r * shard on.
struct UnitLayout {
  std::vector<std::uint32_t> offset, count;
  std::uint32_t total = 0;
  std::uint32_t shard = 0;
};

/// Whether MSCCL and MSCCL++ have a collective: not those that bring shards to or from a root.
[[nodiscard]] bool has_program(Collective collective);

/// The coarsest such layout. \pre has_program(schedule.collective), else Error(Unsupported).
/// \throws Error(Unsupported) if it has more than 2^30 units.
UnitLayout unit_layout(const Schedule& schedule);

}  // namespace multitree::interchange
