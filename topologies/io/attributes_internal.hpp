// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The attributes of nodes and edges that the DOT and the GraphML reader share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topologies/io/io.hpp"
#include "topologies/io/raw_network_internal.hpp"

namespace multitree {

/// Attribute values as text, empty where absent.
struct NodeAttributes {
  std::string id;         ///< the node's name
  std::string rank;       ///< "3"
  std::string kind;       ///< "switch" in any case, or anything else for an endpoint
  std::string type;       ///< the same under another name
  std::string is_switch;  ///< attribute `switch`: "true" or "1", "false" or "0"
  std::string adds;       ///< "true": a switch that adds
  std::string copies;     ///< "true": a switch that copies
  std::string at_once;    ///< "4": how many messages in one step
};

struct EdgeAttributes {
  std::string bandwidth;                 ///< "50GB/s"; a bare number is GB/s
  std::string latency;                   ///< "150ns"; a bare number is ns
  std::vector<std::string> others = {};  ///< names of what else the edge has, which is not read
};

/// An edge without a bandwidth (latency) that has one under a misspelt or another common name is an
/// error, as the default would be taken for it in silence. So is a misspelt "switch".
/// \throws Error(InvalidArgument) saying which attribute is wrong and what was expected.
RawNode to_raw_node(NodeAttributes attributes);
Link to_link(NodeId src, NodeId dst, const EdgeAttributes& attributes,
             const LinkDefaults& defaults);

/// What to_link() checks of the names of attributes. \throws as that
void check_others(const EdgeAttributes& attributes);

/// Edges whose `weight` may have been meant as their bandwidth; as it may be anything else, it is
/// no error.
class UnreadWeights {
 public:
  void look_at(const EdgeAttributes& edge);
  /// What was taken in their place, if there are any.
  void note(Bandwidth taken, const std::string& file) const;

 private:
  std::size_t edges_ = 0, unread_ = 0;
};

/// The name of a network whose file gives none: the file's name without folders and extension.
std::string name_of_file(const std::string& file);

}  // namespace multitree
