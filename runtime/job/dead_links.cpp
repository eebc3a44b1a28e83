// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who is cut off, and which dead links those who stay have to avoid.
#include "runtime/job/dead_links_internal.hpp"

#include <algorithm>

namespace multitree::runtime {

bool has(const std::vector<std::uint32_t>& ranks, std::uint32_t rank) {
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

std::uint32_t place_of(const std::vector<std::uint32_t>& ranks, std::uint32_t rank) {
  return static_cast<std::uint32_t>(std::lower_bound(ranks.begin(), ranks.end(), rank) -
                                    ranks.begin());
}

void DeadLinks::leave_out_cut_off(std::vector<std::uint32_t>& ranks, const LinksLeft& left) const {
  std::vector<std::uint32_t> staying;
  for (const std::uint32_t rank : ranks) {
    // Who lost links to ranks that are gone has lost nothing.
    const bool hurt = std::ranges::any_of(links_, [&](const DeadLink& link) {
      return (link.a == rank && has(ranks, link.b)) || (link.b == rank && has(ranks, link.a));
    });
    const auto told = left.find(rank);
    const auto works = [&](std::uint32_t peer) {
      return has(ranks, peer) && !links_.contains(link_between(rank, peer));
    };
    if (!hurt || told == left.end() || std::ranges::any_of(told->second, works)) {
      staying.push_back(rank);
    }
  }
  if (staying.empty() && !ranks.empty()) staying.push_back(ranks.front());
  ranks = std::move(staying);
}

std::vector<DeadLink> DeadLinks::among(const std::vector<std::uint32_t>& ranks) const {
  std::vector<DeadLink> found;
  for (const DeadLink& link : links_) {
    if (has(ranks, link.a) && has(ranks, link.b)) {
      found.push_back({place_of(ranks, link.a), place_of(ranks, link.b)});
    }
  }
  return found;
}

void DeadLinks::write(const std::vector<std::uint32_t>& ranks, Writer& writer) const {
  for (const DeadLink& link : among(ranks)) writer.number(link.a).number(link.b);
}

}  // namespace multitree::runtime
