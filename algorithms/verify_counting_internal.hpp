// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A proof in linear time that tree-like schedules end with the right values.
#pragma once

#include "algorithms/schedule.hpp"

namespace multitree {

/// True only if every rank that must end with a chunk has each contribution to it exactly once, no
/// transfer lacks its data and no write is in conflict with another. False says nothing. \pre ids
/// are in range, transfers in step order. O(transfers) time, chunks * ranks numbers of memory.
///
/// A value is a set of contributions; only its size is kept. Sets are known to be disjoint because
/// a partial sum that is sent is spent: never is it sent again or added to, it can only be
/// overwritten. Hence a set as large as all contributions is complete, and complete values are the
/// only ones that are copied.
bool proven_by_counting(const Schedule& schedule);

}  // namespace multitree
