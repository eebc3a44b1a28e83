// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Segments on shared links.
#include "nic/message/worms.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace multitree::nic {

Worms::Worms(const Channels& channels, const Parameters& parameters, Client& client)
    : channels_(channels),
      parameters_(parameters),
      client_(client),
      servers_(channels.all().size()),
      capacity_(channels.classes(), 0) {
  for (std::uint32_t v = 0; v < parameters.virtual_channels; ++v) {
    ++capacity_[v * channels.classes() / parameters.virtual_channels];
  }
  for (Server& server : servers_) server.in_use.assign(channels.classes(), 0);
}

std::uint64_t Worms::flits_of(const Worm& worm, std::uint32_t segment) const {
  return segment + 1 < worm.segments ? worm.grain
                                     : worm.flits - std::uint64_t{worm.grain} * segment;
}

std::uint64_t Worms::cycles_of(const Worm& worm, std::uint32_t segment, std::uint32_t hop) const {
  const std::uint64_t interval = channels_.all()[worm.route[hop].channel].interval;
  return (flits_of(worm, segment) * interval + kWholeCycle - 1) / kWholeCycle;
}

void Worms::start(std::uint64_t time, std::uint32_t message, std::uint64_t flits,
                  std::span<const Hop> route) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(worms_.size()));
    worms_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  Worm& worm = worms_[number];
  worm.message = message;
  worm.time = time;
  worm.flits = flits;
  // A whole number of segments fills a buffer, so that coarse grains do not waste any of it.
  const std::uint64_t buffer = parameters_.buffer_flits;
  const std::uint64_t most =
      std::max<std::uint64_t>(1, std::min<std::uint64_t>({getenv("GR")?strtoul(getenv("GR"),0,10):64, buffer / 4, flits / (getenv("GD")?strtoul(getenv("GD"),0,10):16)}));
  worm.room = static_cast<std::uint32_t>(buffer / most);
  worm.grain = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, buffer / worm.room));
  worm.segments = static_cast<std::uint32_t>((flits + worm.grain - 1) / worm.grain);
  worm.route = route;
  worm.next.assign(route.size(), 0);
  worm.starts.resize(route.size() * worm.segments);
  attach(route[0].channel, {.worm = number});
  call(route[0].channel, time);
}

void Worms::call(std::uint32_t channel, std::uint64_t time) {
  Server& server = servers_[channel];
  time = std::max(time, server.free_at);
  if (time >= server.called_for) return;
  server.called_for = time;
  client_.call(time, channel);
}

void Worms::attach(std::uint32_t channel, Place place) {
  Server& server = servers_[channel];
  const std::uint8_t which = worms_[place.worm].route[place.hop].channel_class;
  // Ports of interfaces give all their virtual channels to anyone.
  const std::uint32_t capacity =
      channel < channels_.num_links() ? capacity_[which] : parameters_.virtual_channels;
  if (server.in_use[which] >= capacity) {
    server.waiting.push_back(place);
    return;
  }
  ++server.in_use[which];
  server.active.push_back(place);
}

void Worms::detach(std::uint32_t channel, std::size_t number) {
  Server& server = servers_[channel];
  const Place place = server.active[number];
  const std::uint8_t which = worms_[place.worm].route[place.hop].channel_class;
  --server.in_use[which];
  server.active.erase(server.active.begin() + static_cast<std::ptrdiff_t>(number));
  const auto next = std::ranges::find_if(server.waiting, [&](const Place& p) {
    return worms_[p.worm].route[p.hop].channel_class == which;
  });
  if (next == server.waiting.end()) return;
  ++server.in_use[which];
  server.active.push_back(*next);
  server.waiting.erase(next);
}

/// When the worm's next segment can start on a hop as far as itself and the buffer behind the hop
/// are concerned; kNever: not before something else starts.
std::uint64_t Worms::earliest(Worm& worm, std::uint32_t hop) {
  const std::uint32_t segment = worm.next[hop];
  if (segment == worm.segments) return kNever;
  std::uint64_t time = worm.time;
  if (hop > 0) {
    if (worm.next[hop - 1] <= segment) return kNever;
    const Channel& before = channels_.all()[worm.route[hop - 1].channel];
    time = start_of(worm, hop - 1, segment) + before.delay;
    // Onto a faster link: its last flit cannot leave before it has come.
    const std::uint64_t slow = cycles_of(worm, segment, hop - 1),
                        fast = cycles_of(worm, segment, hop);
    if (slow > fast) time += slow - fast;
  }
  if (hop + 1 < worm.route.size() && segment >= worm.room) {
    if (worm.next[hop + 1] <= segment - worm.room) return kNever;
    time = std::max(time, start_of(worm, hop + 1, segment - worm.room) +
                              channels_.all()[worm.route[hop].channel].latency);
  }
  return time;
}

void Worms::serve(std::uint64_t time, std::uint32_t channel) {
  Server& server = servers_[channel];
  if (server.called_for != time) return;  // called again for an earlier time, and served then
  server.called_for = kNever;
  if (server.free_at > time) {
    call(channel, server.free_at);
    return;
  }
  // As in a router: inputs in turn, and of those that come from one input the longest waiting.
  constexpr std::size_t kNobody = ~std::size_t{0};
  std::uint64_t next = kNever;
  std::size_t best = kNobody;
  const auto order = [&](const Place& place) {
    return std::tuple(place.input <= server.last_input, place.input, place.served);
  };
  for (std::size_t i = 0; i < server.active.size(); ++i) {
    const Place& place = server.active[i];
    const std::uint64_t ready = earliest(worms_[place.worm], place.hop);
    next = std::min(next, ready);
    if (ready > time) continue;
    if (best == kNobody || order(place) < order(server.active[best])) best = i;
  }
  if (best != kNobody) {
    send(time, channel, best);
  } else if (next != kNever) {
    call(channel, next);
  }
}

void Worms::send(std::uint64_t time, std::uint32_t channel, std::size_t number) {
  Server& server = servers_[channel];
  const Place place = server.active[number];
  Worm& worm = worms_[place.worm];
  const std::uint32_t hop = place.hop, segment = worm.next[hop]++;
  const std::uint64_t cycles = cycles_of(worm, segment, hop);
  start_of(worm, hop, segment) = time;
  server.free_at = time + cycles;
  server.last_input = place.input;
  server.active[number].served = time + 1;
  const bool is_last_hop = hop + 1 == worm.route.size();
  const bool is_last_segment = segment + 1 == worm.segments;
  if (!is_last_hop) {
    const std::uint32_t following = worm.route[hop + 1].channel;
    if (segment == 0) attach(following, {.worm = place.worm, .hop = hop + 1, .input = channel});
    call(following, time + channels_.all()[channel].delay);
  }
  if (hop > 0 && worm.next[hop - 1] < worm.segments) {
    const std::uint32_t before = worm.route[hop - 1].channel;
    call(before, time + channels_.all()[before].latency);
  }
  if (is_last_segment) {
    if (channel < channels_.num_links()) {
      client_.passed(channel, worm.message, start_of(worm, hop, 0), server.free_at);
    }
    detach(channel, number);
    if (hop == 0) client_.left(server.free_at, worm.message);
    if (is_last_hop) {
      client_.arrived(server.free_at - 1 + channels_.all()[channel].delay, worm.message);
      free_.push_back(place.worm);
    }
  }
  if (!server.active.empty()) call(channel, server.free_at);
}

}  // namespace multitree::nic
