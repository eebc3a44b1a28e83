// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What links took the last time that the same machines measured the same network.
#pragma once

#include <string>
#include <vector>

#include "algorithms/tuning/link_table.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/measure/link_measurement.hpp"
#include "topologies/topology.hpp"

namespace multitree::runtime {

/// The folder of kept tables: MULTITREE_CACHE, else `multitree` in XDG_CACHE_HOME, else in
/// $HOME/.cache; empty if none of them is set.
std::string cache_folder();

/// Collective: the table in rank 0's cache_folder() for this network, transport and segment size,
/// and for ranks on hosts of these names, processors and network interfaces; measure_links() if
/// there is none, or none that can be read and has all links, and then it is kept. A table that
/// cannot be written is not kept. The same at every rank. `file`: where it is; empty at the other
/// ranks, or if there is no folder. \throws Error as measure_links()
LinkTable cached_links(Bootstrap& bootstrap, const Topology& topology,
                       const MeasureOptions& options = {}, std::string* file = nullptr);

/// Keeps what was found out with a table of cached_links() in its file, in place of what it has for
/// the same collectives and sizes. What cannot be written is not kept.
void keep_choices(const std::string& file, const std::vector<LinkTable::Choice>& found);

}  // namespace multitree::runtime
