// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which links are taken in which steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// Per link the steps that still have a slot. Full steps are skipped with path compression, so the
/// earliest free step costs nearly constant time however full the calendar is.
class LinkCalendar {
 public:
  explicit LinkCalendar(const Topology& topology)
      : topology_(&topology), links_(topology.num_links()) {}

  /// The earliest step >= `step` in which `link` has room.
  [[nodiscard]] std::uint32_t next_free(LinkId link, std::uint32_t step) {
    std::vector<std::uint32_t>& skip = links_[index(link)].skip;
    while (step < skip.size() && skip[step] != step) {
      if (skip[step] < skip.size()) skip[step] = skip[skip[step]];
      step = skip[step];
    }
    return step;
  }

  /// The earliest step >= `step` in which all of `route` has room.
  [[nodiscard]] std::uint32_t next_free(std::span<const LinkId> route, std::uint32_t step) {
    for (;;) {
      std::uint32_t latest = step;
      for (const LinkId link : route) latest = std::max(latest, next_free(link, step));
      if (latest == step) return step;
      step = latest;
    }
  }

  /// Transfers that `link` still has room for in `step`.
  [[nodiscard]] std::uint32_t room(LinkId link, std::uint32_t step) const {
    const std::vector<std::uint32_t>& count = links_[index(link)].count;
    return topology_->slots(link) - (step < count.size() ? count[step] : 0);
  }

  /// Takes one slot of each link of `route` in `step`; each must have room.
  void take(std::span<const LinkId> route, std::uint32_t step) {
    for (const LinkId link : route) take(link, step);
  }

 private:
  struct Uses {
    std::vector<std::uint32_t> skip;   // skip[t] == t: room in step t; else a later step to look at
    std::vector<std::uint32_t> count;  // transfers in step t
  };

  void take(LinkId link, std::uint32_t step) {
    Uses& uses = links_[index(link)];
    while (uses.skip.size() <= step) {
      uses.skip.push_back(static_cast<std::uint32_t>(uses.skip.size()));
      uses.count.push_back(0);
    }
    if (++uses.count[step] == topology_->slots(link)) uses.skip[step] = step + 1;
  }

  const Topology* topology_;
  std::vector<Uses> links_;
};

}  // namespace multitree
