// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// HDRM, halving-doubling with rank mapping: J. Dong et al.: "EFLOPS: Algorithm and System
/// Co-Design for a High Performance Distributed Training Platform", HPCA 2020
/// (DOI 10.1109/HPCA47549.2020.00056).
///
/// A BiGraph has two layers of switches with all links between layers. Labels with an even number
/// of ones are mapped to the upper layer, the others to the lower, so partners, which differ in one
/// bit, are always in opposite layers. Of a label's d bits the lowest follows from the others by
/// parity:
///
///   upper layer:   [ switch: high a bits |   slot    ] p         a = log2(switches per layer)
///   lower layer:   [   slot    | switch: low a bits  ] p         d - 1 = a + log2(ranks per
///   switch)
///
/// The message of label x to its partner uses the link from switch high(x) to switch low(x'), where
/// x' is x with one bit flipped, the same bit for all in a round. If 2a >= d - 1 these two say what
/// x is: no two messages of a round share a link.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/recursive_doubling_internal.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

/// The ranks of each switch of a BiGraph's layer.
using Layer = std::vector<std::vector<Rank>>;
struct Layers {
  Layer upper, lower;
};

/// Splits the switches by their links: those next to the first rank's switch are the other layer.
/// Empty if the ranks are not spread evenly over two equal layers.
std::optional<Layers> find_layers(const Topology& topology) {
  std::map<NodeId, std::vector<Rank>> ranks_of;  // in the order of switches
  for (std::uint32_t rank = 0; rank < topology.num_ranks(); ++rank) {
    const auto links = topology.out_links(topology.node_of(Rank{rank}));
    if (links.empty()) return std::nullopt;
    const NodeId at = topology.link(links[0]).dst;
    if (!topology.node(at).is_switch()) return std::nullopt;
    ranks_of[at].push_back(Rank{rank});
  }
  const NodeId first = ranks_of.begin()->first;
  Layers layers;
  for (auto& [node, ranks] : ranks_of) {
    const bool opposite = std::ranges::any_of(topology.out_links(first), [&, at = node](LinkId id) {
      return topology.link(id).dst == at;
    });
    (opposite ? layers.lower : layers.upper).push_back(std::move(ranks));
  }
  const std::size_t each = layers.upper[0].size();
  const auto even = [&](const Layer& layer) {
    return std::ranges::all_of(layer, [&](const auto& ranks) { return ranks.size() == each; });
  };
  if (layers.upper.size() != layers.lower.size() || !even(layers.upper) || !even(layers.lower)) {
    return std::nullopt;
  }
  return layers;
}

std::optional<std::string> hdrm_unsupported(const Topology& topology) {
  if (!structure_of(topology).facing_layers) {
    return fmt::format("hdrm needs a bigraph, {} is not one", topology.name());
  }
  if (!std::has_single_bit(topology.num_ranks())) {
    return fmt::format("hdrm needs a power of two of ranks, {} has {}", topology.name(),
                       topology.num_ranks());
  }
  if (!find_layers(topology)) {
    return fmt::format("hdrm needs ranks spread evenly over two layers of switches, {} has not",
                       topology.name());
  }
  return std::nullopt;
}

/// The rank of each label.
std::vector<Rank> map_labels(const Topology& topology) {
  const Layers layers = *find_layers(topology);
  const auto each = static_cast<std::uint32_t>(layers.upper[0].size());
  const auto switches = static_cast<std::uint32_t>(layers.upper.size());
  std::vector<Rank> ranks;
  for (std::uint32_t label = 0; label < topology.num_ranks(); ++label) {
    const std::uint32_t bits = label / 2;
    const bool is_upper = std::popcount(label) % 2 == 0;
    ranks.push_back(is_upper ? layers.upper[bits / each][bits % each]
                             : layers.lower[bits % switches][bits / switches]);
  }
  return ranks;
}

Schedule hdrm_all_gather(const Topology& topology, const Spec&) {
  const std::vector<Rank> ranks = map_labels(topology);
  std::vector<Message> messages;
  add_doubling(
      ranks, [&](std::uint32_t label) { return std::vector{index(ranks[label])}; }, messages);
  return pack(all_gather_header(topology), messages, topology);
}

/// Labels counted from the root's: flipping bits of all labels keeps partners partners.
Schedule hdrm_broadcast(const Topology& topology, Rank root, const Spec&) {
  const std::vector<Rank> ranks = map_labels(topology);
  const auto root_label =
      static_cast<std::uint32_t>(std::ranges::find(ranks, root) - ranks.begin());
  std::vector<Rank> from_root;
  for (std::uint32_t label = 0; label < ranks.size(); ++label) {
    from_root.push_back(ranks[label ^ root_label]);
  }
  std::vector<Message> messages;
  add_scatter_doubling(from_root, messages);
  return pack(broadcast_header(topology, root, topology.num_ranks()), messages, topology);
}

}  // namespace

Algorithm hdrm_algorithm() {
  return {.name = "hdrm",
          .summary = "halving-doubling on a BiGraph, ranks mapped so that no link is shared",
          .source = "Dong et al. (EFLOPS), HPCA 2020",
          .unsupported = hdrm_unsupported,
          .all_gather = hdrm_all_gather,
          .broadcast = hdrm_broadcast};
}

}  // namespace multitree
