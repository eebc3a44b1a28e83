// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How many spanning trees on how much capacity, and the packing of them.
#include "algorithms/packing/trees/spanning_trees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "algorithms/certificate/strength.hpp"
#include "algorithms/packing/trees/spanning_trees_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max() / 2;

/// Trees that are kept apart from the start; more of them are bundled.
constexpr std::uint32_t kMaxBundles = 256;

std::int64_t total_bandwidth(const DuplexNetwork& network) {
  std::int64_t total = 0;
  for (const std::int64_t bandwidth : network.bandwidth) total += bandwidth;
  return total;
}

/// Strength in the network's units of bandwidth.
Exact strength_in_units(const DuplexNetwork& network, const Topology& topology) {
  const Link& link = topology.link(network.there.front());
  const Exact slowest(topology.unit_bandwidth().bytes_per_second);
  return strength(topology).value * slowest * Exact(network.bandwidth.front()) /
         Exact(link.bandwidth.bytes_per_second);
}

std::int64_t to_int64(const boost::multiprecision::cpp_int& value, const Topology& topology) {
  if (value > kMax) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: bandwidths have no common unit coarse enough for an exact packing "
                            "of spanning trees; round them, for example to 1MB/s",
                            topology.name()));
  }
  return static_cast<std::int64_t>(value);
}

/// strength = p/q: p trees on q times the bandwidths.
BundlePacking pack_exactly(const DuplexNetwork& network, const Topology& topology) {
  const Exact value = strength_in_units(network, topology);
  const std::int64_t trees = to_int64(numerator(value), topology);
  const std::int64_t factor = to_int64(denominator(value), topology);
  to_int64(boost::multiprecision::cpp_int(factor) * total_bandwidth(network), topology);
  std::vector<std::int64_t> capacity;
  for (const std::int64_t bandwidth : network.bandwidth) capacity.push_back(bandwidth * factor);
  const auto bundles = static_cast<std::uint32_t>(std::min<std::int64_t>(trees, kMaxBundles));
  BundlePacking packing = grow_bundles(network, std::move(capacity), trees, bundles);
  if (resolve_overload(packing)) {
    throw std::logic_error(topology.name() + ": strength() says more than can be packed");
  }
  return packing;
}

/// A multiple of the bandwidths, as a fraction.
struct Scale {
  std::int64_t over = 1, under = 1;
  [[nodiscard]] std::int64_t floor_of(std::int64_t bandwidth) const {
    return static_cast<std::int64_t>(__int128{bandwidth} * over / under);
  }
  bool operator<(const Scale& other) const {
    return __int128{over} * other.under < __int128{other.over} * under;
  }
};

/// The least multiple, not below `scale`, at which whole trees find enough room between the
/// classes.
Scale least_scale(Scale scale, std::int64_t trees, const std::vector<std::uint32_t>& classes,
                  const DuplexNetwork& network) {
  std::vector<std::uint32_t> distinct = classes;
  std::ranges::sort(distinct);
  const auto count = std::unique(distinct.begin(), distinct.end()) - distinct.begin();
  const std::int64_t needed = trees * (count - 1);
  for (;;) {
    std::int64_t room = 0;
    Scale next{std::numeric_limits<std::int64_t>::max(), 1};
    for (std::size_t e = 0; e < network.edges.size(); ++e) {
      if (classes[network.edges[e].a] == classes[network.edges[e].b]) continue;
      const std::int64_t bandwidth = network.bandwidth[e], floor = scale.floor_of(bandwidth);
      room += floor;
      next = std::min(next, Scale{floor + 1, bandwidth});
    }
    if (room >= needed) return scale;
    scale = next;
  }
}

/// Newton's method on the multiple of the bandwidths that so many trees need.
BundlePacking pack_trees(std::uint32_t trees, const DuplexNetwork& network) {
  std::vector<std::uint32_t> classes(network.nodes);
  for (std::uint32_t v = 0; v < network.nodes; ++v) classes[v] = v;
  Scale scale{0, 1};
  for (;;) {
    scale = least_scale(scale, trees, classes, network);
    std::vector<std::int64_t> capacity;
    for (const std::int64_t bandwidth : network.bandwidth) {
      capacity.push_back(scale.floor_of(bandwidth));
    }
    BundlePacking packing = grow_bundles(network, std::move(capacity), trees, trees);
    auto too_few = resolve_overload(packing);
    if (!too_few) return packing;
    classes = std::move(*too_few);
  }
}

}  // namespace

TreePacking pack_spanning_trees(const Topology& topology, std::uint32_t trees) {
  const DuplexNetwork network = duplex_network(topology);
  if (network.nodes == 1) {
    BundlePacking single{&network, {}, {}, std::vector<TreeBundle>(std::max(1U, trees))};
    for (TreeBundle& bundle : single.bundles) {
      bundle.parent = bundle.depth = {0};
      bundle.edge = {kNoEdge};
    }
    return to_tree_packing(single, topology);
  }
  return to_tree_packing(trees == 0 ? pack_exactly(network, topology) : pack_trees(trees, network),
                         topology);
}

}  // namespace multitree
