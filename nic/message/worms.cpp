// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Segments on shared links.
#include "nic/message/worms.hpp"

#include <algorithm>
#include <tuple>

namespace multitree::nic {
namespace {

constexpr std::uint64_t kFineGrain = 16, kCoarseGrain = 64;  // flits of a segment

}  // namespace

Worms::Worms(const Channels& channels, const Parameters& parameters, Client& client)
    : channels_(channels),
      parameters_(parameters),
      client_(client),
      servers_(channels.all().size()),
      lanes_of_channel_(parameters.virtual_channels),
      lanes_(channels.all().size() * parameters.virtual_channels),
      of_class_(channels.classes()) {
  for (std::uint32_t v = 0; v < parameters.virtual_channels; ++v) {
    of_class_[v * channels.classes() / parameters.virtual_channels].push_back(v);
    all_.push_back(v);
  }
}

std::uint64_t Worms::flits_of(const Worm& worm, std::uint32_t segment) const {
  return segment + 1 < worm.segments ? worm.grain
                                     : worm.flits - std::uint64_t{worm.grain} * segment;
}

std::uint64_t Worms::occupy(Server& server, std::uint64_t time, std::uint64_t flits,
                            std::uint32_t interval) {
  const auto whole = [](std::uint64_t units) { return (units + kWholeCycle - 1) / kWholeCycle; };
  // As the flit-level network does it: fractions of cycles are made up for while flits follow.
  const std::uint64_t now = time * kWholeCycle;
  server.pace = std::max(server.pace, now - std::min<std::uint64_t>(now, kWholeCycle - 1));
  const std::uint64_t last = whole(server.pace + (flits - 1) * interval);
  server.pace += flits * interval;
  server.free_at = whole(server.pace);
  return last;
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
  const std::uint64_t wanted = std::clamp(flits / 256, kFineGrain, kCoarseGrain);
  // Short ones have segments enough to be on several links at once; those of packets are as fine
  // as it takes to be as near to the flit model as messages are.
  const std::uint64_t few = parameters_.flow_control == FlowControl::Packet ? 4 : 8;
  const std::uint64_t most =
      std::max<std::uint64_t>(1, std::min({wanted, buffer / 4, flits / few}));
  worm.grain = static_cast<std::uint32_t>(buffer / (buffer / most));
  worm.segments = static_cast<std::uint32_t>((flits + worm.grain - 1) / worm.grain);
  worm.route = route;
  worm.next.assign(route.size(), 0);
  worm.lane.resize(route.size());
  worm.passages.resize(route.size() * worm.segments);
  servers_[route[0].channel].places.push_back({.worm = number});
  call(route[0].channel, time);
}

void Worms::call(std::uint32_t channel, std::uint64_t time) {
  Server& server = servers_[channel];
  time = std::max(time, server.free_at);
  if (time >= server.called_for) return;
  server.called_for = time;
  client_.call(time, channel);
}

/// When a buffer has room for more flits; kNever: not before something else leaves it.
std::uint64_t Worms::room_at(std::uint32_t channel, Lane& lane, std::uint64_t flits,
                             std::uint64_t time) {
  const std::uint64_t latency = channels_.all()[channel].latency;
  while (!lane.departures.empty() && lane.departures.front().time + latency <= time) {
    lane.credited = lane.departures.front().flits;
    lane.departures.pop_front();
  }
  const std::uint64_t buffer = parameters_.buffer_flits;
  if (lane.sent + flits <= lane.credited + buffer) return time;
  for (const Departure& departure : lane.departures) {
    if (lane.sent + flits <= departure.flits + buffer) return departure.time + latency;
  }
  return kNever;
}

/// A virtual channel for a worm's first segment: one that no worm holds, an empty one if there is
/// one. \returns when there is one, and if that is now, which.
std::uint64_t Worms::choose_lane(std::uint64_t time, const Place& place, std::uint32_t& chosen) {
  const Worm& worm = worms_[place.worm];
  const Hop hop = worm.route[place.hop];
  const bool is_ejection = place.hop + 1 == worm.route.size();
  const bool is_link = hop.channel < channels_.num_links();
  std::uint64_t best = kNever;
  for (const std::uint32_t v : is_link ? of_class_[hop.channel_class] : all_) {
    Lane& candidate = lane(hop.channel, v);
    if (candidate.taken) continue;
    const std::uint64_t at =
        is_ejection ? time : room_at(hop.channel, candidate, flits_of(worm, 0), time);
    if (at < best) chosen = v;
    best = std::min(best, at);
    if (at == time && candidate.sent == candidate.credited) {
      chosen = v;
      break;
    }
  }
  return best;
}

/// When the worm's next segment is at the hop.
std::uint64_t Worms::data_at(const Place& place) {
  Worm& worm = worms_[place.worm];
  const std::uint32_t segment = worm.next[place.hop], hop = place.hop;
  if (segment == worm.segments) return kNever;
  if (hop == 0) return worm.time;
  const std::uint32_t input = worm.route[hop - 1].channel;
  if (worm.next[hop - 1] <= segment) return kNever;
  if (lane(input, worm.lane[hop - 1]).worms.front() != place.worm) return kNever;
  const Passage& before = passage(worm, hop - 1, segment);
  // Onto a faster link: its last flit cannot leave before it has come.
  const std::uint64_t slow = before.last - before.first;
  const std::uint64_t interval = channels_.all()[worm.route[hop].channel].interval;
  const std::uint64_t fast = (flits_of(worm, segment) - 1) * interval / kWholeCycle;
  return before.first + channels_.all()[input].delay + (slow > fast ? slow - fast : 0);
}

/// When a worm's next segment can start, as far as anyone knows now; kNever: not before something
/// else starts. If now, `chosen` is its virtual channel.
std::uint64_t Worms::earliest(std::uint64_t time, const Place& place, std::uint32_t& chosen) {
  const std::uint64_t data = data_at(place);
  if (data > time) return data;
  const Worm& worm = worms_[place.worm];
  const std::uint32_t segment = worm.next[place.hop];
  if (segment == 0) return choose_lane(time, place, chosen);
  chosen = worm.lane[place.hop];
  if (place.hop + 1 == worm.route.size()) return time;
  const std::uint32_t channel = worm.route[place.hop].channel;
  return room_at(channel, lane(channel, chosen), flits_of(worm, segment), time);
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
  std::uint32_t into = 0;
  const auto order = [&](const Place& place) {
    return std::tuple(place.input <= server.last_input, place.input, place.served);
  };
  for (std::size_t i = 0; i < server.places.size(); ++i) {
    const Place& place = server.places[i];
    std::uint32_t chosen = 0;
    const std::uint64_t ready = earliest(time, place, chosen);
    next = std::min(next, ready);
    if (ready > time) continue;
    if (best == kNobody || order(place) < order(server.places[best])) {
      best = i;
      into = chosen;
    }
  }
  if (best != kNobody) {
    send(time, channel, best, into);
  } else if (next != kNever) {
    call(channel, next);
  }
}

/// A segment leaves the buffer before a hop: credits go back, and the next worm in it may move up.
void Worms::leave_buffer(std::uint64_t time, const Place& place, std::uint64_t flits,
                         bool is_last) {
  const Worm& worm = worms_[place.worm];
  const std::uint32_t channel = worm.route[place.hop - 1].channel;
  Lane& from = lane(channel, worm.lane[place.hop - 1]);
  from.left += flits;
  from.departures.push_back({time, from.left});
  call(channel, time + channels_.all()[channel].latency);
  if (!is_last) return;
  from.worms.pop_front();
  if (from.worms.empty()) return;
  const Worm& next = worms_[from.worms.front()];
  const auto hop = std::ranges::find(next.route, channel, &Hop::channel) - next.route.begin();
  call(next.route[static_cast<std::size_t>(hop) + 1].channel, time);
}

void Worms::send(std::uint64_t time, std::uint32_t channel, std::size_t number,
                 std::uint32_t chosen) {
  Server& server = servers_[channel];
  Place& place = server.places[number];
  Worm& worm = worms_[place.worm];
  const std::uint32_t hop = place.hop, segment = worm.next[hop]++;
  const std::uint64_t flits = flits_of(worm, segment);
  const bool is_ejection = hop + 1 == worm.route.size();
  const bool is_last = segment + 1 == worm.segments;
  worm.lane[hop] = chosen;
  const std::uint64_t last = occupy(server, time, flits, channels_.all()[channel].interval);
  passage(worm, hop, segment) = {time, last};
  server.last_input = place.input;
  place.served = time + 1;
  if (hop > 0) {
    leave_buffer(time, place, flits, is_last);
  }
  Lane& to = lane(channel, chosen);
  to.taken = !is_last;
  if (!is_ejection) {
    to.sent += flits;
    const std::uint32_t following = worm.route[hop + 1].channel;
    if (segment == 0) {
      to.worms.push_back(place.worm);
      servers_[following].places.push_back({.worm = place.worm, .hop = hop + 1, .input = channel});
    }
    call(following, time + channels_.all()[channel].delay);
  }
  const Place done = place;
  if (is_last) {
    if (channel < channels_.num_links()) {
      client_.passed(channel, worm.message, passage(worm, hop, 0).first, last + 1);
    }
    server.places.erase(server.places.begin() + static_cast<std::ptrdiff_t>(number));
    if (hop == 0) client_.left(last + 1, worm.message);
    if (is_ejection) {
      client_.arrived(last + channels_.all()[channel].delay, worm.message);
      free_.push_back(done.worm);
    }
  }
  if (!server.places.empty()) call(channel, server.free_at);
}

}  // namespace multitree::nic
