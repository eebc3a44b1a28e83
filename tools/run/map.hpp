// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree run --map`: which process becomes which rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

/// Where no network is named, that of MULTITREE_CLUSTER is `topology`; a file of a cluster that is
/// `topology` is named by the variable from here on, for this process and those that it starts, so
/// that messages take its cables. Then a process that a launcher has started becomes the rank of
/// its host, unless `map` says otherwise. \pre this process has one thread
void follow_cluster(std::string& topology, std::string& map);

/// Collective: the same, where still no network is named and `follows`, of the cluster's file that
/// is installed on all hosts of the job. \throws Error as installed_cluster_of()
void follow_installed_cluster(runtime::Bootstrap& job, bool follows, runtime::Deadline deadline,
                              std::string& topology, std::string& map);

/// A job whose ranks are those of the network, and where they are.
struct Mapped {
  std::shared_ptr<runtime::Bootstrap> job;
  std::vector<std::string> hosts;  ///< by rank
};

/// Not collective: finds what is wrong with `map` (identity, by-host, or a file) before any process
/// is started. \throws Error as parse_rank_map(), Error(Io).
void check_map(const std::string& map, const Topology& network);

/// The same for a job whose processes are all going to run on this host. \throws also as
/// map_ranks().
void check_map_here(const std::string& map, const Topology& network);

/// Collective. `map`: as in check_map(). \throws Error as place_by_map(), place_by_host(), naming
/// the flag; as renumbered().
Mapped map_ranks(std::shared_ptr<runtime::Bootstrap> job, const Topology& network,
                 const std::string& map, runtime::Deadline deadline);

/// "# map: ranks 0-3 on node07, 4-7 on node08"
std::string map_words(const std::vector<std::string>& hosts);

}  // namespace multitree::tools
