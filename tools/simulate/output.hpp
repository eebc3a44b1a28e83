// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What `multitree simulate` prints and writes: table, JSON, figure, timeline.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "nic/simulate.hpp"
#include "report/plot.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

/// One schedule at one size.
struct SimulatedRow {
  std::string algorithm;
  std::uint64_t bytes = 0;  ///< of the buffer, padded to whole shards
  nic::Simulation result;
  double bound_seconds = 0;  ///< that no schedule beats on this network
  double bus_factor = 1;     ///< busbw over algbw

  [[nodiscard]] double algbw() const;  ///< GB/s; 0 if nothing had to be done
  [[nodiscard]] double busbw() const;  ///< GB/s
  /// Bound over simulated time: 1 is as fast as possible.
  [[nodiscard]] double of_bound() const;
};

/// What all rows have in common.
struct SimulationSetup {
  std::string topology;
  std::string collective;
  std::uint32_t ranks = 0;
  nic::Model model = nic::Model::Flit;
  nic::Parameters parameters;
  bool is_hardware = false;  ///< the machine of rtl/
};

std::string simulation_header(const SimulationSetup& setup, std::uint64_t clock_hz);
std::string simulation_line(const SimulatedRow& row);
nlohmann::ordered_json simulation_json(const SimulationSetup& setup,
                                       const std::vector<SimulatedRow>& rows);
/// busbw against size, a line an algorithm. \throws as report::to_svg().
std::string simulation_plot(const SimulationSetup& setup, const std::vector<SimulatedRow>& rows,
                            report::Image image);
/// A row for each port of an interface and each link, arrows from each message to those that waited
/// for it. \pre the simulation was traced.
std::string simulation_trace(const Topology& topology, const nic::Simulation& simulation);

}  // namespace multitree::tools
