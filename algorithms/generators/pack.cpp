// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// List scheduling of messages on free shortest routes.
#include "algorithms/pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
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
        dependences_(topology.num_ranks(), schedule.chunks.size(), schedule.coalesces > 0) {
    for (const Link& link : topology.links()) bandwidths_.push_back(link.bandwidth);
    std::ranges::sort(bandwidths_, std::greater{});
    bandwidths_.erase(std::unique(bandwidths_.begin(), bandwidths_.end()), bandwidths_.end());
  }

  void add(const Message& m) {
    check_reachable(m.src, m.dst);
    const std::uint32_t step = find_step(m, earliest(m.op, m.chunk, m.src, m.dst), route_);
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
    std::uint32_t step =
        std::max(earliest(m.op, m.chunk, m.src, m.dst), earliest(m.op, m.chunk, m.dst, m.src));
    for (;; ++step) {
      step = find_step(m, step, route_);
      const auto room = [&](LinkId link) { return calendar_.room(link, step); };
      if (find_beside(m, route_, room, back_)) break;
    }
    place(m, step, route_);
    place(back, step, back_);
  }

  /// What comes now is in later steps than all that was added.
  void begin_wave() { floor_ = next_; }

 private:
  [[nodiscard]] std::uint32_t earliest(Op op, std::uint32_t chunk, Rank src, Rank dst) const {
    return std::max(floor_, dependences_.earliest(op, chunk, src, dst));
  }

  void check_reachable(Rank src, Rank dst) {
    if (router_.distance(topology_.node_of(src), topology_.node_of(dst)) == Router::kUnreachable) {
      throw Error(ErrorCode::Unsupported, fmt::format("{}: no route from rank {} to rank {}",
                                                      topology_.name(), index(src), index(dst)));
    }
  }

  /// Of the slowest link of a shortest route, the most that there is: what waits for a step on such
  /// a route is sooner there than over a slower one.
  Bandwidth widest(Rank src, Rank dst) {
    if (bandwidths_.size() == 1) return bandwidths_.front();
    const auto [known, is_new] = widest_.try_emplace({src, dst});
    if (!is_new) return known->second;
    for (const Bandwidth least : bandwidths_) {
      const auto wide = [&](LinkId link) { return topology_.link(link).bandwidth >= least; };
      if (!router_.find(topology_.node_of(src), topology_.node_of(dst), wide, probe_)) continue;
      return known->second = least;
    }
    return known->second;
  }

  /// The earliest step >= `step` with a free shortest route for `m`, which `route` becomes.
  std::uint32_t find_step(const Message& m, std::uint32_t step, std::vector<LinkId>& route) {
    const Bandwidth least = widest(m.src, m.dst);
    for (;;) {
      // If the search fails, the same nodes stay unreachable until one of the links that stopped it
      // has room again: the steps before that need no search.
      std::uint32_t retry = std::numeric_limits<std::uint32_t>::max();
      const auto usable = [&](LinkId link) {
        if (topology_.link(link).bandwidth < least) return false;
        const std::uint32_t free = calendar_.next_free(link, step);
        if (free != step) retry = std::min(retry, free);
        return free == step;
      };
      const auto rested = [&](LinkId link) {
        return calendar_.room(link, step - 1) == topology_.slots(link) && usable(link);
      };
      const NodeId src = topology_.node_of(m.src), dst = topology_.node_of(m.dst);
      // Waves would all take the first of several routes: each takes another than the one before.
      if (floor_ > 0 && router_.find(src, dst, rested, route)) return step;
      if (router_.find(src, dst, usable, route)) return step;
      step = retry;
    }
  }

  /// A route for the way back of swap `m` while the way there takes `there`; `room` says how many
  /// transfers a link can carry, those of `there` included.
  template <class Room>
  bool find_beside(const Message& m, const std::vector<LinkId>& there, const Room& room,
                   std::vector<LinkId>& back) {
    const Bandwidth least = widest(m.dst, m.src);
    const auto usable = [&](LinkId link) {
      if (topology_.link(link).bandwidth < least) return false;
      const bool taken = std::ranges::find(there, link) != there.end();
      return room(link) > (taken ? 1U : 0U);
    };
    return router_.find(topology_.node_of(m.dst), topology_.node_of(m.src), usable, back);
  }

  /// Whether some step, however late, has room for both ways of `m`. On a symmetric network it
  /// always has: no link is on shortest routes of both.
  bool fits_in_an_empty_step(const Message& m) {
    const Bandwidth least = widest(m.src, m.dst);
    const auto any = [&](LinkId link) { return topology_.link(link).bandwidth >= least; };
    const auto slots = [&](LinkId link) { return topology_.slots(link); };
    router_.find(topology_.node_of(m.src), topology_.node_of(m.dst), any, route_);
    return find_beside(m, route_, slots, back_);
  }

  void place(const Message& m, std::uint32_t step, const std::vector<LinkId>& route) {
    calendar_.take(route, step);
    dependences_.record(m.op, m.chunk, m.src, m.dst, step);
    next_ = std::max(next_, step + 1);
    schedule_.add(step, m.op, m.chunk, m.src, m.dst, route);
  }

  Schedule& schedule_;
  const Topology& topology_;
  Router router_;
  LinkCalendar calendar_;
  Dependences dependences_;
  std::vector<Bandwidth> bandwidths_;  ///< of links, the highest first
  std::map<std::pair<Rank, Rank>, Bandwidth> widest_;
  std::uint32_t floor_ = 0, next_ = 0;
  std::vector<LinkId> route_, back_, probe_;
};

}  // namespace

Schedule pack(Schedule header, std::span<const Message> messages, const Topology& topology) {
  Schedule schedule = std::move(header);
  schedule.transfers.clear();
  schedule.routes.clear();
  schedule.transfers.reserve(messages.size());
  Packer packer(schedule, topology);
  std::uint32_t wave = 0;
  for (const Message& m : messages) {
    if (m.wave > wave) packer.begin_wave();
    wave = std::max(wave, m.wave);
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
