// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Files of a cluster, schema "multitree/cluster/1": its network, and which ports the cables join.
#pragma once

#include <string>
#include <string_view>

#include "topologies/cluster/cluster.hpp"

namespace multitree {

inline constexpr std::string_view kClusterSchema = "multitree/cluster/1";

/// Whether the text begins as such a file does; it may be wrong further on.
bool is_cluster_file(std::string_view text);
/// \throws Error(InvalidInput) "file:line: what was expected and found"
cluster::Cluster parse_cluster_json(std::string_view text, const std::string& file);
/// Canonical: a host, node, link or end of a cable a line. \pre cluster.network
std::string write_cluster_json(const cluster::Cluster& cluster);

}  // namespace multitree
