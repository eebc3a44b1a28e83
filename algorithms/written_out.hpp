// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How many ranks can be worked out one by one: the one place of the limit, and of its words.
#pragma once

#include <cstdint>

#include "topologies/topology.hpp"

namespace multitree {

/// Beyond, messages of every rank to every other take minutes and tens of gigabytes.
inline constexpr std::uint32_t kMostWrittenOut = 1U << 15;

/// Whether the messages and cuts of every rank can be worked out one by one, which everything does
/// that makes a whole schedule or its bounds. \throws Error(Unsupported): there are too many ranks,
/// with the memory that would take
void check_written_out(const Topology& topology);

}  // namespace multitree
