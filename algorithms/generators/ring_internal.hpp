// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages of rings, for the algorithms made of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/pack.hpp"

namespace multitree {

/// The chunks that belong to a position of a ring.
using RingChunks = std::function<std::vector<std::uint32_t>(std::size_t position)>;

/// The n-1 rounds in which the chunks of every position pass all ranks of the ring, starting at
/// `order[position]`: Copy gathers them everywhere; with Reduce each gets complete at the rank
/// before its position.
void add_ring_rotation(std::span<const Rank> order, const RingChunks& chunks, Op op,
                       std::vector<Message>& messages);

/// One chunk passed on along the cycle from `root` to the rank before it.
void add_chain(std::span<const Rank> cycle, Rank root, std::uint32_t chunk,
               std::vector<Message>& messages);

}  // namespace multitree
