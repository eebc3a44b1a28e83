// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Topologies by name, "family:dims?key=value&key=value", and from files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

class CayleyGraph;
class Spec;
struct Structure;

/// One family of networks. `make` reads its dims and parameters from the spec, and reports what is
/// wrong with them by Error(InvalidArgument).
struct TopologyFamily {
  std::string_view name;        ///< "torus"
  std::string_view dims;        ///< "AxBx..."
  std::string_view summary;     ///< one line
  std::string_view ranks;       ///< how many: "A*B*..."
  std::string_view links;       ///< which
  std::string_view parameters;  ///< its own query parameters, documented; may be empty
  std::string_view example;     ///< a spec of at most 64 ranks
  Topology (*make)(const Spec& spec);
  /// What its networks of these sizes (Shape::dims) have; files may ask for sizes that no spec has.
  /// Null: nothing that an algorithm makes use of.
  Structure (*structure)(const std::vector<std::uint32_t>& dims) = nullptr;
  /// Where ranks are all alike, the graph of a spec, read without the speed of its links: also of
  /// networks too large to be made. Null: they are not alike.
  CayleyGraph (*graph)(const Spec& spec, std::uint64_t most_ranks) = nullptr;
  bool speeds_by_dimension = false;  ///< bw= and lat= may be lists with one value a dimension
  /// Of a family with a graph, what its links have where the spec does not say.
  Bandwidth bandwidth{16'000'000'000};
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
