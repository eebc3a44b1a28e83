// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/packing/chunks/pipeline.hpp"

#include <algorithm>
#include <cmath>

namespace multitree {

std::uint32_t pipeline_segments(const TreePacking& packing, const Topology& topology,
                                std::uint32_t hops, std::uint64_t bytes, const Pipeline& pipeline) {
  if (hops == 0 || packing.ranks < 2) return 1;
  const double steps_per_chunk = load(packing, topology).convert_to<double>() / packing.ranks;
  const double wanted = hops / (pipeline.fill * steps_per_chunk);
  const PackedTree& tree = packing.trees.front();
  const std::uint64_t arcs = std::max<std::uint64_t>(1, tree.gather.size() + tree.reduce.size());
  const std::uint64_t most = std::min(bytes / pipeline.least_bytes, pipeline.most_transfers / arcs);
  const double chunks = std::min(wanted, static_cast<double>(most));
  return static_cast<std::uint32_t>(
      std::max(1.0, std::ceil(chunks / static_cast<double>(packing.trees.size()))));
}

}  // namespace multitree
