// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Channels of a network, and which of them are shared.
#include "nic/message/channels.hpp"

#include <algorithm>

#include "nic/network/channel_classes.hpp"

namespace multitree::nic {

Channels::Channels(const Program& program, const Topology& topology, const Parameters& parameters)
    : links_(topology.num_links()) {
  const std::uint64_t clock = clock_of(topology, parameters);
  for (const Link& link : topology.links()) {
    const LinkCycles cycles = cycles_of(link, clock, parameters);
    channels_.push_back({.latency = cycles.latency,
                         .delay = cycles.latency + parameters.router_cycles,
                         .interval = cycles.interval});
  }
  add_ports(topology, parameters);
  add_routes(program, topology, parameters);
  find_private(program, parameters);
}

void Channels::add_ports(const Topology& topology, const Parameters& parameters) {
  port_in_.resize(links_);
  std::uint32_t all = 0;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const NodeId node = topology.node_of(Rank{r});
    const auto out = topology.out_links(node), in = topology.in_links(node);
    const auto most = static_cast<std::uint32_t>(std::max({out.size(), in.size(), std::size_t{1}}));
    const std::uint32_t ports = parameters.ports == 0 ? most : std::min(parameters.ports, most);
    first_of_rank_.push_back(all);
    ports_.push_back(ports);
    all += ports;
    std::vector<std::uint32_t>& of_link = port_of_link_.emplace_back();
    for (std::uint32_t i = 0; i < out.size(); ++i) of_link.push_back(i % ports);
    for (std::uint32_t i = 0; i < in.size(); ++i) port_in_[index(in[i])] = i % ports;
  }
  first_ejection_ = links_ + all;
  channels_.resize(channels_.size() + std::size_t{2} * all,
                   {.latency = parameters.interface_cycles, .delay = parameters.interface_cycles});
}

void Channels::add_routes(const Program& program, const Topology& topology,
                          const Parameters& parameters) {
  const ChannelClasses classes =
      assign_classes(program.routes, links_, parameters.virtual_channels, topology.name());
  classes_ = classes.classes;
  for (std::size_t r = 0; r < program.routes.size(); ++r) {
    const std::vector<LinkId>& route = program.routes[r];
    first_hop_.push_back(static_cast<std::uint32_t>(hops_.size()));
    const NodeId from = topology.link(route.front()).src, to = topology.link(route.back()).dst;
    const std::uint32_t src = index(*topology.node(from).rank),
                        dst = index(*topology.node(to).rank);
    const auto out = topology.out_links(from);
    const auto first =
        static_cast<std::size_t>(std::ranges::find(out, route.front()) - out.begin());
    hops_.push_back({links_ + first_of_rank_[src] + port_of_link_[src][first], 0});
    for (std::size_t i = 0; i < route.size(); ++i) {
      hops_.push_back({index(route[i]), classes.of_route[r][i]});
    }
    hops_.push_back({first_ejection_ + first_of_rank_[dst] + port_in_[index(route.back())], 0});
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
  const auto hinders = [&](const Hop& hop) {
    const Channel& channel = channels_[hop.channel];
    const std::uint64_t loop = std::uint64_t{channel.delay} + channel.latency;
    return shared[hop.channel] != 0 || channel.interval != kWholeCycle ||
           (hop.channel < first_ejection_ && loop > parameters.buffer_flits);
  };
  private_.assign(first_ejection_ - links_, 1);
  for (std::uint32_t r = 0; r < program.routes.size(); ++r) {
    const auto hops = route(r);
    if (std::ranges::any_of(hops, hinders)) private_[hops[0].channel - links_] = 0;
  }
}

}  // namespace multitree::nic
