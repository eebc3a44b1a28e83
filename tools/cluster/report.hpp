// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A cluster in words and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "topologies/cluster/cluster.hpp"

namespace multitree::tools {

/// A cable that would help most.
struct Advice {
  std::string first, second;
  Bandwidth bandwidth;
  double share = 1;  ///< of the shortest possible time of an all-reduce that is left with it
};
/// By the cuts that limit the network; none helps, or the network is too large to try.
std::optional<Advice> advise(const Topology& network);

std::string cables_text(const cluster::Cluster& cluster);
nlohmann::ordered_json cluster_json(const cluster::Cluster& cluster);
nlohmann::ordered_json findings_json(const std::vector<cluster::Finding>& findings);
nlohmann::ordered_json advice_json(const std::optional<Advice>& advice);

}  // namespace multitree::tools
