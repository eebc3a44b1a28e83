// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What absolute and relative tables share.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/table/table.hpp"

namespace multitree::nic {

/// By step, then op, flow, piece, peer.
void sort_entries(std::vector<Entry>& entries);

/// With a Nop for each step that has no entry. \pre sorted.
std::vector<Entry> with_nops(const std::vector<Entry>& entries, std::uint32_t steps);

}  // namespace multitree::nic
