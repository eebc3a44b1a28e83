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
      most_hops_(channels.most_hops()),
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

/// Into segments.
void Worms::cut(Worm& worm) const {
  // A whole number of segments fills a buffer, so that coarse grains do not waste any of it.
  const std::uint64_t buffer = parameters_.buffer_flits;
  const std::uint64_t wanted = std::clamp(worm.flits / 256, kFineGrain, kCoarseGrain);
  // Short ones have segments enough to be on several links at once; those of packets are as fine
  // as it takes to be as near to the flit model as messages are.
  const std::uint64_t few = parameters_.flow_control == FlowControl::Packet ? 4 : 8;
  const std::uint64_t most =
      std::max<std::uint64_t>(1, std::min({wanted, buffer / 4, worm.flits / few}));
  worm.grain = static_cast<std::uint32_t>(buffer / (buffer / most));
  worm.segments = static_cast<std::uint32_t>((worm.flits + worm.grain - 1) / worm.grain);
}

void Worms::start(std::uint64_t time, std::uint32_t message, std::uint64_t flits,
                  std::span<const Hop> route) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(worms_.size()));
    worms_.emplace_back();
    legs_.resize(legs_.size() + most_hops_);
    passages_.resize(legs_.size());
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  Worm& worm = worms_[number];
  worm.message = message;
  worm.time = time;
  worm.flits = flits;
  cut(worm);
  const std::uint32_t first = number * most_hops_;
  for (std::uint32_t hop = 0; hop < route.size(); ++hop) {
    legs_[first + hop] = {.worm = number,
                          .hop = hop,
                          .channel = route[hop].channel,
                          .channel_class = route[hop].channel_class,
                          .is_ejection = hop + 1 == route.size()};
  }
  legs_[first].data = time;
  servers_[route[0].channel].places.push_back({.leg = first});
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
  for (std::size_t d = 0; d < lane.departures.size(); ++d) {
    const Departure& departure = lane.departures[d];
    if (lane.sent + flits <= departure.flits + buffer) return departure.time + latency;
  }
  return kNever;
}

/// A virtual channel for a worm's first segment: one that no worm holds, an empty one if there is
/// one. \returns when there is one, and if that is now, which.
std::uint64_t Worms::choose_lane(std::uint64_t time, const Leg& leg, std::uint32_t& chosen) {
  const bool is_link = leg.channel < channels_.num_links();
  const std::uint64_t flits = flits_of(worms_[leg.worm], 0);
  std::uint64_t best = kNever;
  for (const std::uint32_t v : is_link ? of_class_[leg.channel_class] : all_) {
    const std::uint32_t number = lane_of(leg.channel, v);
    Lane& candidate = lanes_[number];
    if (candidate.taken) continue;
    const std::uint64_t at = leg.is_ejection ? time : room_at(leg.channel, candidate, flits, time);
    if (at < best) chosen = number;
    best = std::min(best, at);
    if (at == time && candidate.sent == candidate.credited) {
      chosen = number;
      break;
    }
  }
  return best;
}

/// When the leg's next segment is there. To be called when the leg or the one before it has sent,
/// and when it has come to the end of its buffer.
void Worms::find_data(std::uint32_t number) {
  Leg& leg = legs_[number];
  const Worm& worm = worms_[leg.worm];
  if (leg.hop == 0) return;  // all is there from the beginning
  leg.data = kNever;
  const Leg& before = legs_[number - 1];
  if (leg.next == worm.segments || before.next <= leg.next) return;
  if (lanes_[before.lane].legs.front() != number) return;
  const Passage& passed = passages_[number - 1].front();
  // Onto a faster link: its last flit cannot leave before it has come.
  const std::uint64_t slow = passed.last - passed.first;
  const std::uint64_t interval = channels_.all()[leg.channel].interval;
  const std::uint64_t fast = (flits_of(worm, leg.next) - 1) * interval / kWholeCycle;
  leg.data = passed.first + channels_.all()[before.channel].delay + (slow > fast ? slow - fast : 0);
}

/// When a leg's next segment can start, as far as anyone knows now; kNever: not before something
/// else starts. If now, `chosen` is its virtual channel.
std::uint64_t Worms::earliest(std::uint64_t time, const Leg& leg, std::uint32_t& chosen) {
  if (leg.data > time) return leg.data;
  if (leg.next == 0) return choose_lane(time, leg, chosen);
  chosen = leg.lane;
  if (leg.is_ejection) return time;
  return room_at(leg.channel, lanes_[chosen], flits_of(worms_[leg.worm], leg.next), time);
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
    const std::uint64_t ready = earliest(time, legs_[place.leg], chosen);
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

/// A segment leaves the buffer before a leg: credits go back, and the next worm in it may move up.
void Worms::leave_buffer(std::uint64_t time, std::uint32_t leg, std::uint64_t flits, bool is_last) {
  const Leg& before = legs_[leg - 1];
  Lane& from = lanes_[before.lane];
  from.left += flits;
  from.departures.push_back({time, from.left});
  call(before.channel, time + channels_.all()[before.channel].latency);
  if (!is_last) return;
  from.legs.pop_front();
  if (from.legs.empty()) return;
  find_data(from.legs.front());
  call(legs_[from.legs.front()].channel, time);
}

/// A segment goes into the buffer behind a leg.
void Worms::enter_buffer(std::uint64_t time, std::uint32_t leg, std::uint64_t flits,
                         bool is_first) {
  const std::uint32_t channel = legs_[leg].channel, following = leg + 1;
  Lane& to = lanes_[legs_[leg].lane];
  to.sent += flits;
  if (is_first) {
    to.legs.push_back(following);
    servers_[legs_[following].channel].places.push_back({.leg = following, .input = channel});
  }
  find_data(following);
  call(legs_[following].channel, time + channels_.all()[channel].delay);
}

/// The last flit of a worm has started on a leg. By value, as clients start other worms.
void Worms::end(Leg leg, std::uint64_t last) {
  const std::uint32_t message = worms_[leg.worm].message;
  if (leg.channel < channels_.num_links()) {
    client_.passed(leg.channel, message, leg.began, last + 1);
  }
  if (leg.hop == 0) client_.left(last + 1, message);
  if (leg.is_ejection) {
    client_.arrived(last + channels_.all()[leg.channel].delay, message);
    free_.push_back(leg.worm);
  }
}

void Worms::send(std::uint64_t time, std::uint32_t channel, std::size_t number,
                 std::uint32_t chosen) {
  Server& server = servers_[channel];
  Place& place = server.places[number];
  const std::uint32_t at = place.leg;
  Leg& leg = legs_[at];
  const Worm& worm = worms_[leg.worm];
  const std::uint32_t segment = leg.next++;
  const std::uint64_t flits = flits_of(worm, segment);
  const bool is_last = segment + 1 == worm.segments;
  leg.lane = chosen;
  const std::uint64_t last = occupy(server, time, flits, channels_.all()[channel].interval);
  if (leg.hop > 0) passages_[at - 1].pop_front();
  if (!leg.is_ejection) passages_[at].push_back({time, last});
  if (segment == 0) leg.began = time;
  server.last_input = place.input;
  place.served = time + 1;
  find_data(at);
  if (leg.hop > 0) leave_buffer(time, at, flits, is_last);
  lanes_[chosen].taken = !is_last;
  if (!leg.is_ejection) enter_buffer(time, at, flits, segment == 0);
  if (is_last) {
    server.places.erase(server.places.begin() + static_cast<std::ptrdiff_t>(number));
    end(leg, last);
  }
  if (!server.places.empty()) call(channel, server.free_at);
}

}  // namespace multitree::nic
