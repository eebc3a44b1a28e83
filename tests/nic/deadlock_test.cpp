// SPDX-License-Identifier: BSD-3-Clause
/// Routes that cannot deadlock, those that do, and the network under random traffic.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <random>

#include "algorithms/registry.hpp"
#include "nic/network/channel_classes.hpp"
#include "nic/network/fabric.hpp"
#include "nic/program/program.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::assign_classes;
using nic::ChannelClasses;
using nic::Fabric;
using nic::Parameters;
using Route = std::vector<LinkId>;
using testing::HasSubstr;

/// Takes links without predecessors away until there are none (Kahn): nothing is left if and only
/// if no (link, class) waits for itself.
bool is_acyclic(const std::vector<Route>& routes, const ChannelClasses& classes) {
  using Place = std::pair<LinkId, std::uint8_t>;
  std::map<Place, std::vector<Place>> next;
  std::map<Place, std::uint32_t> before;
  for (std::size_t r = 0; r < routes.size(); ++r) {
    for (std::size_t i = 0; i + 1 < routes[r].size(); ++i) {
      const Place held{routes[r][i], classes.of_route[r][i]};
      const Place wanted{routes[r][i + 1], classes.of_route[r][i + 1]};
      next[held].push_back(wanted);
      next[wanted];
      before[held];
      ++before[wanted];
    }
  }
  std::queue<Place> free;
  for (const auto& [place, count] : before) {
    if (count == 0) free.push(place);
  }
  std::size_t gone = 0;
  for (; !free.empty(); free.pop(), ++gone) {
    for (const Place& wanted : next[free.front()]) {
      if (--before[wanted] == 0) free.push(wanted);
    }
  }
  return gone == before.size();
}

void expect_sound(const std::vector<Route>& routes, const ChannelClasses& classes,
                  std::uint32_t most) {
  ASSERT_EQ(classes.of_route.size(), routes.size());
  EXPECT_LE(classes.classes, most);
  for (std::size_t r = 0; r < routes.size(); ++r) {
    ASSERT_EQ(classes.of_route[r].size(), routes[r].size());
    EXPECT_TRUE(std::ranges::is_sorted(classes.of_route[r]));
    if (!routes[r].empty()) {
      EXPECT_LT(classes.of_route[r].back(), classes.classes);
    }
  }
  EXPECT_TRUE(is_acyclic(routes, classes));
}

LinkId link_between(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  for (const LinkId link : topology.out_links(NodeId{from})) {
    if (topology.link(link).dst == NodeId{to}) return link;
  }
  throw std::logic_error("no link");
}

/// From each of the ranks round a ring to the one `hops` on.
std::vector<Route> ring_routes(const Topology& topology, std::uint32_t hops) {
  const std::uint32_t n = topology.num_nodes();
  std::vector<Route> routes(n);
  for (std::uint32_t r = 0; r < n; ++r) {
    for (std::uint32_t h = 0; h < hops; ++h) {
      routes[r].push_back(link_between(topology, (r + h) % n, (r + h + 1) % n));
    }
  }
  return routes;
}

TEST(ChannelClasses, RingsNeedTwo) {
  for (const std::uint32_t n : {3U, 4U, 8U, 15U}) {
    const Topology topology = make_topology(fmt::format("ring:{}", n));
    for (std::uint32_t hops = 1; hops < n; ++hops) {
      const std::vector<Route> routes = ring_routes(topology, hops);
      const ChannelClasses classes = assign_classes(routes, topology.num_links(), 2, "ring");
      expect_sound(routes, classes, 2);
      EXPECT_EQ(classes.classes, hops == 1 ? 1U : 2U);
      if (hops == 1) continue;
      try {
        assign_classes(routes, topology.num_links(), 1, "a ring");
        ADD_FAILURE() << "expected an error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::Unsupported);
        EXPECT_THAT(error.what(), HasSubstr("a ring: expected routes"));
      }
    }
  }
}

TEST(ChannelClasses, TheCheckerFindsCircles) {
  const Topology topology = make_topology("ring:4");
  const std::vector<Route> routes = ring_routes(topology, 2);
  EXPECT_FALSE(is_acyclic(routes, {1, std::vector<nic::RouteClasses>(4, {0, 0})}));
}

TEST(ChannelClasses, NothingNeedsOne) {
  const std::vector<Route> none;
  EXPECT_EQ(assign_classes(none, 4, 1, "none").classes, 1U);
}

Route random_walk(const Topology& topology, std::mt19937_64& random, std::size_t most) {
  Route route;
  NodeId at{static_cast<std::uint32_t>(random() % topology.num_nodes())};
  std::vector<bool> seen(topology.num_nodes(), false);
  for (std::size_t hops = 1 + random() % most; hops > 0; --hops) {
    seen[index(at)] = true;
    const auto out = topology.out_links(at);
    const LinkId link = out[random() % out.size()];
    at = topology.link(link).dst;
    if (seen[index(at)]) break;
    route.push_back(link);
  }
  return route;
}

TEST(ChannelClasses, RandomRoutesOnRandomGraphs) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto nodes = static_cast<std::uint32_t>(4 + random() % 20);
    TopologyBuilder builder("random");
    for (std::uint32_t n = 0; n < nodes; ++n) builder.add_endpoint();
    const Bandwidth bandwidth{16'000'000'000};
    for (std::uint32_t n = 1; n < nodes; ++n) {
      builder.add_duplex(NodeId{n}, NodeId{static_cast<std::uint32_t>(random() % n)}, bandwidth,
                         Time{0});
      const auto other = static_cast<std::uint32_t>(random() % nodes);
      if (other != n) builder.add_link(NodeId{n}, NodeId{other}, bandwidth, Time{0});
    }
    const Topology topology = std::move(builder).build();
    std::vector<Route> routes;
    for (std::uint32_t i = 0; i < 20 * nodes; ++i) {
      routes.push_back(random_walk(topology, random, 1 + seed % 9));
    }
    const ChannelClasses classes = assign_classes(routes, topology.num_links(), 32, "random");
    SCOPED_TRACE(fmt::format("seed {}: {} classes", seed, classes.classes));
    expect_sound(routes, classes, 32);
  }
}

TEST(ChannelClasses, RoutesOfSchedules) {
  for (const char* spec : {"torus:4x4", "mesh:4x4", "hypercube:4", "fattree:4x4", "bigraph:4x4",
                           "dragonfly:4x1x2", "dgx-a100:2", "torus:3x5"}) {
    const Topology topology = make_topology(spec);
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.unsupported(topology) || algorithm.name == "auto") continue;
      const Schedule schedule =
          generate_schedule(algorithm.name, topology, Collective::AllReduce, Rank{0});
      const auto routes = nic::compile_program(schedule, topology, topology.num_ranks()).routes;
      expect_sound(routes, assign_classes(routes, topology.num_links(), 4, spec), 4);
    }
  }
}

/// Sends packets from its ranks' queues, and counts what arrives.
class Traffic {
 public:
  struct Packet {
    std::uint32_t route = 0, flits = 1;
    Rank dst{};
  };
  Traffic(Fabric& fabric, const Topology& topology, const std::vector<Route>& routes)
      : fabric_(fabric), topology_(topology), routes_(routes) {}

  void add(std::uint32_t route, std::uint32_t flits) {
    const Route& r = routes_[route];
    const Rank src = *topology_.node(topology_.link(r.front()).src).rank;
    const nic::Ports& ports = fabric_.ports();
    queues_[{src, ports.out[index(r.front())] - ports.first[index(src)]}].packets.push(
        {route, flits, *topology_.node(topology_.link(r.back()).dst).rank});
    flits_ += flits;
    link_flits_ += flits * r.size();
  }
  /// One cycle. \returns whether anything moved.
  bool step() {
    const std::uint64_t moves = fabric_.moves();
    bool sent = false;
    for (auto& [place, queue] : queues_) sent = inject(place.first, place.second, queue) || sent;
    fabric_.step();
    for (const nic::Delivery& flit : fabric_.delivered()) receive(flit);
    return sent || fabric_.moves() != moves || fabric_.next_event() != Fabric::kNever;
  }
  [[nodiscard]] std::uint64_t left() const { return flits_ - received_; }
  [[nodiscard]] std::uint64_t link_flits() const { return link_flits_; }

 private:
  struct Queue {
    std::queue<Packet> packets;
    std::uint32_t number = 0, sent = 0;
    bool started = false;
  };
  struct Flight {
    std::uint32_t flits = 0, received = 0;
  };

  bool inject(Rank rank, std::uint32_t port, Queue& queue) {
    if (queue.packets.empty()) return false;
    const Packet& packet = queue.packets.front();
    if (!queue.started) {
      if (queue.sent == 0) {
        queue.number = fabric_.open(packet.route, 1);
        queue.sent = 1;  // opened
      }
      if (!fabric_.start(queue.number, rank, port)) return false;
      queue.started = true;
      EXPECT_EQ(flights_.count(queue.number), 0U) << "a packet's number is in use";
      flights_[queue.number] = {packet.flits, 0};
    }
    const bool is_tail = queue.sent == packet.flits;
    if (!fabric_.inject(queue.number, queue.sent == 1, is_tail)) return false;
    ++queue.sent;
    if (is_tail) {
      queue.packets.pop();
      queue.started = false;
      queue.sent = 0;
    }
    return true;
  }
  void receive(const nic::Delivery& flit) {
    ++received_;
    const auto found = flights_.find(flit.packet);
    ASSERT_NE(found, flights_.end());
    EXPECT_EQ(flit.head, found->second.received == 0);
    EXPECT_EQ(flit.tail, ++found->second.received == found->second.flits);
    if (!flit.tail) return;
    fabric_.release(flit.packet);
    flights_.erase(found);
  }

  Fabric& fabric_;
  const Topology& topology_;
  const std::vector<Route>& routes_;
  std::map<std::pair<Rank, std::uint32_t>, Queue> queues_;
  std::map<std::uint32_t, Flight> flights_;
  std::uint64_t flits_ = 0, link_flits_ = 0, received_ = 0;
};

/// Cycles until all has arrived, or nothing moves any more (0).
std::uint64_t drain(Traffic& traffic, const Fabric& fabric) {
  for (std::uint32_t quiet = 0; traffic.left() > 0;) {
    quiet = traffic.step() ? 0 : quiet + 1;
    if (quiet > 2000) return 0;
    if (fabric.now() > 10'000'000) return 0;
  }
  return fabric.now();
}

TEST(Deadlock, HappensInCirclesAndIsNamed) {
  const Topology topology = make_topology("ring:4?lat=1ns");
  const std::vector<Route> routes = ring_routes(topology, 3);
  for (const std::uint32_t depth : {1U, 2U}) {
    const Parameters p{.virtual_channels = 1, .buffer_flits = depth};
    Fabric fabric(topology, p);
    fabric.set_routes(routes, {1, std::vector<nic::RouteClasses>(4, {0, 0, 0})});
    Traffic traffic(fabric, topology, routes);
    for (std::uint32_t r = 0; r < 4; ++r) traffic.add(r, 40);
    EXPECT_EQ(drain(traffic, fabric), 0U);
    const std::string blockage = fabric.describe_blockage();
    EXPECT_THAT(blockage, testing::StartsWith("circle of waiting buffers: link "));
    EXPECT_EQ(std::ranges::count(blockage, '>'), 4 + 5) << blockage;
    for (const Route& route : routes) {
      const Link& link = topology.link(route.front());
      EXPECT_THAT(blockage, HasSubstr(fmt::format("link {}->{} vc 0", topology.node(link.src).name,
                                                  topology.node(link.dst).name)));
    }
    EXPECT_THAT(fabric.check_drained(), HasSubstr("not delivered"));
  }
}

TEST(Deadlock, TwoClassesPreventIt) {
  const Topology topology = make_topology("ring:4?lat=1ns");
  const std::vector<Route> routes = ring_routes(topology, 3);
  const Parameters p{.virtual_channels = 2, .buffer_flits = 1};
  Fabric fabric(topology, p);
  fabric.set_routes(routes, assign_classes(routes, topology.num_links(), 2, "ring"));
  Traffic traffic(fabric, topology, routes);
  for (std::uint32_t r = 0; r < 4; ++r) traffic.add(r, 40);
  EXPECT_GT(drain(traffic, fabric), 0U);
  EXPECT_EQ(fabric.describe_blockage(), "no flit is in the network");
}

/// Random minimal routes, a dimension first or the other.
std::vector<Route> torus_routes(const Topology& topology, std::uint32_t side,
                                std::mt19937_64& random) {
  std::vector<Route> routes;
  for (std::uint32_t from = 0; from < side * side; ++from) {
    for (std::uint32_t to = 0; to < side * side; ++to) {
      if (from == to) continue;
      std::array<std::uint32_t, 2> at = {from / side, from % side}, end = {to / side, to % side};
      const std::size_t first = random() % 2;
      Route route;
      for (const std::size_t d : {first, 1 - first}) {
        const std::uint32_t forth = (end[d] + side - at[d]) % side;
        const bool back = forth > side / 2 || (forth * 2 == side && random() % 2 == 0);
        while (at[d] != end[d]) {
          const std::uint32_t node = at[0] * side + at[1];
          at[d] = (at[d] + (back ? side - 1 : 1)) % side;
          route.push_back(link_between(topology, node, at[0] * side + at[1]));
        }
      }
      routes.push_back(std::move(route));
    }
  }
  return routes;
}

TEST(RandomTraffic, AllArrivesOnceAndInOrder) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(seed);
    const auto side = static_cast<std::uint32_t>(3 + seed % 3);
    const bool is_slow = seed % 4 == 0;
    const Topology topology = make_topology(fmt::format(
        "torus:{}x{}?lat={}ns{}", side, side, 1 + random() % 20, is_slow ? "&bw=10GB/s" : ""));
    const std::vector<Route> routes = torus_routes(topology, side, random);
    const Parameters p{.virtual_channels = 8,
                       .buffer_flits = static_cast<std::uint32_t>(1 + random() % 9),
                       .router_cycles = static_cast<std::uint32_t>(random() % 3),
                       .interface_cycles = static_cast<std::uint32_t>(1 + random() % 3),
                       .ports = static_cast<std::uint32_t>(random() % 3)};
    const ChannelClasses classes = assign_classes(routes, topology.num_links(), 8, "torus");
    expect_sound(routes, classes, 8);
    SCOPED_TRACE(fmt::format("seed {}: {} classes", seed, classes.classes));
    Fabric fabric(topology, p);
    fabric.set_routes(routes, classes);
    Traffic traffic(fabric, topology, routes);
    for (std::uint32_t i = 0; i < 2000; ++i) {
      traffic.add(static_cast<std::uint32_t>(random() % routes.size()),
                  static_cast<std::uint32_t>(1 + random() % 24));
    }
    ASSERT_GT(drain(traffic, fabric), 0U) << fabric.describe_blockage();
    std::uint64_t link_flits = 0;
    for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
      link_flits += fabric.flits_on(LinkId{l});
    }
    EXPECT_EQ(link_flits, traffic.link_flits());
    EXPECT_EQ(fabric.check_drained(), "");
    EXPECT_EQ(fabric.next_event(), Fabric::kNever);
  }
}

}  // namespace
}  // namespace multitree
