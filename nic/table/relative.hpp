// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One table for all ranks of a network that looks the same from each of them.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/symmetric/symmetric_schedule.hpp"
#include "nic/table/table.hpp"

namespace multitree::nic {

/// The table of rank 0 with everything as seen from there: `flow` is offset * chunks + which chunk,
/// rank r's owner being r * offset in the group (r + offset, coordinate by coordinate, on a torus;
/// r xor offset on a hypercube); `peer` is the generator as an element, `port` its number; `start`
/// is 0, for it is flow times size. A route is a generator: its peer and port, no hops and ejection
/// 0, for they depend on how the network numbers its links. Among the sums that arrive in one step,
/// `turn` follows the order at rank 0 and not that of the ranks, so sums may round differently from
/// the absolute tables'. O(ranks * chunks) however many ranks there are. \throws
/// Error(InvalidArgument) if the elements are not a multiple of all chunks.
Tables compile_relative_tables(const SymmetricSchedule& schedule, const TableOptions& options);

/// What the relative table is for one rank. `port` stays the generator, `route` an index into the
/// relative table's routes.
/// \pre `relative` is compiled from a schedule on this graph.
std::vector<Entry> entries_of(const Tables& relative, const CayleyGraph& graph, Rank rank);

}  // namespace multitree::nic
