// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Topologies by name, "family:dims?key=value&key=value", and from files.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "topologies/topology.hpp"

namespace multitree {

class Spec;

/// One family of networks. `make` reads its dims and parameters from the spec, and reports what is
/// wrong with them by Error(InvalidArgument).
struct TopologyFamily {
  std::string_view name;        ///< "torus"
  std::string_view dims;        ///< "AxBx..."
  std::string_view summary;     ///< one line
  std::string_view parameters;  ///< its own query parameters, documented; may be empty
  std::string_view example;     ///< a spec of at most 64 ranks
  Topology (*make)(const Spec& spec);
};

/// All families, sorted by name. Feeds --help, `multitree list` and the tests.
std::span<const TopologyFamily> topology_families();

/// Builds the network a spec string names. Every family also takes the changes of degrade.hpp:
/// `without=3-7`, `dead=5`, `slow=5:0.25`, `parallel=3-7:2`, `ranks=0-15`.
/// \throws Error(InvalidArgument) naming the part of the spec that is wrong.
Topology make_topology(std::string_view spec);

/// A spec string ("torus:4x4?bw=50GB/s") or a file by its extension (.json, .dot/.gv,
/// .graphml, .xml: GraphML or NCCL's by the root element, .yml/.yaml: ASTRA-sim). Anything with a
/// '.' extension of those, or a path that exists, is a file. \throws Error: InvalidArgument (spec),
/// InvalidInput (file content), Io (cannot be read).
Topology load_topology(const std::string& spec_or_file);

}  // namespace multitree
