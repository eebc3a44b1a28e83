// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dead ranks and links as changes of a network.
#include "topologies/remains.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "topologies/degrade.hpp"
#include "topologies/error.hpp"
#include "topologies/group.hpp"

namespace multitree {
namespace {

void check_linked(const Topology& whole, const SilentPair& pair) {
  const NodeId a = whole.node_of(Rank{pair.first}), b = whole.node_of(Rank{pair.second});
  const auto leads_to = [&](NodeId from, NodeId to) {
    return std::ranges::any_of(whole.out_links(from),
                               [&](LinkId id) { return whole.link(id).dst == to; });
  };
  if (leads_to(a, b) || leads_to(b, a)) return;
  throw Error(
      ErrorCode::Transport,
      fmt::format("nothing passes between ranks {} and {}, which have no link of their own: "
                  "cannot tell which link of {} is dead",
                  pair.first, pair.second, whole.name()));
}

/// Marks the nodes that `start` reaches without silent links with its number.
void mark(const Topology& whole, const std::vector<SilentPair>& silent, NodeId start,
          std::vector<std::optional<std::uint32_t>>& part) {
  const auto is_silent = [&](NodeId from, NodeId to) {
    return std::ranges::any_of(silent, [&](const SilentPair& pair) {
      const NodeId a = whole.node_of(Rank{pair.first}), b = whole.node_of(Rank{pair.second});
      return (a == from && b == to) || (a == to && b == from);
    });
  };
  std::vector<NodeId> next{start};
  part[index(start)] = index(start);
  while (!next.empty()) {
    const NodeId node = next.back();
    next.pop_back();
    for (const LinkId id : whole.out_links(node)) {
      const NodeId to = whole.link(id).dst;
      if (part[index(to)] || is_silent(node, to)) continue;
      part[index(to)] = index(start);
      next.push_back(to);
    }
  }
}

}  // namespace

std::vector<std::uint32_t> part_that_goes_on(const Topology& whole,
                                             const std::vector<std::uint32_t>& members,
                                             const std::vector<SilentPair>& silent) {
  for (const SilentPair& pair : silent) check_linked(whole, pair);
  std::vector<std::optional<std::uint32_t>> part(whole.num_nodes());
  std::map<std::uint32_t, std::vector<std::uint32_t>> parts;
  std::vector<std::uint32_t> largest;
  for (const std::uint32_t rank : members) {
    const NodeId node = whole.node_of(Rank{rank});
    if (!part[index(node)]) mark(whole, silent, node, part);
    parts[*part[index(node)]].push_back(rank);
  }
  for (const auto& [start, ranks] : parts) {
    const bool lower = largest.empty() || ranks.front() < largest.front();
    if (ranks.size() > largest.size() || (ranks.size() == largest.size() && lower)) largest = ranks;
  }
  return largest;
}

Topology remaining_network(const Topology& whole, const std::vector<std::uint32_t>& members,
                           const std::vector<SilentPair>& silent) {
  for (const SilentPair& pair : silent) check_linked(whole, pair);
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
    } catch (const Error&) {  // it falls apart without them: they are believed to forward
    }
  }
  const Topology left = cut.empty() ? whole : change_network(whole, {.without = cut});
  if (lost.empty()) return left;
  std::vector<Rank> ranks;
  for (const std::uint32_t rank : members) ranks.push_back(Rank{rank});
  return restrict_to(left, ranks);
}

}  // namespace multitree
