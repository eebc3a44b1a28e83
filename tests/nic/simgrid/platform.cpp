// SPDX-License-Identifier: BSD-3-Clause
#include "tests/nic/simgrid/platform.hpp"

#include <fmt/format.h>

namespace multitree::test {
namespace {

namespace s4u = simgrid::s4u;

constexpr double kHostSpeed = 1;              // nothing is computed
constexpr double kUnlimitedBandwidth = 1e18;  // bytes a cycle

double bytes_per_cycle(Bandwidth bandwidth) {
  return static_cast<double>(bandwidth.bytes_per_second) / kClockHertz;
}

double cycles(Time time) { return time.seconds() * kClockHertz; }

}  // namespace

void configure_fluid_model() {
  for (const char* setting :
       {"network/model:CM02", "network/TCP-gamma:0", "network/weight-S:0",
        "network/bandwidth-factor:1", "network/latency-factor:1", "network/crosstraffic:0"}) {
    s4u::Engine::set_config(setting);
  }
}

Platform::Platform(const Topology& topology, const MessageGraph& graph)
    : ranks_(topology.num_ranks()), zone_(s4u::create_full_zone("network")) {
  create_links(topology);
  create_hosts(graph.lane_numbers);
  for (const Lane& lane : graph.lanes) {
    add_route(Half::Wire, lane, shared_);
    add_route(Half::Flight, lane, delays_);
  }
  zone_->seal();
}

void Platform::create_links(const Topology& topology) {
  for (const Link& link : topology.links()) {
    shared_.push_back(
        zone_->create_link(fmt::format("shared{}", shared_.size()), bytes_per_cycle(link.bandwidth))
            ->seal());
    delays_.push_back(
        zone_->create_link(fmt::format("delay{}", delays_.size()), kUnlimitedBandwidth)
            ->set_latency(cycles(link.latency))
            ->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)
            ->seal());
  }
}

void Platform::create_hosts(std::uint32_t lane_numbers) {
  const std::size_t count = std::size_t{ranks_} * lane_numbers * 2;
  for (std::size_t i = 0; i < count; ++i) {
    hosts_.push_back(zone_->create_host(fmt::format("host{}", i), kHostSpeed));
  }
}

void Platform::add_route(Half half, const Lane& lane, const std::vector<s4u::Link*>& links) {
  std::vector<s4u::LinkInRoute> route;
  for (const LinkId id : lane.route) route.emplace_back(links[index(id)]);
  zone_->add_route(host(half, lane.number, lane.src)->get_netpoint(),
                   host(half, lane.number, lane.dst)->get_netpoint(), nullptr, nullptr, route,
                   /*symmetrical=*/false);
}

s4u::Host* Platform::host(Half half, std::uint32_t lane_number, Rank rank) const {
  const std::size_t group = std::size_t{lane_number} * 2 + (half == Half::Wire ? 0 : 1);
  return hosts_[group * ranks_ + index(rank)];
}

s4u::CommPtr Platform::wire(const Lane& lane, std::uint64_t bytes) const {
  return s4u::Comm::sendto_init(host(Half::Wire, lane.number, lane.src),
                                host(Half::Wire, lane.number, lane.dst))
      ->set_payload_size(bytes);
}

s4u::CommPtr Platform::flight(const Lane& lane) const {
  return s4u::Comm::sendto_init(host(Half::Flight, lane.number, lane.src),
                                host(Half::Flight, lane.number, lane.dst))
      ->set_payload_size(0);
}

}  // namespace multitree::test
