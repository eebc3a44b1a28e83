// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The verilated hardware for commands, if it was built.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "nic/jobs.hpp"
#include "nic/simulate.hpp"
#include "nic/table/table.hpp"
#include "runtime/job/bootstrap.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

struct CosimRequest {
  std::string data_type = "float";
  bool fast = false;                                ///< sums by a C function, no assertions
  std::string wave;                                 ///< file; empty: none
  std::optional<nic::Losses> losses = {};           ///< of an all-reduce, not of an image
  std::optional<nic::LinkErrors> link_errors = {};  ///< links lose
};

/// A size on both sides.
struct CosimRow {
  std::uint64_t bytes = 0;  ///< padded to whole shards
  std::uint64_t messages = 0, events = 0, model_cycles = 0, hardware_cycles = 0;
  double cycles_per_second = 0;     ///< simulated
  double busiest = 0;               ///< share of the cycles in which the busiest link has a flit
  std::string difference;           ///< of the first cycle that has one; empty: none
  std::vector<std::string> errors;  ///< wrong sums, errors of interfaces
  std::optional<nic::LossReport> losses = {};       ///< of CosimRequest::losses
  std::optional<nic::LinkCounts> link_counts = {};  ///< of CosimRequest::link_errors
};

/// \throws Error(Unsupported) if the program was built without Verilator, and as
/// rtl::cosimulate().
CosimRow cosimulate(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                    const nic::Parameters& parameters, const CosimRequest& request);

/// The groups of an image, each from when its job is ready on. \throws as rtl::cosimulate() of
/// them.
CosimRow cosimulate(const nic::Tables& image, std::span<const nic::Job> jobs,
                    const Topology& topology, const nic::Parameters& parameters,
                    const CosimRequest& request);

/// The hardware alone, on floats whose sums are compared with the runtime's.
/// \throws as cosimulate().
nic::Simulation simulate_hardware(const Schedule& schedule, const Topology& topology,
                                  std::uint64_t bytes, const nic::Parameters& parameters);

/// A collective of interfaces, and switches, in hardware and in software whose links are frames.
struct WireRequest {
  std::uint64_t bytes = 0;
  std::string data_type = "float";
  std::vector<NodeId> hardware = {};         ///< those that are verilated
  bool fast = false;                         ///< sums by a C function, no assertions
  double drop = 0;                           ///< part of the frames that are lost on purpose
  double timeout = 60;                       ///< seconds
  std::vector<std::string> interfaces = {};  ///< as of rtl::Ethernet
};

/// What a node has seen.
struct WireRow {
  std::string name;  ///< of a switch; empty: it is a rank
  bool is_hardware = false;
  std::uint64_t flits = 0, frames = 0, again = 0, bad = 0;
  double seconds = 0;
  std::string wrong;  ///< element; empty: none
};

/// \param bootstrap of a job whose ranks, or nodes, these are, on Ethernet; null: all in this
/// process, without. \returns ranks, then switches. \throws Error(Unsupported) if the program was
/// built without Verilator, and as rtl::run_on_wires().
std::vector<WireRow> run_wires(const Schedule& schedule, const Topology& topology,
                               const nic::Parameters& parameters, const WireRequest& request,
                               runtime::Bootstrap* bootstrap);

}  // namespace multitree::tools
