// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Channels of a network, and which of them are shared.
#include "nic/message/channels.hpp"

#include <algorithm>

#include "nic/network/channel_classes.hpp"

namespace multitree::nic {

Channels::Channels(const Program& program, const Topology& topology, const Parameters& parameters)
    : links_(topology.num_links()), ports_(ports_of(topology, parameters)) {
  const std::uint64_t clock = clock_of(topology, parameters);
  for (const Link& link : topology.links()) {
    const LinkCycles cycles = cycles_of(link, clock, parameters);
    channels_.push_back({.latency = cycles.latency,
                         .delay = cycles.latency + parameters.router_cycles,
                         .interval = cycles.interval});
  }
  first_ejection_ = links_ + ports_.all;
  channels_.resize(first_ejection_ + std::size_t{ports_.all},
                   {.latency = parameters.interface_cycles, .delay = parameters.interface_cycles});
  add_routes(program, topology, parameters);
  find_private(program, parameters);
}

void Channels::add_routes(const Program& program, const Topology& topology,
                          const Parameters& parameters) {
  const ChannelClasses classes =
      assign_classes(program.routes, links_, parameters.virtual_channels, topology.name());
  classes_ = classes.classes;
  for (std::size_t r = 0; r < program.routes.size(); ++r) {
    const std::vector<LinkId>& route = program.routes[r];
    first_hop_.push_back(static_cast<std::uint32_t>(hops_.size()));
    hops_.push_back({links_ + ports_.out[index(route.front())], 0});
    for (std::size_t i = 0; i < route.size(); ++i) {
      hops_.push_back({index(route[i]), classes.of_route[r][i]});
    }
    hops_.push_back({first_ejection_ + ports_.in[index(route.back())], 0});
    most_hops_ = std::max(most_hops_, static_cast<std::uint32_t>(route.size()) + 2);
    std::uint64_t delay = 0;
    for (std::size_t h = first_hop_.back(); h < hops_.size(); ++h) {
      delay += channels_[hops_[h].channel].delay;
    }
    delays_.push_back(delay);
  }
  first_hop_.push_back(static_cast<std::uint32_t>(hops_.size()));
}

void Channels::find_private(const Program& program, const Parameters& parameters) {
  constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::vector<std::uint32_t> feeder(channels_.size(), kNobody);
  std::vector<std::uint8_t> shared(channels_.size(), 0);
  for (std::uint32_t r = 0; r < program.routes.size(); ++r) {
    const auto hops = route(r);
    for (std::size_t h = 1; h < hops.size(); ++h) {
      std::uint32_t& of = feeder[hops[h].channel];
      if (of == kNobody) of = hops[h - 1].channel;
      if (of != hops[h - 1].channel) shared[hops[h].channel] = 1;
    }
  }
  const auto hindrance_at = [&](const Hop& hop) -> std::string_view {
    const Channel& channel = channels_[hop.channel];
    const std::uint64_t loop = std::uint64_t{channel.delay} + channel.latency;
    if (shared[hop.channel] != 0) return "messages of several ports share channels";
    if (channel.interval != kWholeCycle) return "links are slower than a flit a cycle";
    if (hop.channel < first_ejection_ && loop > parameters.buffer_flits) {
      return "buffers are shorter than the way there and back";
    }
    return "";
  };
  private_.assign(first_ejection_ - links_, 1);
  for (std::uint32_t r = 0; r < program.routes.size(); ++r) {
    const auto hops = route(r);
    for (const Hop& hop : hops) {
      const std::string_view hindrance = hindrance_at(hop);
      if (hindrance.empty()) continue;
      private_[hops[0].channel - links_] = 0;
      if (hindrance_.empty()) hindrance_ = hindrance;
      break;
    }
  }
}

}  // namespace multitree::nic
