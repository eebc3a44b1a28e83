// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who is cut off, and which dead links those who stay have to avoid.
#include "runtime/job/dead_links_internal.hpp"

#include <algorithm>

namespace multitree::runtime {

void DeadLinks::leave_out_cut_off(Members& members, const LinksLeft& left) const {
  Members staying;
  for (const Origin one : members) {
    // Who lost links to those that are gone has lost nothing.
    const bool hurt = std::ranges::any_of(links_, [&](const LinkBetween<Origin>& link) {
      return (link.a == one && has(members, link.b)) || (link.b == one && has(members, link.a));
    });
    const auto told = left.find(one);
    const auto works = [&](Origin peer) {
      return has(members, peer) && !links_.contains(link_between(one, peer));
    };
    if (!hurt || told == left.end() || std::ranges::any_of(told->second, works)) {
      staying.push_back(one);
    }
  }
  if (staying.empty() && !members.empty()) staying.push_back(members.front());
  members = std::move(staying);
}

std::vector<DeadLink> DeadLinks::among(const Members& members) const {
  std::vector<DeadLink> found;
  for (const auto& link : links_) {
    if (has(members, link.a) && has(members, link.b)) {
      found.push_back({seat_in(members, link.a), seat_in(members, link.b)});
    }
  }
  return found;
}

void DeadLinks::write(const Members& members, Writer& writer) const {
  for (const DeadLink& link : among(members)) writer.number(index(link.a)).number(index(link.b));
}

}  // namespace multitree::runtime
