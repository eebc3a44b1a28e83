// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links of the cost model, and what passes them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "algorithms/combined_routes.hpp"
#include "algorithms/cost.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Whole numbers: exact up to 2.5 hours, and without overflow beyond.
using Picoseconds = double;

/// Time of `bytes` over `bandwidth`, rounded.
inline Picoseconds serialisation(double bytes, Bandwidth bandwidth) {
  return std::round(bytes * 1e12 / static_cast<double>(bandwidth.bytes_per_second));
}

/// The end of a replay. \throws Error(Unsupported) if that is more than a Time holds; `of` is what
/// the message begins with
Time to_time(Picoseconds end, std::uint64_t bytes, std::string_view of = {});

/// When something can be sent, or has been: its first message and its last.
struct Times {
  Picoseconds first = 0;
  Picoseconds last = 0;
};

/// Bytes of one transfer, and how many messages they are.
struct Size {
  double bytes = 0;
  double messages = 1;
  [[nodiscard]] double piece() const { return bytes / messages; }
};

/// What links have to carry. Each starts once it is free and the link before it has started, and is
/// done once it has sent all and the link before it is done; what it may send at once has been
/// sent so much earlier.
class Links {
 public:
  /// `schedule`: all that will be sent.
  Links(const Topology& topology, const CostModel& model, const Schedule& schedule)
      : topology_(topology),
        burst_(static_cast<double>(model.burst_bytes)),
        latency_(static_cast<Picoseconds>(model.message_latency.picoseconds)),
        pipes_(pipes_of(topology, model.pooled)),
        busy_until_(topology.num_links(), 0),
        load_(burst_ > 0 ? topology.num_links() : 0, 0) {
    if (model.port_loss > 0 && topology.has_switches()) slow_ports(schedule, model.port_loss);
  }

  struct Departure {
    Times sent;
    Picoseconds latency = 0;
    [[nodiscard]] Times arrival() const { return {sent.first + latency, sent.last + latency}; }
  };

  /// Sends along a route, the first message and the last no earlier than `ready`.
  Departure depart(std::span<const LinkId> route, const Times& ready, const Size& size) {
    Passage passage(ready);
    for (const LinkId id : route) pass(id, size, passage);
    return departed(passage, ready, size);
  }

  /// Copies of one message: when each route's has left.
  std::vector<Departure> depart(const CombinedRoutes& routes, std::size_t count, const Times& ready,
                                const Size& size) {
    std::vector<Passage> passages;
    for (const CombinedRoutes::Hop& hop : routes.hops()) {
      passages.push_back(hop.nearer == CombinedRoutes::kNone ? Passage(ready)
                                                             : passages[hop.nearer]);
      pass(hop.link, size, passages.back());
    }
    std::vector<Departure> departures;
    for (std::size_t route = 0; route < count; ++route) {
      const std::uint32_t hop = routes.far_hop(route);
      departures.push_back(hop == CombinedRoutes::kNone ? Departure{ready, 0}
                                                        : departed(passages[hop], ready, size));
    }
    return departures;
  }

  /// Messages that switches add to one, each from when its sender has it: where they meet, the last
  /// one is waited for.
  Departure depart_together(const CombinedRoutes& routes, std::span<const Times> ready,
                            const Size& size) {
    std::vector<Passage> passages(routes.hops().size(), Passage({0, 0}));
    Passage whole({0, 0});
    Times last{0, 0};
    for (std::size_t route = 0; route < ready.size(); ++route) {
      last = {std::max(last.first, ready[route].first), std::max(last.last, ready[route].last)};
      const std::uint32_t hop = routes.far_hop(route);
      (hop == CombinedRoutes::kNone ? whole : passages[hop]).wait_for(Passage(ready[route]));
    }
    for (std::size_t hop = passages.size(); hop-- > 0;) {
      pass(routes.hops()[hop].link, size, passages[hop]);
      const std::uint32_t nearer = routes.hops()[hop].nearer;
      (nearer == CombinedRoutes::kNone ? whole : passages[nearer]).wait_for(passages[hop]);
    }
    return departed(whole, last, size);
  }

  /// What the busiest takes for all that it carries; 0 without bursts, which alone could hide it.
  [[nodiscard]] Picoseconds most_load() const {
    return load_.empty() ? 0 : *std::ranges::max_element(load_);
  }

 private:
  /// A message on its way: when it started on the link that it passed last, and had been sent.
  struct Passage {
    explicit Passage(const Times& ready) : start(ready.first), sent(ready) {}
    void wait_for(const Passage& other) {
      start = std::max(start, other.start);
      sent = {std::max(sent.first, other.sent.first), std::max(sent.last, other.sent.last)};
      latency = std::max(latency, other.latency);
      slowest = std::max(slowest, other.slowest);
    }
    Picoseconds start;
    Times sent;
    Picoseconds latency = 0, slowest = 0;
  };

  void pass(LinkId id, const Size& size, Passage& passage) {
    Pipe& of_link = pipes_[index(id)];
    const auto& [pipe, bandwidth, bytes, of_bytes] = of_link;
    if (bytes != size.bytes) {
      of_link.bytes = size.bytes;
      of_link.of_bytes = serialisation(size.bytes, bandwidth);
    }
    const Picoseconds whole = of_bytes;
    const Picoseconds piece = size.messages > 1 ? serialisation(size.piece(), bandwidth) : whole;
    const Picoseconds at_once = burst_ > 0 ? serialisation(burst_, bandwidth) : 0;
    Picoseconds& busy = busy_until_[pipe];
    const Picoseconds begin = std::max(passage.start, busy);
    busy = begin + whole;
    passage.start = std::max(passage.start, begin - at_once);
    passage.sent.first = std::max({passage.sent.first, passage.start, begin + piece - at_once});
    passage.sent.last = std::max({passage.sent.last, passage.start, busy - at_once});
    passage.latency += static_cast<Picoseconds>(topology_.link(id).latency.picoseconds);
    passage.slowest = std::max(passage.slowest, piece - at_once);
    if (burst_ > 0) load_[pipe] += whole;
  }

  Departure departed(const Passage& passage, const Times& ready, const Size& size) const {
    Departure departure{passage.sent, latency_ + passage.latency};
    if (size.messages > 1) {
      departure.sent.last = std::max(departure.sent.last, ready.last + passage.slowest);
    }
    return departure;
  }

  /// What carries a link's bytes: itself, or the first of its parallel ones for all of them.
  struct Pipe {
    std::size_t link = 0;
    Bandwidth bandwidth{};
    // What passed last, and its time: it is what passes next, most often.
    double bytes = -1;
    Picoseconds of_bytes = 0;
  };

  static std::vector<Pipe> pipes_of(const Topology& topology, bool pooled) {
    std::vector<Pipe> pipes(topology.num_links());
    std::map<std::pair<NodeId, NodeId>, std::size_t> first;
    for (std::size_t i = 0; i < pipes.size(); ++i) {
      const Link& link = topology.links()[i];
      pipes[i] = {.link = i, .bandwidth = link.bandwidth};
      if (!pooled) continue;
      pipes[i].link = first.try_emplace({link.src, link.dst}, i).first->second;
      if (pipes[i].link != i) {
        pipes[pipes[i].link].bandwidth.bytes_per_second += link.bandwidth.bytes_per_second;
      }
    }
    for (Pipe& pipe : pipes) pipe.bandwidth = pipes[pipe.link].bandwidth;
    return pipes;
  }

  /// By what is lost where several ranks send over one (CostModel::port_loss).
  void slow_ports(const Schedule& schedule, std::uint32_t loss) {
    const std::size_t words = (schedule.ranks + 63) / 64;
    std::vector<std::uint64_t> senders(pipes_.size() * words, 0);
    for (const Transfer& transfer : schedule.transfers) {
      const std::uint32_t src = index(transfer.src);
      for (const LinkId id : schedule.route(transfer)) {
        if (topology_.node(topology_.link(id).src).rank) continue;
        senders[pipes_[index(id)].link * words + src / 64] |= std::uint64_t{1} << src % 64;
      }
    }
    for (Pipe& pipe : pipes_) {
      const auto* const bits = &senders[pipe.link * words];
      int count = 0;
      for (std::size_t i = 0; i < words; ++i) count += std::popcount(bits[i]);
      const double lost = loss / 1000.0 * std::max(0, count - 1);
      auto& rate = pipe.bandwidth.bytes_per_second;
      rate = static_cast<std::remove_reference_t<decltype(rate)>>(static_cast<double>(rate) /
                                                                  (1 + lost));
    }
  }

  const Topology& topology_;
  double burst_;
  Picoseconds latency_;  // of a message beyond its links
  std::vector<Pipe> pipes_;
  std::vector<Picoseconds> busy_until_, load_;
};

}  // namespace multitree
