// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dead ranks and links as changes of a network.
#include "topologies/remaining_network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "topologies/degrade.hpp"
#include "topologies/error.hpp"
#include "topologies/group.hpp"

namespace multitree {
namespace {

void check_linked(const Topology& whole, const DeadLink& link) {
  const NodeId a = whole.node_of(Rank{link.a}), b = whole.node_of(Rank{link.b});
  const auto leads_to = [&](NodeId from, NodeId to) {
    return std::ranges::any_of(whole.out_links(from),
                               [&](LinkId id) { return whole.link(id).dst == to; });
  };
  if (leads_to(a, b) || leads_to(b, a)) return;
  throw Error(
      ErrorCode::Transport,
      fmt::format("nothing passes between ranks {} and {}, which have no link of their own: "
                  "cannot tell which link of {} is dead",
                  link.a, link.b, whole.name()));
}

/// Marks the nodes that `start` reaches without dead links with its number.
void mark(const Topology& whole, const std::vector<DeadLink>& dead, NodeId start,
          std::vector<std::optional<std::uint32_t>>& part) {
  const auto is_dead = [&](NodeId from, NodeId to) {
    return std::ranges::any_of(dead, [&](const DeadLink& link) {
      const NodeId a = whole.node_of(Rank{link.a}), b = whole.node_of(Rank{link.b});
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
      if (part[index(to)] || is_dead(node, to)) continue;
      part[index(to)] = index(start);
      next.push_back(to);
    }
  }
}

/// `whole` without what is lost.
Topology reduced(const Topology& whole, const Survivors& survivors) {
  for (const DeadLink& link : survivors.dead_links()) check_linked(whole, link);
  const std::vector<std::uint32_t> lost = survivors.lost();
  std::string cut;
  for (const auto& [a, b] : survivors.dead_links()) {
    cut += fmt::format("{}{}-{}", cut.empty() ? "" : ",", a, b);
  }
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
  for (const std::uint32_t rank : survivors.ranks()) ranks.push_back(Rank{rank});
  return restrict_to(left, ranks);
}

}  // namespace

Survivors::Survivors(std::uint32_t all) : all_(all), ranks_(all) {
  std::iota(ranks_.begin(), ranks_.end(), 0U);
}

std::vector<std::uint32_t> Survivors::lost() const {
  std::vector<std::uint32_t> lost;
  for (std::uint32_t rank = 0; rank < all_; ++rank) {
    if (!has(rank)) lost.push_back(rank);
  }
  return lost;
}

std::optional<std::uint32_t> Survivors::today(std::uint32_t rank) const {
  const auto it = std::ranges::lower_bound(ranks_, rank);
  if (it == ranks_.end() || *it != rank) return std::nullopt;
  return static_cast<std::uint32_t>(it - ranks_.begin());
}

std::vector<std::uint32_t> Survivors::all_but(const std::vector<std::uint32_t>& part) const {
  std::vector<std::uint32_t> others;
  for (std::uint32_t now = 0; now < ranks_.size(); ++now) {
    if (std::ranges::find(part, ranks_[now]) == part.end()) others.push_back(now);
  }
  return others;
}

Survivors Survivors::after(std::span<const std::uint32_t> left,
                           std::span<const DeadLink> dead_links) const {
  Survivors next = *this;
  next.ranks_.clear();
  next.dead_links_.clear();
  for (const std::uint32_t before : left) next.ranks_.push_back(ranks_.at(before));
  for (const auto& [a, b] : dead_links) {
    next.dead_links_.push_back(link_between(next.ranks_.at(a), next.ranks_.at(b)));
  }
  std::ranges::sort(next.dead_links_);
  return next;
}

Survivors Survivors::without_links(const std::vector<DeadLink>& before) const {
  Survivors fewer = *this;
  std::erase_if(fewer.dead_links_, [&](const DeadLink& link) {
    return std::ranges::find(before, link) != before.end();
  });
  return fewer;
}

RemainingNetwork RemainingNetwork::after(const Survivors& survivors) const {
  RemainingNetwork next = *this;
  if (!survivors.is_all()) next.left_ = reduced(network(), survivors);
  return next;
}

RemainingNetwork RemainingNetwork::slowed(std::span<const SlowLink> links) const {
  RemainingNetwork next = *this;
  std::string slow;
  for (const auto& [ends, percent] : links) {
    slow += fmt::format("{}{}-{}:{}.{:02}", slow.empty() ? "" : ",", ends.a, ends.b, percent / 100,
                        percent % 100);
  }
  if (!slow.empty()) next.left_ = change_network(network(), {.slow = slow});
  return next;
}

Rank RemainingNetwork::at_first(Rank rank) const {
  const std::string& name = network().node(network().node_of(rank)).name;
  Rank first{0};
  while (whole_.node(whole_.node_of(first)).name != name) first = Rank{index(first) + 1};
  return first;
}

std::vector<std::uint32_t> part_that_goes_on(const Topology& whole, const Survivors& survivors) {
  const std::vector<DeadLink>& dead = survivors.dead_links();
  for (const DeadLink& link : dead) check_linked(whole, link);
  std::vector<std::optional<std::uint32_t>> part(whole.num_nodes());
  std::map<std::uint32_t, std::vector<std::uint32_t>> parts;
  std::vector<std::uint32_t> largest;
  for (const std::uint32_t rank : survivors.ranks()) {
    const NodeId node = whole.node_of(Rank{rank});
    if (!part[index(node)]) mark(whole, dead, node, part);
    parts[*part[index(node)]].push_back(rank);
  }
  for (const auto& [start, ranks] : parts) {
    const bool lower = largest.empty() || ranks.front() < largest.front();
    if (ranks.size() > largest.size() || (ranks.size() == largest.size() && lower)) largest = ranks;
  }
  return largest;
}

}  // namespace multitree
