// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cluster that this host is part of, as MULTITREE_CLUSTER names it: a file of
/// `multitree cluster discover`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/job/links.hpp"
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

/// Says so where a job of as many ranks as the cluster has hosts numbers them in another way: then
/// schedules of that network use other cables than they seem to.
void warn_of_other_order(Seat seat, std::uint32_t ranks);

}  // namespace multitree::runtime
