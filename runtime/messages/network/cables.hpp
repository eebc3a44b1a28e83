// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cluster that this host is part of: a file of `multitree cluster discover` that
/// MULTITREE_CLUSTER names, or that lies where `--install` puts it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "runtime/job/links.hpp"
#include "topologies/cluster/cluster.hpp"

namespace multitree::runtime {

inline constexpr const char* kClusterVariable = "MULTITREE_CLUSTER";

struct NamedCluster {
  std::string file;
  std::string text;  ///< of the file
  cluster::Cluster cluster;
  bool installed = false;  ///< it lies in one of installed_cluster_files(), and nobody named it
  /// What a person knows it by: "MULTITREE_CLUSTER=desks.json", or the file.
  [[nodiscard]] std::string words() const;
};
/// That of the variable, none where that is empty; where it is not set, the first that is
/// installed, if this host is in it. A job on one host, or with others than the cluster's, has no
/// use for that one: who takes it asks all ranks. One that cannot be read is told in a warning, and
/// is none. \throws Error(Io), Error(InvalidInput) of the variable's
std::optional<NamedCluster> named_cluster();

/// Where files are looked for that nobody names: `multitree/cluster.json` in XDG_CONFIG_HOME, else
/// in .config of HOME; then in /etc. `discover --install` writes the first.
std::vector<std::string> installed_cluster_files();

/// Collective: the installed cluster, where all ranks run on its hosts, on several of them, have
/// the same file and are as many as it has ranks; this rank takes it if it has `wanted`. Rank 0
/// tells if hosts have different files. \throws Error of all_gather()
std::optional<NamedCluster> installed_cluster_of(Bootstrap& job, bool wanted, Deadline deadline);

/// Collective: `network`, which somebody named for a job of as many ranks, as cluster::
/// with_all_cables() makes it, where messages take the cables of a file: that is the same at all
/// ranks, and was named or they are on several of its hosts. The file's own network counts them
/// already. \throws Error of all_gather()
Topology with_all_cables(Bootstrap& job, const Topology& network, Deadline deadline);

/// Which of its hosts this one is: that with the most ports and addresses of this host, else that
/// with its name; none where there is none, or there are several.
std::optional<std::size_t> own_place(const cluster::Cluster& cluster);

/// "desk1 tb0 - desk2 tb1": the ends of that cable of named_cluster(), this host's first. Empty
/// where there is no such cable any more.
std::string cable_words(std::uint32_t cable);

/// \pre cables are used. Says so where a job of as many ranks as the cluster has hosts numbers them
/// in another way: then schedules of that network use other cables than they seem to.
void warn_of_other_order(Seat seat, std::uint32_t ranks);

/// \pre the job is on several hosts, which have the same file. Says, once in a process, which ports
/// of this host are down: messages of their cables take other ways, in silence otherwise.
void warn_of_ports_without_address();

}  // namespace multitree::runtime
