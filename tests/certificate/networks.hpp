// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random and special networks for the tests of certificates.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree::test {

/// A connected network of ranks with links of 1 to `most` GB/s both ways, some of them parallel.
Topology random_direct(std::mt19937_64& random, std::uint32_t ranks, std::uint32_t extra,
                       std::uint32_t most);

/// A strongly connected network with switches and links one way, of 1 to `most` GB/s.
Topology random_switched(std::mt19937_64& random, std::uint32_t ranks, std::uint32_t switches,
                         std::uint32_t most);

/// Boxes of GPUs: `inside` GB/s to the box's switch, 1 GB/s to the switch between the boxes.
Topology boxes(const std::vector<std::uint32_t>& gpus, std::uint32_t inside);

}  // namespace multitree::test
