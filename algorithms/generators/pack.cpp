// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// List scheduling of messages on free shortest routes.
#include "algorithms/pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "algorithms/generators/dependences_internal.hpp"
#include "algorithms/generators/link_calendar_internal.hpp"
#include "algorithms/routing.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

class Packer {
 public:
  Packer(Schedule& schedule, const Topology& topology)
      : schedule_(schedule),
        topology_(topology),
        router_(topology),
        calendar_(topology),
        dependences_(topology.num_ranks(), schedule.chunks.size()) {}

  void add(const Message& m) {
    check_reachable(m.src, m.dst);
    const std::uint32_t step =
        find_step(m, dependences_.earliest(m.op, m.chunk, m.src, m.dst), route_);
    place(m, step, route_);
  }

  void add_swap(const Message& m) {
    check_reachable(m.src, m.dst);
    check_reachable(m.dst, m.src);
    const Message back{Op::Reduce, m.chunk, m.dst, m.src};
    if (!fits_in_an_empty_step(m)) {
      add(m);
      return add({Op::Copy, m.chunk, m.dst, m.src});
    }
    std::uint32_t step = std::max(dependences_.earliest(m.op, m.chunk, m.src, m.dst),
                                  dependences_.earliest(m.op, m.chunk, m.dst, m.src));
    for (;; ++step) {
      step = find_step(m, step, route_);
      const auto room = [&](LinkId link) { return calendar_.room(link, step); };
      if (find_beside(m, route_, room, back_)) break;
    }
    place(m, step, route_);
    place(back, step, back_);
  }

 private:
  void check_reachable(Rank src, Rank dst) {
    if (router_.distance(topology_.node_of(src), topology_.node_of(dst)) == Router::kUnreachable) {
      throw Error(ErrorCode::Unsupported, fmt::format("{}: no route from rank {} to rank {}",
                                                      topology_.name(), index(src), index(dst)));
    }
  }

  /// The earliest step >= `step` with a free shortest route for `m`, which `route` becomes.
  std::uint32_t find_step(const Message& m, std::uint32_t step, std::vector<LinkId>& route) {
    for (;;) {
      // If the search fails, the same nodes stay unreachable until one of the links that stopped it
      // has room again: the steps before that need no search.
      std::uint32_t retry = std::numeric_limits<std::uint32_t>::max();
      const auto usable = [&](LinkId link) {
        const std::uint32_t free = calendar_.next_free(link, step);
        if (free != step) retry = std::min(retry, free);
        return free == step;
      };
      if (router_.find(topology_.node_of(m.src), topology_.node_of(m.dst), usable, route)) {
        return step;
      }
      step = retry;
    }
  }

  /// A route for the way back of swap `m` while the way there takes `there`; `room` says how many
  /// transfers a link can carry, those of `there` included.
  template <class Room>
  bool find_beside(const Message& m, const std::vector<LinkId>& there, const Room& room,
                   std::vector<LinkId>& back) {
    const auto usable = [&](LinkId link) {
      const bool taken = std::ranges::find(there, link) != there.end();
      return room(link) > (taken ? 1U : 0U);
    };
    return router_.find(topology_.node_of(m.dst), topology_.node_of(m.src), usable, back);
  }

  /// Whether some step, however late, has room for both ways of `m`. On a symmetric network it
  /// always has: no link is on shortest routes of both.
  bool fits_in_an_empty_step(const Message& m) {
    const auto any = [](LinkId) { return true; };
    const auto slots = [&](LinkId link) { return topology_.slots(link); };
    router_.find(topology_.node_of(m.src), topology_.node_of(m.dst), any, route_);
    return find_beside(m, route_, slots, back_);
  }

  void place(const Message& m, std::uint32_t step, const std::vector<LinkId>& route) {
    calendar_.take(route, step);
    dependences_.record(m.op, m.chunk, m.src, m.dst, step);
    schedule_.add(step, m.op, m.chunk, m.src, m.dst, route);
  }

  Schedule& schedule_;
  const Topology& topology_;
  Router router_;
  LinkCalendar calendar_;
  Dependences dependences_;
  std::vector<LinkId> route_, back_;
};

}  // namespace

Schedule pack(Schedule header, std::span<const Message> messages, const Topology& topology) {
  Schedule schedule = std::move(header);
  schedule.transfers.clear();
  schedule.routes.clear();
  schedule.transfers.reserve(messages.size());
  Packer packer(schedule, topology);
  for (const Message& m : messages) {
    if (!m.swap) {
      packer.add(m);
    } else if (m.op == Op::Reduce) {
      packer.add_swap(m);
    } else {
      throw Error(ErrorCode::InvalidArgument, "a swap of copies: expected a swap of reductions");
    }
  }
  schedule.canonicalize();
  return schedule;
}

}  // namespace multitree
