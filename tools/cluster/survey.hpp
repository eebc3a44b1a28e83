// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finds and measures the cables between hosts, with an agent on each.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/cluster/remote.hpp"
#include "topologies/cluster/cluster.hpp"

namespace multitree::tools {

struct SurveyOptions {
  std::vector<std::string> hosts;        ///< as the command reaches them
  std::vector<std::string> ssh;          ///< followed by a host and what to run there
  std::string program;                   ///< this one, there
  std::string interfaces;                ///< which, as probe::list_ports()
  std::chrono::milliseconds patience{};  ///< until a host has answered
};

/// The program on each of the hosts, waiting for questions. \throws Error(Io)
std::vector<Remote> start_agents(const SurveyOptions& options);

/// What somebody answered, with nothing gone wrong. \throws Error as Remote::answer(),
/// Error(Transport)
nlohmann::json checked_answer(Remote& remote, const std::string& what,
                              Remote::Milliseconds deadline);

struct Survey {
  std::vector<cluster::Host> hosts;
  cluster::Inferred inferred;
  std::vector<cluster::Flow> flows;
  std::vector<cluster::Finding> findings;  ///< of ports and cables that could not be tried
};

/// Hosts that cannot be asked are told in a line each on standard error. \throws Error(Transport),
/// Error(Timeout) with the last such line, Error(InvalidArgument): two names are one host.
Survey survey(const SurveyOptions& options);

}  // namespace multitree::tools
