// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What links take, measured rather than declared.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/cost.hpp"
#include "topologies/remaining_network.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Times of a network's links, by the names of its nodes.
struct LinkTable {
  struct Entry {
    std::string from, to;
    Time latency;
    Bandwidth bandwidth;  ///< of each, where several are parallel
    bool operator==(const Entry&) const = default;
  };
  /// Nodes whose ranks share processors, and memory where there is a bandwidth (SharedHost).
  struct Host {
    std::vector<std::string> nodes;
    Time message;
    Bandwidth bandwidth{};
    std::uint32_t awake = 100;  ///< SharedHost::awake_percent
    bool operator==(const Host&) const = default;
  };
  /// What was found to be the fastest for calls of one size, while it was used.
  struct Choice {
    Collective collective{};
    std::uint64_t bytes = 0;  ///< of the whole vector
    std::string spec;         ///< an algorithm with its options
    bool operator==(const Choice&) const = default;
  };
  std::string topology;   ///< that it was made for; for people
  Time message_overhead;  ///< CostModel::message_overhead
  std::vector<Entry> links;
  std::vector<Host> hosts = {};
  std::uint64_t segment_bytes = 0;   ///< CostModel::segment_bytes
  std::uint64_t burst_bytes = 0;     ///< CostModel::burst_bytes
  Time message_latency{};            ///< CostModel::message_latency
  std::uint32_t together = 100;      ///< CostModel::together_percent
  std::vector<Choice> choices = {};  ///< at most one for each collective and size
  bool operator==(const LinkTable&) const = default;
};

/// The same network with the table's latencies and bandwidths; LinkIds keep their meaning. For
/// predictions: what generators make of it is as uneven as the measurement.
/// \throws Error(InvalidInput) naming a link that the table lacks, or a latency above 1s.
Topology with_times(const Topology& topology, const LinkTable& table);

/// The links of `topology` between those ranks have so much of their bandwidths in the table now.
void slow_down(LinkTable& table, const Topology& topology, std::span<const SlowLink> links);

/// What its messages cost beyond links, for elements of 4 bytes and parallel links that are one;
/// nodes that the network lacks do not count.
CostModel cost_model(const Topology& topology, const LinkTable& table);

/// Canonical, byte-stable; a link or host is one line.
std::string write_link_table_json(const LinkTable& table);
/// \throws Error(InvalidInput) "file:line: ...".
LinkTable parse_link_table_json(std::string_view text, const std::string& file);

}  // namespace multitree
