// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Measures the links of a network one by one, and compares them with what is said of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/job/bootstrap.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

/// One direction of what lies between two ranks that are neighbours; parallel links are one.
struct LinkCheck {
  Rank src{}, dst{};
  double said_alpha = 0;  ///< seconds a message
  double said_beta = 0;   ///< seconds a byte
  bool works = false;
  double alpha = 0, beta = 0;  ///< measured, if it works
  /// How many times longer a message of kLinkBytes takes than it should.
  [[nodiscard]] double slower() const;
};

inline constexpr std::size_t kLinkBytes = 1 << 20;

/// Collective over a job of one process a rank. No two measurements share a rank, so none disturbs
/// another more than the network itself does. The same at every rank that is still there; a rank
/// without any link that works is not. \throws Error(Unsupported) if no two ranks are neighbours,
/// Error as Communicator.
std::vector<LinkCheck> check_links(std::shared_ptr<runtime::Bootstrap>& job,
                                   const Topology& network,
                                   const runtime::CommunicatorOptions& options);

/// A table, and a line for each link that does not work or is more than `factor` times slower.
std::string links_table(const std::vector<LinkCheck>& links, const Topology& network,
                        double factor);
/// Both of these, with rank 0 of those that are left printing. Returns the exit code.
int report_links(std::shared_ptr<runtime::Bootstrap> job, const Topology& network,
                 const runtime::CommunicatorOptions& options, double factor);

}  // namespace multitree::tools
