// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network as dimensions of ASTRA-sim's analytical backend: what rank 0 is joined to says which
/// they could be, and the network that they make is compared with the one that is there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "topologies/error.hpp"
#include "topologies/io/astra_network_internal.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/text_internal.hpp"

namespace multitree {
namespace {

/// The ranks that a switch is linked to. Dimensions name their switches by these only.
using Members = std::vector<std::uint32_t>;

/// A link between places: those of ranks have their numbers, those of switches the ones behind
/// them, the same for the same members.
struct PlacedLink {
  std::uint32_t from = 0, to = 0;
  Bandwidth bandwidth;
  Time latency;
  auto operator<=>(const PlacedLink&) const = default;
};

class AstraFinder {
 public:
  explicit AstraFinder(const Topology& topology) : topology_(topology) {
    for (const LinkId link : topology.out_links(topology.node_of(Rank{0}))) {
      first_links_.emplace(topology.link(link).dst, link);
    }
  }

  /// \throws Error(Unsupported) saying why there are none.
  std::vector<AstraDimension> find() {
    check_switches();
    if (topology_.num_ranks() == 1) refuse("a single rank");
    if (grow(1)) return dims_;
    refuse(difference_.empty()
               ? "links of rank 0 that lead to no ring, full mesh or switch of ranks in steps of "
                 "their dimension's stride"
               : difference_);
  }

 private:
  static Members members_of(const Topology& topology, NodeId node) {
    Members ranks;
    for (const LinkId link : topology.out_links(node)) {
      if (const auto rank = topology.node(topology.link(link).dst).rank) {
        ranks.push_back(index(*rank));
      }
    }
    std::ranges::sort(ranks);
    return ranks;
  }

  [[noreturn]] void refuse(const std::string& found) const {
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("ASTRA-sim's analytical network: expected dimensions, each a ring, a "
                    "full mesh or a switch with links of one kind, got {} in {}; other forms: "
                    "'multitree export ns3-network'",
                    found, topology_.name()));
  }

  void check_switches() const {
    for (const Link& link : topology_.links()) {
      const Node &from = topology_.node(link.src), &to = topology_.node(link.dst);
      if (from.is_switch() && to.is_switch()) {
        refuse(fmt::format("a link between the switches {} and {}", from.name, to.name));
      }
    }
  }

  /// Tries all dimensions for coordinates of this stride; largest first, as what is left of a full
  /// mesh is no dimension.
  bool grow(std::uint32_t stride) {
    const std::uint32_t ranks = topology_.num_ranks();
    if (stride == ranks) return used_.size() == first_links_.size() && is_the_network();
    for (std::uint32_t size = ranks / stride; size >= 2; --size) {
      if (ranks / stride % size != 0) continue;
      for (const AstraKind kind : {AstraKind::Switch, AstraKind::FullyConnected, AstraKind::Ring}) {
        // A full mesh of two or three is a ring.
        if (kind == AstraKind::FullyConnected && size <= 3) continue;
        if (try_dimension(kind, size, stride)) return true;
      }
    }
    return false;
  }

  bool try_dimension(AstraKind kind, std::uint32_t size, std::uint32_t stride) {
    const std::vector<NodeId> peers = peers_of(kind, size, stride);
    const auto free = [&](NodeId peer) {
      return first_links_.contains(peer) && !used_.contains(peer);
    };
    if (peers.empty() || !std::ranges::all_of(peers, free)) return false;
    const Link& link = topology_.link(first_links_.at(peers.front()));
    used_.insert(peers.begin(), peers.end());
    dims_.push_back({kind, size, link.bandwidth, link.latency});
    if (grow(stride * size)) return true;
    dims_.pop_back();
    for (const NodeId peer : peers) used_.erase(peer);
    return false;
  }

  /// What rank 0 is linked to in such a dimension.
  [[nodiscard]] std::vector<NodeId> peers_of(AstraKind kind, std::uint32_t size,
                                             std::uint32_t stride) const {
    const auto node = [&](std::uint32_t place) { return topology_.node_of(Rank{place * stride}); };
    std::vector<NodeId> peers;
    if (kind == AstraKind::Ring) {
      peers.push_back(node(1));
      if (size > 2) peers.push_back(node(size - 1));
      return peers;
    }
    if (kind == AstraKind::FullyConnected) {
      if (first_links_.size() < size - 1) return {};
      for (std::uint32_t place = 1; place < size; ++place) peers.push_back(node(place));
      return peers;
    }
    for (const auto& [peer, link] : first_links_) {
      if (!topology_.node(peer).is_switch()) continue;
      const Members ranks = members_of(topology_, peer);
      if (ranks.size() == size && ranks[1] == stride && ranks.back() == (size - 1) * stride) {
        peers.push_back(peer);
      }
    }
    return peers.size() == 1 ? peers : std::vector<NodeId>();
  }

  std::vector<PlacedLink> placed_links(const Topology& topology) {
    std::vector<std::uint32_t> places;
    for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
      const auto rank = topology.node(NodeId{n}).rank;
      const auto next = static_cast<std::uint32_t>(topology.num_ranks() + switches_.size());
      places.push_back(
          rank ? index(*rank)
               : switches_.try_emplace(members_of(topology, NodeId{n}), next).first->second);
    }
    std::vector<PlacedLink> links;
    for (const Link& link : topology.links()) {
      links.push_back(
          {places[index(link.src)], places[index(link.dst)], link.bandwidth, link.latency});
    }
    std::ranges::sort(links);
    return links;
  }

  /// Compares the whole network with what the dimensions make; keeps where they first differ.
  bool is_the_network() {
    const std::vector<PlacedLink> expected = placed_links(astra_network(dims_, topology_.name()));
    const std::vector<PlacedLink> found = placed_links(topology_);
    const auto [there, missing] = std::ranges::mismatch(found, expected);
    if (there == found.end() && missing == expected.end()) return true;
    const bool more = missing == expected.end() || (there != found.end() && *there < *missing);
    difference_ = fmt::format("a network that is not {}: it has {} {}", words(),
                              more ? "also" : "no", words(more ? *there : *missing));
    return false;
  }

  [[nodiscard]] std::string words() const {
    std::vector<std::string> all;
    for (const AstraDimension& dim : dims_) {
      all.push_back(
          fmt::format("{} of {}", kAstraKindNames[static_cast<std::size_t>(dim.kind)], dim.size));
    }
    return fmt::format("{}", fmt::join(all, " by "));
  }

  [[nodiscard]] std::string words(const PlacedLink& link) const {
    const auto place = [&](std::uint32_t number) {
      return number < topology_.num_ranks() ? fmt::format("rank {}", number) : "a switch";
    };
    return fmt::format("link of {} and {} from {} to {}", to_string(link.bandwidth),
                       to_string(link.latency), place(link.from), place(link.to));
  }

  const Topology& topology_;
  std::map<Members, std::uint32_t> switches_;  ///< places of switches
  std::map<NodeId, LinkId> first_links_;       ///< of rank 0, by where they lead
  std::set<NodeId> used_;                      ///< of these, by the dimensions
  std::vector<AstraDimension> dims_;
  std::string difference_;
};

}  // namespace

std::string write_topology_astra(const Topology& topology) {
  std::vector<std::string> kinds, sizes, bandwidths, latencies;
  for (const AstraDimension& dim : AstraFinder(topology).find()) {
    kinds.emplace_back(kAstraKindNames[static_cast<std::size_t>(dim.kind)]);
    sizes.push_back(std::to_string(dim.size));
    bandwidths.push_back(decimal_text(dim.bandwidth.bytes_per_second, 9));
    latencies.push_back(decimal_text(static_cast<std::uint64_t>(dim.latency.picoseconds), 3));
  }
  return fmt::format(
      "topology: [ {} ]\nnpus_count: [ {} ]\nbandwidth: [ {} ]  # GB/s\nlatency: [ {} ]  # ns\n",
      fmt::join(kinds, ", "), fmt::join(sizes, ", "), fmt::join(bandwidths, ", "),
      fmt::join(latencies, ", "));
}

}  // namespace multitree
