// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Images of tables for commands that run their groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "nic/jobs.hpp"
#include "nic/table/table.hpp"
#include "tools/command.hpp"
#include "topologies/topology.hpp"
#include "training/plan.hpp"

namespace multitree::tools {

/// What names an image, its network, and when its groups start.
struct ImageFlags {
  NetworkFlags network;
  std::string image, plan, doorbells;
};

/// An image and the network that it is for; what starts its groups.
struct LoadedImage {
  std::string file;
  nic::Tables tables;
  Topology topology;
  std::optional<training::Plan> plan;
};

/// \throws Error(InvalidArgument) if the image's groups are not those of the plan's transfers, or
/// neither a network nor a plan is named.
LoadedImage load_image(const ImageFlags& flags);

/// Proves it. \returns what is wrong, by a violation each
std::vector<std::string> faults_of(const LoadedImage& image);
/// The same, printed. \returns whether nothing is wrong.
bool is_right(const LoadedImage& image);

/// The groups as jobs, and the schedules that those refer to.
struct GroupJobs {
  std::vector<Schedule> schedules;
  std::vector<nic::Job> jobs;
};

/// A job for each group, ready when its doorbell rings: as the flag says, else as the plan does,
/// else at once. \param command for messages. \pre is_right(image). \throws Error(Unsupported) if
/// there are no groups, one of several priorities, or one whose elements are no multiple of the
/// ranks; Error(InvalidArgument) naming --doorbells.
GroupJobs jobs_of_groups(const LoadedImage& image, const std::string& doorbells,
                         std::uint32_t element_bytes, const std::string& command);

}  // namespace multitree::tools
