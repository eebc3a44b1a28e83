// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random packets on a torus of routers, as simulators of networks are compared by: how many flits
/// get through, and how long packets take.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <random>
#include <string_view>
#include <vector>

#include "nic/network/fabric.hpp"
#include "topologies/registry.hpp"

namespace multitree::bench {

/// Where the packets of a node go.
enum class Pattern : std::uint8_t {
  Others,    ///< to any other node
  Everyone,  ///< to any node, itself among them: such packets take their time at the source alone
  Tornado    ///< in every dimension of k nodes, ceil(k / 2) - 1 nodes up
};

struct Load {
  double flits = 0.3;  ///< offered, a node and cycle
  std::uint32_t packet_flits = 5;
  std::uint32_t warm_up = 0;       ///< cycles before those that count
  std::uint32_t cycles = 100'000;  ///< in which flits and packets count
  /// Goes on until all packets that count have arrived, but for no more cycles than these.
  std::uint32_t drain = 0;
  Pattern pattern = Pattern::Others;
};

struct Outcome {
  double wall_seconds = 0, cpu_seconds = 0;
  std::uint64_t simulated = 0;             ///< cycles in all
  std::uint64_t delivered = 0, moves = 0;  ///< flits that arrived, and that moved, while it counted
  std::uint32_t classes = 0;
  std::uint64_t packets = 0, missing = 0;  ///< that count; of them, that had not arrived at the end
  double latency = 0;                      ///< mean cycles from creation to the tail's arrival
};

/// The node that is one further along a dimension: the shorter way round; of two equal ways, even
/// nodes go up and odd ones down.
inline LinkId hop_towards(const Topology& topology, std::uint32_t at, std::uint32_t next) {
  for (const LinkId link : topology.out_links(topology.node_of(Rank{at}))) {
    if (topology.link(link).dst == topology.node_of(Rank{next})) return link;
  }
  fmt::print(stderr, "expected a torus with dimensions above 2\n");
  std::exit(2);
}

/// Dimension by dimension.
inline std::vector<LinkId> route(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> links;
  std::uint32_t at = from, stride = 1;
  for (const std::uint32_t size : topology.shape().dims) {
    const auto coordinate = [&](std::uint32_t rank) { return rank / stride % size; };
    const std::uint32_t up = (coordinate(to) + size - coordinate(from)) % size;
    const bool goes_up = 2 * up < size || (2 * up == size && coordinate(from) % 2 == 0);
    for (std::uint32_t left = goes_up ? up : size - up; left > 0 && up > 0; --left) {
      const std::uint32_t c = (coordinate(at) + (goes_up ? 1 : size - 1)) % size;
      const std::uint32_t next = at - coordinate(at) * stride + c * stride;
      links.push_back(hop_towards(topology, at, next));
      at = next;
    }
    stride *= size;
  }
  return links;
}

/// Of each pair, sources first.
inline std::vector<std::vector<LinkId>> all_routes(const Topology& topology) {
  std::vector<std::vector<LinkId>> routes;
  for (std::uint32_t s = 0; s < topology.num_ranks(); ++s) {
    for (std::uint32_t d = 0; d < topology.num_ranks(); ++d) {
      if (s != d) routes.push_back(route(topology, s, d));
    }
  }
  return routes;
}

/// Classes as BookSim's `dim_order` has them on a torus: in each dimension 1 where the packet goes
/// up across the end of the ring, or down without crossing it, else 0. No circle of waiting packets
/// is closed, as none goes further than half a ring.
inline nic::ChannelClasses classes_of_dimensions(const Topology& topology) {
  nic::ChannelClasses classes{.classes = 2, .of_route = {}};
  for (std::uint32_t s = 0; s < topology.num_ranks(); ++s) {
    for (std::uint32_t d = 0; d < topology.num_ranks(); ++d) {
      if (s == d) continue;
      nic::RouteClasses& route_classes = classes.of_route.emplace_back();
      std::uint32_t stride = 1;
      for (const std::uint32_t size : topology.shape().dims) {
        const std::uint32_t from = s / stride % size, to = d / stride % size;
        const std::uint32_t up = (to + size - from) % size;
        const bool goes_up = 2 * up < size || (2 * up == size && from % 2 == 0);
        const bool upper = goes_up ? from > to : to < from;
        route_classes.insert(route_classes.end(), goes_up ? up : size - up, upper ? 1 : 0);
        stride *= size;
      }
    }
  }
  return classes;
}

/// Packets of one source, oldest first, and the network that they enter.
class Traffic {
 public:
  Traffic(const Topology& topology, const nic::Parameters& parameters, const Load& load)
      : Traffic(topology, parameters, load,
                nic::assign_classes(all_routes(topology), topology.num_links(),
                                    parameters.virtual_channels, "bench")) {}
  Traffic(const Topology& topology, const nic::Parameters& parameters, const Load& load,
          const nic::ChannelClasses& classes)
      : topology_(topology),
        load_(load),
        interface_cycles_(parameters.interface_cycles),
        fabric_(topology, parameters),
        queues_(ranks()) {
    outcome_.classes = classes.classes;
    fabric_.set_routes(all_routes(topology), classes);
  }

  Outcome run() {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t cpu = std::clock();
    for (cycle_ = 0; cycle_ < counts_until() + load_.drain; ++cycle_) {
      if (cycle_ >= counts_until() && arrived_ == outcome_.packets) break;
      create();
      for (std::uint32_t r = 0; r < ranks(); ++r) send(r);
      fabric_.step();
      if (cycle_ + 1 == load_.warm_up) outcome_.moves = fabric_.moves();
      if (cycle_ + 1 == counts_until()) outcome_.moves = fabric_.moves() - outcome_.moves;
      take();
    }
    outcome_.cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    outcome_.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    outcome_.simulated = cycle_;
    outcome_.missing = outcome_.packets - arrived_;
    outcome_.latency /= static_cast<double>(std::max<std::uint64_t>(1, arrived_));
    return outcome_;
  }

 private:
  struct Waiting {
    std::uint32_t packet = 0;  // kOwn: to its own node
    std::uint32_t created = 0, sent = 0;
    bool started = false;
  };
  static constexpr std::uint32_t kOwn = ~std::uint32_t{0};

  [[nodiscard]] std::uint32_t ranks() const { return topology_.num_ranks(); }
  [[nodiscard]] std::uint32_t counts_until() const { return load_.warm_up + load_.cycles; }
  [[nodiscard]] bool counts(std::uint32_t cycle) const {
    return cycle >= load_.warm_up && cycle < counts_until();
  }

  [[nodiscard]] std::uint32_t destination(std::uint32_t from, std::uint64_t number) const {
    if (load_.pattern == Pattern::Everyone) return static_cast<std::uint32_t>(number % ranks());
    if (load_.pattern == Pattern::Others) {
      const auto other = static_cast<std::uint32_t>(number % (ranks() - 1));
      return other < from ? other : other + 1;
    }
    std::uint32_t to = 0, stride = 1;
    for (const std::uint32_t size : topology_.shape().dims) {
      to += (from / stride % size + (size + 1) / 2 - 1) % size * stride;
      stride *= size;
    }
    return to;
  }

  void create() {
    const auto threshold = static_cast<std::uint64_t>(load_.flits / load_.packet_flits * 0x1p32);
    for (std::uint32_t r = 0; r < ranks(); ++r) {
      const std::uint64_t number = random_();
      if ((number & 0xffffffff) >= threshold) continue;
      outcome_.packets += counts(cycle_) ? 1 : 0;
      const std::uint32_t to = destination(r, number >> 32);
      if (to == r) {
        queues_[r].push_back({kOwn, cycle_});
        continue;
      }
      const std::uint32_t packet = fabric_.open(r * (ranks() - 1) + (to < r ? to : to - 1), 1);
      created_.resize(std::max<std::size_t>(created_.size(), packet + 1));
      created_[packet] = cycle_;
      queues_[r].push_back({packet, cycle_});
    }
  }

  void send(std::uint32_t rank) {
    if (queues_[rank].empty()) return;
    Waiting& first = queues_[rank].front();
    if (first.packet == kOwn) {
      send_own(rank, first);
      return;
    }
    if (!first.started && !(first.started = fabric_.start(first.packet, Rank{rank}, 0))) return;
    const bool is_last = first.sent + 1 == load_.packet_flits;
    if (!fabric_.inject(first.packet, first.sent == 0, is_last)) return;
    if (++first.sent == load_.packet_flits) queues_[rank].pop_front();
  }

  /// A flit from the source to its own sink, past the router.
  void send_own(std::uint32_t rank, Waiting& first) {
    const std::uint32_t arrival = cycle_ + 2 * interface_cycles_;
    if (counts(arrival)) ++outcome_.delivered;
    if (++first.sent < load_.packet_flits) return;
    if (counts(first.created)) {
      outcome_.latency += arrival - first.created;
      ++arrived_;
    }
    queues_[rank].pop_front();
  }

  void take() {
    for (const nic::Delivery& flit : fabric_.delivered()) {
      if (counts(cycle_)) ++outcome_.delivered;
      if (!flit.tail) continue;
      if (counts(created_[flit.packet])) {
        outcome_.latency += flit.time - created_[flit.packet];
        ++arrived_;
      }
      fabric_.release(flit.packet);
    }
  }

  const Topology& topology_;
  const Load& load_;
  std::uint32_t interface_cycles_;
  nic::Fabric fabric_;
  std::mt19937_64 random_{1};
  std::vector<std::deque<Waiting>> queues_;
  std::vector<nic::Cycle> created_;  // by packet
  std::uint32_t cycle_ = 0;
  std::uint64_t arrived_ = 0;
  Outcome outcome_;
};

}  // namespace multitree::bench
