// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What absolute and relative tables share.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/table/table.hpp"

namespace multitree::nic {

/// An entry and the transfer of the schedule that it is.
struct PlacedEntry {
  Entry entry;
  std::uint32_t transfer = 0;
};

/// Of each rank: its entries, sorted as in Tables. \pre as compile_tables().
std::vector<std::vector<PlacedEntry>> place_entries(const Schedule& schedule,
                                                    const Topology& topology,
                                                    std::uint64_t elements);

/// By step, then op, flow, piece, peer, port.
void sort_entries(std::vector<Entry>& entries);

/// With a Nop for each step that has no entry. \pre sorted.
std::vector<Entry> with_nops(const std::vector<Entry>& entries, std::uint32_t steps);

}  // namespace multitree::nic
