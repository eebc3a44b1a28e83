// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How many router-cycles a second the flit-level network simulates under uniform random traffic:
/// bench_network [SPEC [FLITS/NODE/CYCLE [PACKET FLITS [CYCLES]]]], 4 virtual channels of 8 flits.
/// Prints the median of five runs. A cycle-level simulator that is widely used (BookSim 2) has been
/// measured at 0.74 million on the default case.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "nic/network/fabric.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

constexpr double kPeer = 0.74e6;  // router-cycles a second

/// A packet of a source queue.
struct Waiting {
  std::uint32_t packet = 0, sent = 0;
  bool started = false;
};

struct Load {
  double flits = 0.3;  // offered, a node and cycle
  std::uint32_t packet_flits = 5;
  std::uint32_t cycles = 100'000;
};

struct Outcome {
  double seconds = 0;
  std::uint64_t delivered = 0, moves = 0;
  std::uint32_t classes = 0;
  double latency = 0;  // mean cycles from creation to the tail's arrival
};

/// One hop from a node towards a coordinate of another along a dimension, the shorter way round; of
/// two equal ways, even nodes go up and odd ones down.
LinkId hop_towards(const Topology& topology, std::uint32_t at, std::uint32_t next) {
  for (const LinkId link : topology.out_links(topology.node_of(Rank{at}))) {
    if (topology.link(link).dst == topology.node_of(Rank{next})) return link;
  }
  fmt::print(stderr, "expected a torus with dimensions above 2\n");
  std::exit(2);
}

/// Dimension by dimension.
std::vector<LinkId> route(const Topology& topology, std::uint32_t from, std::uint32_t to) {
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

std::vector<std::vector<LinkId>> all_routes(const Topology& topology) {
  std::vector<std::vector<LinkId>> routes;
  for (std::uint32_t s = 0; s < topology.num_ranks(); ++s) {
    for (std::uint32_t d = 0; d < topology.num_ranks(); ++d) {
      if (s != d) routes.push_back(route(topology, s, d));
    }
  }
  return routes;
}

Outcome run(const Topology& topology, const Load& load) {
  const nic::Parameters parameters{.virtual_channels = 4, .buffer_flits = 8, .ports = 1};
  nic::Fabric fabric(topology, parameters);
  const auto routes = all_routes(topology);
  const auto classes = nic::assign_classes(routes, topology.num_links(), 4, "bench");
  fabric.set_routes(routes, classes);
  Outcome outcome{.classes = classes.classes};
  const std::uint32_t ranks = topology.num_ranks();
  std::mt19937_64 random(1);
  const auto threshold = static_cast<std::uint64_t>(load.flits / load.packet_flits * 0x1p32);
  std::vector<std::deque<Waiting>> queues(ranks);
  std::vector<nic::Cycle> created;
  std::uint64_t packets = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t cycle = 0; cycle < load.cycles; ++cycle) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const std::uint64_t number = random();
      if ((number & 0xffffffff) < threshold) {
        const auto to = static_cast<std::uint32_t>((number >> 32) % (ranks - 1));
        const std::uint32_t packet = fabric.open(r * (ranks - 1) + to, 1);
        created.resize(std::max<std::size_t>(created.size(), packet + 1));
        created[packet] = cycle;
        queues[r].push_back({packet});
      }
      if (queues[r].empty()) continue;
      Waiting& first = queues[r].front();
      if (!first.started && !(first.started = fabric.start(first.packet, Rank{r}, 0))) continue;
      if (!fabric.inject(first.packet, first.sent == 0, first.sent + 1 == load.packet_flits)) {
        continue;
      }
      if (++first.sent == load.packet_flits) queues[r].pop_front();
    }
    fabric.step();
    for (const nic::Delivery& flit : fabric.delivered()) {
      ++outcome.delivered;
      if (!flit.tail) continue;
      outcome.latency += flit.time - created[flit.packet];
      ++packets;
      fabric.release(flit.packet);
    }
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  outcome.moves = fabric.moves();
  outcome.latency /= static_cast<double>(std::max<std::uint64_t>(1, packets));
  return outcome;
}

int main(int argc, char** argv) {
  const Topology topology = make_topology(argc > 1 ? argv[1] : "torus:8x8?lat=1ns");
  Load load;
  if (argc > 2) load.flits = std::strtod(argv[2], nullptr);
  if (argc > 3) load.packet_flits = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  if (argc > 4) load.cycles = static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
  std::vector<double> seconds;
  Outcome outcome;
  for (int i = 0; i < 5; ++i) {
    outcome = run(topology, load);
    seconds.push_back(outcome.seconds);
  }
  std::ranges::sort(seconds);
  const double cycles = load.cycles, routers = topology.num_nodes();
  const double rate = cycles * routers / seconds[2];
  fmt::print(
      "{}: offered {} flits/node/cycle in packets of {}, {} cycles, {} classes of channels\n",
      topology.name(), load.flits, load.packet_flits, load.cycles, outcome.classes);
  // A router that has anything to do moves at least one flit, unless it is blocked.
  fmt::print(
      "accepted {:.4f} flits/node/cycle, mean latency {:.1f} cycles, {:.2f} flits moved a "
      "router and cycle\n",
      static_cast<double>(outcome.delivered) / cycles / topology.num_ranks(), outcome.latency,
      static_cast<double>(outcome.moves) / cycles / routers);
  fmt::print("{:.2f} M router-cycles/s ({:.1f} x the peer), {:.2f} M flit-hops/s\n", rate / 1e6,
             rate / kPeer, static_cast<double>(outcome.moves) / seconds[2] / 1e6);
  return 0;
}

}  // namespace
}  // namespace multitree

int main(int argc, char** argv) { return multitree::main(argc, argv); }
