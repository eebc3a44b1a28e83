// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The first row that is free.
#include "report/lanes.hpp"

#include <fmt/format.h>

namespace multitree::report {

std::uint32_t Lanes::track(const std::string& group, const std::string& name, std::uint64_t begin,
                           std::uint64_t end) {
  std::vector<Lane>& lanes = lanes_[{group, name}];
  for (Lane& lane : lanes) {
    if (lane.free_at > begin) continue;
    lane.free_at = end;
    return lane.track;
  }
  const std::string label = lanes.empty() ? name : fmt::format("{} ({})", name, lanes.size() + 1);
  lanes.push_back({trace_.add_track(group, label), end});
  return lanes.back().track;
}

}  // namespace multitree::report
