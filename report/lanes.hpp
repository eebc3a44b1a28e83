// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rows of a timeline for things that overlap.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/trace.hpp"

namespace multitree::report {

/// Rows by group and name, made when they are first needed. Spans of one name that overlap (worms
/// that share a link, messages in flight) go to further rows: "n0->n1", "n0->n1 (2)".
class Lanes {
 public:
  /// `trace` outlives this.
  explicit Lanes(Trace& trace) : trace_(trace) {}

  /// The track for what lasts from `begin` to `end`, of any one unit. Of one group and name in the
  /// order of their begins.
  std::uint32_t track(const std::string& group, const std::string& name, std::uint64_t begin,
                      std::uint64_t end);

 private:
  struct Lane {
    std::uint32_t track = 0;
    std::uint64_t free_at = 0;
  };
  Trace& trace_;
  std::map<std::pair<std::string, std::string>, std::vector<Lane>> lanes_;
};

}  // namespace multitree::report
