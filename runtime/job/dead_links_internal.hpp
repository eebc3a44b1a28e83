// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the meeting point of a job knows of its links.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "runtime/job/origin_internal.hpp"
#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {

/// Where those links of a process lead that it has not given up.
using LinksLeft = std::map<Origin, std::vector<Origin>>;

/// Between processes, as told at any time since the job began.
class DeadLinks {
 public:
  void add(Origin one, Origin other) { links_.insert(link_between(one, other)); }

  /// Takes out those all of whose links to the others are dead; if nobody would be left, the first
  /// stays. `left`: of those that have given a link up.
  void leave_out_cut_off(Members& members, const LinksLeft& left) const;

  /// Those between `members`, by their seats.
  [[nodiscard]] std::vector<DeadLink> among(const Members& members) const;
  void write(const Members& members, Writer& writer) const;

 private:
  std::set<LinkBetween<Origin>> links_;
};

}  // namespace multitree::runtime
