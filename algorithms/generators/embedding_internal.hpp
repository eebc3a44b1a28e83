// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where ranks lie in a grid, and cyclic orders of all ranks for ring algorithms.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// The sizes of a network that is a grid, without dimensions of size 1; empty for others.
std::optional<std::vector<std::uint32_t>> grid_dims(const Topology& topology);

/// For each link, its place in an order of directions that is the same at all ranks of a grid:
/// longer dimensions first, then later ones, downwards before upwards. All 0 in other networks and
/// where lines have more than two directions.
std::vector<std::uint32_t> grid_link_preference(const Topology& topology);

/// A cyclic order of a grid's ranks in which neighbours are one link apart, or, in meshes with odd
/// sizes only, a straight run of links that the rest of the cycle uses in the other direction. See
/// embedding.cpp for the drawing.
std::vector<Rank> grid_cycle(std::vector<std::uint32_t> dims);

/// A Hamiltonian cycle over rank-to-rank links that exist in both directions, found by Posa's
/// rotation-extension with a fixed seed and bounded effort; empty if none was found.
std::vector<Rank> find_hamiltonian_cycle(const Topology& topology);

/// A cyclic order of all ranks for ring algorithms, starting at rank 0: grid_cycle(), rank order,
/// nearest neighbour first, or a Hamiltonian cycle, the first with the least contention when every
/// rank sends to the next.
std::vector<Rank> ring_order(const Topology& topology);

}  // namespace multitree
