// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which process becomes which rank of a network, by the hosts that they run on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// Where the ranks of a network are to run, as a file says it:
///
///     # rank, range or name of a node    host
///     0-3                                node07
///     n4                                 node08.example.org
struct RankMap {
  struct Place {
    std::string host;
    std::size_t line = 0;  ///< of the file, from 1
  };
  std::string file;           ///< for messages
  std::vector<Place> places;  ///< by rank
};

/// Reads such a file. \throws Error(InvalidInput) "file:line: ...": not two words in a line, no
/// such rank or node, a rank twice or never.
RankMap parse_rank_map(std::string_view text, const std::string& file, const Topology& topology);

/// For each process, whose hosts are given in the order of the job, the rank that it becomes.
/// Processes of a host take its ranks in order. Names of hosts are equal if they are up to the
/// first dot where one of them has none.
/// \throws Error(InvalidInput) "file:line: ...": a host has no process, or more or fewer than
/// ranks; Error(InvalidArgument) if there are not as many processes as ranks.
std::vector<std::uint32_t> place_by_map(const RankMap& map, std::span<const std::string> hosts);

/// The same without a file. If the names of the ranks' nodes are hosts of the job ("node07" or
/// "node07/gpu0"), by name. Otherwise the processes of each host take ranks that are next to each
/// other: ranks fall into groups, by their names up to '/' or by the switches that they are
/// linked to, and hosts, the largest first, fill groups.
/// \throws Error(InvalidArgument) if the processes do not fit.
std::vector<std::uint32_t> place_by_host(const Topology& topology,
                                         std::span<const std::string> hosts);

/// How many ranks share a host, as names of nodes tell it: "node07/gpu0" or "box0gpu0"; all where
/// they tell nothing. \throws Error(InvalidArgument) if hosts have different numbers of ranks, or
/// ranks that are not next to each other.
std::uint32_t ranks_per_host(const Topology& topology);

}  // namespace multitree
