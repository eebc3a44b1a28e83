// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// libmultitree_planning.so: the functions themselves.
#include "runtime/c/planning_internal.hpp"

extern "C" __attribute__((visibility("default"))) const multitree::Planning* MULTITREE_PLANNING() {
  static constexpr multitree::Planning kPlanning{
      multitree::parse_topology_astra,   multitree::parse_topology_dot,
      multitree::parse_topology_graphml, multitree::parse_topology_nccl,
      multitree::write_topology_dot,     multitree::write_topology_graphml,
      multitree::make_lp_solver,         multitree::Notes::forward_to};
  return &kPlanning;
}
