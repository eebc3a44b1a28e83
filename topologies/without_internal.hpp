// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The parameter `without=` of every family: failed or missing links.
#pragma once

#include "topologies/spec.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// The network less the links that `without=3-7,leaf0-spine1,4>5` names: all links between two
/// nodes in both directions (-) or one (>). A node is a rank number or a node's name. Shape and
/// name are kept; the other links move down in LinkId. \throws Error(InvalidArgument): no such
/// node, no such link, or the result is disconnected.
Topology apply_without(const Spec& spec, Topology topology);

}  // namespace multitree
