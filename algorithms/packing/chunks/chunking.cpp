// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exact chunk weights.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "algorithms/packing/chunks/chunking_internal.hpp"

namespace multitree {
namespace {

using Wide = unsigned __int128;
constexpr std::uint64_t kMaxWeight = std::numeric_limits<std::uint32_t>::max();

/// Trees that divide one thing: the buffer, or the shard of a root.
struct Share {
  Wide weight = 0;
  std::uint32_t trees = 0;
};

std::vector<std::uint32_t> chunk_counts(const TreePacking& packing, std::uint32_t segments) {
  const bool sharded = is_sharded(packing.collective);
  std::map<Rank, Share> shares;
  const auto share = [&](const PackedTree& tree) -> Share& {
    return shares[sharded ? tree.root : Rank{0}];
  };
  for (const PackedTree& tree : packing.trees) {
    share(tree).weight += tree.weight;
    ++share(tree).trees;
  }
  std::vector<std::uint32_t> counts;
  for (const PackedTree& tree : packing.trees) {
    const Share& whole = share(tree);
    const Wide pieces = Wide{tree.weight} * whole.trees * segments;
    counts.push_back(
        static_cast<std::uint32_t>(std::max<Wide>(1, (pieces + whole.weight / 2) / whole.weight)));
  }
  return counts;
}

/// What to multiply the trees' weights by so that each is a multiple of its number of chunks;
/// nothing if a chunk's weight would not fit into 32 bits.
std::optional<Wide> even_scale(const std::vector<std::uint64_t>& weights,
                               const std::vector<std::uint32_t>& counts) {
  Wide scale = 1;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::uint64_t needed = counts[i] / std::gcd<std::uint64_t>(counts[i], weights[i]);
    scale *= needed / std::gcd(static_cast<std::uint64_t>(scale), needed);
    if (scale > kMaxWeight) return std::nullopt;
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (scale * weights[i] / counts[i] > kMaxWeight) return std::nullopt;
  }
  return scale;
}

/// The tree weights that chunk weights shall add up to: multiplied so that chunks can be equal, or
/// as large as they can be if they cannot, so that a difference of one is little.
std::vector<Wide> scaled_weights(const std::vector<std::uint64_t>& weights,
                                 const std::vector<std::uint32_t>& counts) {
  std::vector<Wide> scaled(weights.begin(), weights.end());
  if (const auto scale = even_scale(weights, counts)) {
    for (Wide& weight : scaled) weight *= *scale;
    return scaled;
  }
  Wide heaviest = 1;  // chunk, rounded up
  for (std::size_t i = 0; i < weights.size(); ++i) {
    heaviest = std::max(heaviest, (Wide{weights[i]} + counts[i] - 1) / counts[i]);
  }
  // Larger ones are exact, too, as long as the sum can be counted.
  const Wide all = std::accumulate(scaled.begin(), scaled.end(), Wide{0});
  const Wide most = Wide{kMaxWeights} - scaled.size();
  const Wide divisor = (all + most - 1) / most;
  const Wide factor = std::max<Wide>(1, kMaxWeight / heaviest);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    scaled[i] = divisor > 1 ? std::max<Wide>(counts[i], scaled[i] / divisor) : scaled[i] * factor;
  }
  return scaled;
}

}  // namespace

Chunking cut_into_chunks(const TreePacking& packing, std::uint32_t segments) {
  return cut_into_chunks(packing, chunk_counts(packing, segments));
}

Chunking cut_into_chunks(const TreePacking& packing, const std::vector<std::uint32_t>& counts) {
  std::vector<std::uint64_t> weights;
  std::uint64_t common = 0;
  for (const PackedTree& tree : packing.trees) common = std::gcd(common, tree.weight);
  for (const PackedTree& tree : packing.trees) weights.push_back(tree.weight / common);
  const std::vector<Wide> scaled = scaled_weights(weights, counts);
  Chunking result;
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    result.first.push_back(static_cast<std::uint32_t>(result.chunks.size()));
    for (std::uint32_t s = 0; s < counts[i]; ++s) {
      const Wide weight = scaled[i] * (s + 1) / counts[i] - scaled[i] * s / counts[i];
      result.chunks.push_back(
          Chunk::rooted(packing.trees[i].root, i, static_cast<std::uint64_t>(weight)));
    }
  }
  result.first.push_back(static_cast<std::uint32_t>(result.chunks.size()));
  return result;
}

}  // namespace multitree
