// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the network is: ranks, switches and directed links, immutable once built.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/units.hpp"

namespace multitree {

/// An endpoint that owns data: 0 .. num_ranks()-1 (NCCL rank, TACOS NPU, MSCCL gpu id).
enum class Rank : std::uint32_t {};
/// A vertex, endpoint or switch: 0 .. num_nodes()-1.
enum class NodeId : std::uint32_t {};
/// A directed edge: 0 .. num_links()-1.
enum class LinkId : std::uint32_t {};

[[nodiscard]] constexpr std::uint32_t index(Rank rank) { return static_cast<std::uint32_t>(rank); }
[[nodiscard]] constexpr std::uint32_t index(NodeId node) {
  return static_cast<std::uint32_t>(node);
}
[[nodiscard]] constexpr std::uint32_t index(LinkId link) {
  return static_cast<std::uint32_t>(link);
}

/// What a switch does beyond sending each message that it gets to one output.
struct SwitchAbilities {
  bool adds = false;    ///< sums messages from several inputs into one (in-network reduction)
  bool copies = false;  ///< sends one message to several outputs (multicast)
  /// How many messages it sums or copies in one step of a schedule; 0: any number.
  std::uint32_t at_once = 0;
  bool operator==(const SwitchAbilities&) const = default;
  [[nodiscard]] bool any() const { return adds || copies; }
};

/// A vertex. An endpoint carries a rank and, as in direct networks, a router: it can forward.
struct Node {
  std::string name;                ///< unique, not empty, UTF-8 without control characters
  std::optional<Rank> rank;        ///< empty for a switch
  SwitchAbilities abilities = {};  ///< none at an endpoint
  bool operator==(const Node&) const = default;
  [[nodiscard]] bool is_switch() const { return !rank.has_value(); }
};

/// A directed link. Parallel links are separate Links.
struct Link {
  NodeId src{};
  NodeId dst{};
  Bandwidth bandwidth;  ///< > 0; one over beta
  Time latency;         ///< >= 0; the alpha part
  bool operator==(const Link&) const = default;
};

/// How a generator laid the ranks out, for algorithms that use it (ring embeddings, HDRM).
/// Rank r of a grid has coordinates r = x0 + d0*(x1 + d1*(x2 + ...)). Empty family: no known
/// layout.
struct Shape {
  std::string family;               ///< "torus", "mesh", "bigraph", ...
  std::vector<std::uint32_t> dims;  ///< its sizes, as in the spec string
  bool operator==(const Shape&) const = default;
};

/// A validated network. Build one with TopologyBuilder, make_topology() or read_topology().
class Topology {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::uint32_t num_ranks() const {
    return static_cast<std::uint32_t>(ranks_.size());
  }
  [[nodiscard]] std::uint32_t num_nodes() const {
    return static_cast<std::uint32_t>(nodes_.size());
  }
  [[nodiscard]] std::uint32_t num_links() const {
    return static_cast<std::uint32_t>(links_.size());
  }
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[index(id)]; }
  [[nodiscard]] const Link& link(LinkId id) const { return links_[index(id)]; }
  [[nodiscard]] NodeId node_of(Rank rank) const { return ranks_[index(rank)]; }
  /// Links that leave (enter) a node, in ascending LinkId.
  [[nodiscard]] std::span<const LinkId> out_links(NodeId id) const;
  [[nodiscard]] std::span<const LinkId> in_links(NodeId id) const;
  [[nodiscard]] bool has_switches() const { return nodes_.size() != ranks_.size(); }
  /// Whether some switch adds or copies.
  [[nodiscard]] bool has_abilities() const { return has_abilities_; }

  /// The slowest link's bandwidth: one schedule step moves one unit chunk over such a link.
  /// 0 if there are no links.
  [[nodiscard]] Bandwidth unit_bandwidth() const { return unit_bandwidth_; }
  /// How many transfers of one step a link has room for: floor(bandwidth / unit_bandwidth()),
  /// at most 2^20.
  [[nodiscard]] std::uint32_t slots(LinkId id) const { return slots_[index(id)]; }
  /// The link's mate in the opposite direction with the same bandwidth and latency, a pairing
  /// without repetition; empty where the network has none.
  [[nodiscard]] std::optional<LinkId> mate(LinkId id) const;
  /// True if every link has a mate.
  [[nodiscard]] bool is_symmetric() const { return symmetric_; }
  /// The same network with every link turned around; LinkIds keep their meaning. As time runs
  /// backwards there, switches that add copy, and those that copy add. O(nodes + links).
  [[nodiscard]] Topology transposed() const;

  bool operator==(const Topology& other) const;

 private:
  friend class TopologyBuilder;
  Topology() = default;
  void index_links();

  std::string name_;
  Shape shape_;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<NodeId> ranks_;
  // Compressed rows: links of node v are out_[out_begin_[v]] .. out_[out_begin_[v+1]-1].
  std::vector<std::uint32_t> out_begin_, in_begin_;
  std::vector<LinkId> out_, in_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> mates_;
  Bandwidth unit_bandwidth_;
  bool symmetric_ = false;
  bool has_abilities_ = false;
};

/// Collects nodes and links, then validates them all at once.
class TopologyBuilder {
 public:
  explicit TopologyBuilder(std::string name);

  /// Adds an endpoint with the highest rank so far plus one; an empty name becomes "n<rank>".
  NodeId add_endpoint(std::string name = {});
  /// Adds an endpoint with a given rank.
  NodeId add_endpoint(std::string name, Rank rank);
  NodeId add_switch(std::string name, SwitchAbilities abilities = {});
  /// An endpoint or switch as another network has it.
  NodeId add_node(Node node);
  LinkId add_link(NodeId src, NodeId dst, Bandwidth bandwidth, Time latency);
  /// Both directions: add_link(a, b) then add_link(b, a).
  void add_duplex(NodeId a, NodeId b, Bandwidth bandwidth, Time latency);
  void set_shape(Shape shape);

  /// \throws Error(InvalidInput): no rank; ranks not dense or repeated; names empty or repeated; a
  /// link from a node to itself or to a node that does not exist, with bandwidth 0, a negative
  /// latency or one above 1s; a rank that another rank cannot reach; an endpoint with abilities, a
  /// number of messages at once where there are no abilities.
  [[nodiscard]] Topology build() &&;

 private:
  Topology topology_;
  std::uint32_t next_rank_ = 0;
};

}  // namespace multitree
