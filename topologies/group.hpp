// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Process groups: some ranks of a network take part, the others only forward.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// The network as a group of its ranks sees it: rank i is `members[i]`, every other rank has become
/// a switch, and what lies on no path between two members is gone. Nodes keep their names, which
/// say what the ranks were; the topology's name gets "ranks=..." appended. The layout is that of
/// the members if they are an aligned sub-grid and nothing else is left, and else unknown. All
/// ranks in their order: the same network.
/// \throws Error(InvalidArgument): no member, one twice or out of range.
Topology restrict_to(const Topology& topology, std::span<const Rank> members);

/// A list of ranks below `num_ranks`: "0-15,32", "0-30:2" (every second), "7-0" (descending).
/// \throws Error(InvalidArgument): empty, malformed, out of range, a rank twice.
std::vector<Rank> parse_ranks(std::string_view text, std::uint32_t num_ranks);

/// The same, where an item may also be the name of a node that is a rank: "node07,node09,12-15". An
/// item that can be read as numbers is numbers.
/// \throws Error(InvalidArgument): as above, or a name of no node or of a switch.
std::vector<Rank> parse_ranks(std::string_view text, const Topology& topology);

/// The shortest such text for a list.
std::string ranks_text(std::span<const Rank> ranks);

}  // namespace multitree
