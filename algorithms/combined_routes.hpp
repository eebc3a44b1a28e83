// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What links carry where switches add and copy (Schedule::in_network): one message for several
/// transfers.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/schedule.hpp"

namespace multitree {

/// The routes of transfers with one common end: the sender of copies, the receiver of reductions.
/// Seen from there they are a tree of messages: two routes share one as far as they run together,
/// up to the last switch that copies (adds) where they part or before.
class CombinedRoutes {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Hop {
    LinkId link{};
    std::uint32_t nearer = kNone;  ///< the hop before it, seen from the common end; kNone: none
    /// Hops that follow it, and routes that end with it: beyond one, a message is copied or summed
    /// there.
    std::uint32_t ways = 0;
    /// Where another route over this link parts, at a node that cannot copy (add): so there are
    /// several messages on the link.
    std::optional<NodeId> apart = std::nullopt;
  };

  /// \param op Copy: the common end is where routes begin; Reduce: where they end
  /// Links that do not exist are kept.
  CombinedRoutes(std::vector<std::span<const LinkId>> routes, Op op, const Topology& topology);

  /// Nearer hops first; each is one message on its link.
  [[nodiscard]] const std::vector<Hop>& hops() const { return hops_; }
  /// The hop at the far end of a route; kNone if it has no links.
  [[nodiscard]] std::uint32_t far_hop(std::size_t route) const { return far_hop_[route]; }

 private:
  std::vector<Hop> hops_;
  std::vector<std::uint32_t> far_hop_;
};

/// Whether switches add and copy, and time may run backwards: every link has a mate, and a switch
/// that adds copies, and the other way around. Then the trees of an all-reduce may be used in both
/// directions and from any root (docs/optimality.md).
[[nodiscard]] bool has_in_network_trees(const Topology& topology);

/// Transfers of one step that are one message at their common end, by index.
struct MessageGroup {
  std::vector<std::size_t> transfers;
  Op op = Op::Copy;
  [[nodiscard]] CombinedRoutes routes(const Schedule& schedule, const Topology& topology) const;
};

/// The groups of transfers [begin, end), which are of one step. Copies have their chunk and sender
/// in common, reductions their chunk and receiver; without Schedule::in_network each transfer is
/// one. In order of op, chunk and common end.
std::vector<MessageGroup> message_groups(const Schedule& schedule, std::size_t begin,
                                         std::size_t end);

/// Calls `visit(link, transfer)` for each message on a link, with one of the transfers that it is.
/// \pre transfers are in step order.
template <class Visit>
void for_each_message_on_links(const Schedule& schedule, const Topology& topology,
                               const Visit& visit) {
  const auto& transfers = schedule.transfers;
  if (!schedule.in_network) {
    for (const Transfer& transfer : transfers) {
      for (const LinkId link : schedule.route(transfer)) visit(link, transfer);
    }
    return;
  }
  for (std::size_t begin = 0, end = 0; begin < transfers.size(); begin = end) {
    while (end < transfers.size() && transfers[end].step == transfers[begin].step) ++end;
    for (const MessageGroup& group : message_groups(schedule, begin, end)) {
      const Transfer& one = transfers[group.transfers.front()];
      const CombinedRoutes routes = group.routes(schedule, topology);
      for (const CombinedRoutes::Hop& hop : routes.hops()) visit(hop.link, one);
    }
  }
}

}  // namespace multitree
