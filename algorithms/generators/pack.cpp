// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// List scheduling of messages on free shortest routes.
#include "algorithms/pack.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "algorithms/generators/dependences_internal.hpp"
#include "algorithms/generators/link_calendar_internal.hpp"
#include "algorithms/routing.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// The earliest step >= `step` with a free shortest route from src to dst; `route` becomes the
/// route.
std::uint32_t find_step(NodeId src, NodeId dst, std::uint32_t step, Router& router,
                        LinkCalendar& calendar, std::vector<LinkId>& route) {
  for (;;) {
    // If the search fails, the same nodes stay unreachable until one of the links that stopped it
    // has room again: the steps before that need no search.
    std::uint32_t retry = std::numeric_limits<std::uint32_t>::max();
    const auto usable = [&](LinkId link) {
      const std::uint32_t free = calendar.next_free(link, step);
      if (free != step) retry = std::min(retry, free);
      return free == step;
    };
    if (router.find(src, dst, usable, route)) return step;
    step = retry;
  }
}

}  // namespace

Schedule pack(Schedule header, std::span<const Message> messages, const Topology& topology) {
  Schedule schedule = std::move(header);
  schedule.transfers.clear();
  schedule.routes.clear();
  schedule.transfers.reserve(messages.size());
  Router router(topology);
  LinkCalendar calendar(topology);
  Dependences dependences(topology.num_ranks(), schedule.chunks.size());
  std::vector<LinkId> route;
  for (const Message& m : messages) {
    const NodeId src = topology.node_of(m.src), dst = topology.node_of(m.dst);
    if (router.distance(src, dst) == Router::kUnreachable) {
      throw Error(ErrorCode::Unsupported, fmt::format("{}: no route from rank {} to rank {}",
                                                      topology.name(), index(m.src), index(m.dst)));
    }
    const std::uint32_t step = find_step(
        src, dst, dependences.earliest(m.op, m.chunk, m.src, m.dst), router, calendar, route);
    calendar.take(route, step);
    dependences.record(m.op, m.chunk, m.src, m.dst, step);
    schedule.add(step, m.op, m.chunk, m.src, m.dst, route);
  }
  schedule.canonicalize();
  return schedule;
}

}  // namespace multitree
