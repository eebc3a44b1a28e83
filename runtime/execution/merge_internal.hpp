// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Coarser schedules, where messages would be so small that they cost more than they carry.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "algorithms/schedule.hpp"

namespace multitree::runtime {

/// The schedule with neighbouring chunks of one tree merged, in which every element is summed in
/// the same order as before; nothing if there is nothing to merge. A merged chunk moves when its
/// first chunk did.
///
/// `ranges`: elements of each chunk (chunk_ranges()). A merged chunk has about `most` bytes where
/// its tree has many of these, and less, down to a quarter, where it has few: a tree is a pipeline,
/// and takes a message more for each hop.
std::optional<Schedule> merge_chunks(const Schedule& schedule, std::span<const ElementRange> ranges,
                                     std::size_t element_bytes, std::size_t most);

}  // namespace multitree::runtime
