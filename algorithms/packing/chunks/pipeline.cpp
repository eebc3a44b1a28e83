// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/packing/chunks/pipeline.hpp"

#include <algorithm>
#include <cmath>

namespace multitree {
namespace {

/// Of a chunk on the network's fastest links, see Pipeline::least_bytes.
std::uint64_t least_bytes(const Pipeline& pipeline, const Topology& topology) {
  constexpr double kFast = 16e9;
  double fastest = 0;
  for (const Link& link : topology.links()) {
    fastest = std::max(fastest, static_cast<double>(link.bandwidth.bytes_per_second));
  }
  const double share = std::min(1.0, fastest / kFast);
  const auto slower = static_cast<std::uint64_t>(static_cast<double>(pipeline.least_bytes) * share);
  return std::max(slower, std::min(pipeline.least_bytes, kLeastChunk));
}

/// Transfers of a chunk of the first tree, which those of others have about as many as.
std::uint64_t arcs_of_first(const TreePacking& packing) {
  const PackedTree& tree = packing.trees.front();
  return std::max<std::uint64_t>(1, tree.gather.size() + tree.reduce.size());
}

}  // namespace

std::uint32_t pipeline_segments(const TreePacking& packing, const Topology& topology,
                                std::uint32_t hops, std::uint64_t bytes, const Pipeline& pipeline) {
  if (hops == 0 || packing.ranks < 2) return 1;
  const double steps_per_chunk = load(packing, topology).convert_to<double>() / packing.ranks;
  const double wanted = hops / (pipeline.fill * steps_per_chunk);
  const std::uint64_t most = std::min(bytes / least_bytes(pipeline, topology),
                                      pipeline.most_transfers / arcs_of_first(packing));
  const double chunks = std::min(wanted, static_cast<double>(most));
  return static_cast<std::uint32_t>(
      std::max(1.0, std::ceil(chunks / static_cast<double>(packing.trees.size()))));
}

std::uint32_t piece_segments(const TreePacking& packing, std::uint64_t bytes, std::uint64_t piece,
                             std::uint64_t most_transfers) {
  if (packing.ranks < 2) return 1;
  const std::uint64_t trees = packing.trees.size();
  const std::uint64_t wanted = (bytes / trees + piece - 1) / piece;
  const std::uint64_t most = most_transfers / arcs_of_first(packing) / trees;
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, std::min(wanted, most)));
}

}  // namespace multitree
