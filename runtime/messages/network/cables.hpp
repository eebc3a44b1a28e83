// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cluster that this host is part of, as MULTITREE_CLUSTER names it: a file of
/// `multitree cluster discover`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "topologies/cluster/cluster.hpp"

namespace multitree::runtime {

inline constexpr const char* kClusterVariable = "MULTITREE_CLUSTER";

struct NamedCluster {
  std::string file;
  std::string text;  ///< of the file
  cluster::Cluster cluster;
};
/// None where the variable is not set. \throws Error(Io), Error(InvalidInput)
std::optional<NamedCluster> named_cluster();

/// Which of its hosts this one is: that with the most ports and addresses of this host, else that
/// with its name; none where there is none, or there are several.
std::optional<std::size_t> own_place(const cluster::Cluster& cluster);

}  // namespace multitree::runtime
