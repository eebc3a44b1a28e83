// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dead ranks and links as changes of a network.
#include "topologies/remains.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "topologies/degrade.hpp"
#include "topologies/error.hpp"
#include "topologies/group.hpp"

namespace multitree {

Topology remaining_network(const Topology& whole, const std::vector<std::uint32_t>& members,
                           const std::vector<SilentPair>& silent) {
  std::vector<std::uint32_t> lost;
  for (std::uint32_t rank = 0; rank < whole.num_ranks(); ++rank) {
    if (!std::ranges::binary_search(members, rank)) lost.push_back(rank);
  }
  std::string cut;
  for (const auto& [a, b] : silent) cut += fmt::format("{}{}-{}", cut.empty() ? "" : ",", a, b);
  if (!lost.empty()) {
    try {
      return change_network(whole,
                            {.without = cut, .dead = fmt::format("{}", fmt::join(lost, ","))});
    } catch (const Error&) {  // as below
    }
  }
  const Topology left = cut.empty() ? whole : change_network(whole, {.without = cut});
  if (lost.empty()) return left;
  std::vector<Rank> ranks;
  for (const std::uint32_t rank : members) ranks.push_back(Rank{rank});
  return restrict_to(left, ranks);
}

}  // namespace multitree
