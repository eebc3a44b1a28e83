// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks that are not as they were built: dead and slow links and ranks, trunks, and groups. The
/// options of every spec and the flags of every command.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// Changes as text, lists separated by commas; empty: none. A node is a name or a rank number, the
/// name if it is both (Notes then get a sentence that says so), `A-B` are the links between two
/// nodes in both directions, `A>B` those in one. All are in the terms of the network before any
/// change.
struct NetworkChanges {
  std::string without = {};  ///< dead links: "3-7,leaf0-spine1,4>5"; "3-7:1": one of parallel links
  std::string dead = {};     ///< dead nodes, with their links: "5,8-11,leaf1"
  std::string slow = {};  ///< "5:0.25" (all links of a node), "3-7:0.5", "3>7:4GB/s" (at most that)
  std::string parallel =
      {};  ///< "3-7:4": every link between them becomes that many; "4": every link
  /// What switches do: "add,copy", "leaf0:copy,leaf0:4" (at most 4 messages at once); without a
  /// node, all of them.
  std::string switches = {};
  std::string ranks = {};  ///< the ranks that take part, the others forward (parse_ranks())

  /// Names and values of what is given, in the order above.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> given() const;
};

/// The changed network. Remaining ranks are renumbered without gaps, names stay. Its name is
/// `name`, or if that is empty the old one with the changes as options of a spec.
/// \throws Error(InvalidArgument) "<option>: ...": no such node or link, a value out of range, or a
/// rank that cannot reach another any more.
Topology change_network(const Topology& topology, const NetworkChanges& changes,
                        std::string name = {});

}  // namespace multitree
