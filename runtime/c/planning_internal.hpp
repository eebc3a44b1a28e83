// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What libmultitree.so leaves to a library of its own, as it takes a linear solver, XML and YAML,
/// which most processes that load it never need: network files of other programs, and linear
/// programs of optimal schedules.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "algorithms/certificate/lp_solver.hpp"
#include "topologies/io/io.hpp"
#include "topologies/notes.hpp"

namespace multitree {

/// The functions of the same names, and Notes::forward_to().
struct Planning {
  Topology (*parse_topology_astra)(std::string_view, const std::string&);
  Topology (*parse_topology_dot)(std::string_view, const std::string&, const LinkDefaults&);
  Topology (*parse_topology_graphml)(std::string_view, const std::string&, const LinkDefaults&);
  Topology (*parse_topology_nccl)(std::string_view, const std::string&);
  std::string (*write_topology_dot)(const Topology&);
  std::string (*write_topology_graphml)(const Topology&);
  std::unique_ptr<LpSolver> (*make_lp_solver)(std::size_t, double);
  void (*forward_notes)(void (*)(const std::string&));
};

/// What libmultitree_planning.so exports: the table, for a library of the same build. A name that
/// has the version is found in no other.
using GetPlanning = const Planning* (*)();

}  // namespace multitree
