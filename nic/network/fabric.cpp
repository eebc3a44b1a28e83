// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cycles of routers.
#include "nic/network/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "topologies/error.hpp"

namespace multitree::nic {
Fabric::Fabric(const Topology& topology, const Parameters& parameters)
    : vcs_(parameters.virtual_channels),
      depth_(parameters.buffer_flits),
      router_cycles_(parameters.router_cycles),
      links_(topology.num_links()) {
  while ((1U << shift_) < vcs_) ++shift_;
  const std::uint64_t clock = clock_of(topology, parameters);
  port_out_.resize(links_);
  port_in_.resize(links_);
  std::uint32_t longest = parameters.interface_cycles;
  for (const Link& link : topology.links()) {
    const LinkCycles cycles = cycles_of(link, clock, parameters);
    longest = std::max(longest, cycles.latency);
    Channel& channel = channels_.emplace_back();
    channel.latency = cycles.latency;
    channel.slow = cycles.interval != kWholeCycle;
    paces_.push_back({.interval = cycles.interval});
    names_.push_back(
        fmt::format("{}->{}", topology.node(link.src).name, topology.node(link.dst).name));
  }
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const NodeId node = topology.node_of(Rank{r});
    const auto out = topology.out_links(node), in = topology.in_links(node);
    const auto most = static_cast<std::uint32_t>(std::max({out.size(), in.size(), std::size_t{1}}));
    const std::uint32_t ports = parameters.ports == 0 ? most : std::min(parameters.ports, most);
    first_port_.push_back(static_cast<std::uint32_t>(channels_.size()) - links_);
    ports_of_.push_back(ports);
    for (std::uint32_t i = 0; i < out.size(); ++i) port_out_[index(out[i])] = i % ports;
    for (std::uint32_t i = 0; i < in.size(); ++i) port_in_[index(in[i])] = i % ports;
    for (std::uint32_t p = 0; p < ports; ++p) {
      Channel& channel = channels_.emplace_back();
      channel.latency = parameters.interface_cycles;
    }
  }
  first_ejection_ = static_cast<std::uint32_t>(channels_.size());
  const std::uint32_t injections = first_ejection_ - links_;
  for (std::uint32_t i = 0; i < injections; ++i) {
    Channel& channel = channels_.emplace_back();
    channel.latency = parameters.interface_cycles;
  }
  rank_of_link_end_.resize(links_);
  for (std::uint32_t l = 0; l < links_; ++l) {
    const Node& end = topology.node(topology.link(LinkId{l}).dst);
    rank_of_link_end_[l] = end.rank ? index(*end.rank) + 1 : 0;
  }
  // Inputs of each router: its links, then the ports of its interface.
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    std::uint16_t input = 0;
    for (const LinkId link : topology.in_links(NodeId{n})) channels_[index(link)].input = input++;
    if (const auto rank = topology.node(NodeId{n}).rank) {
      for (std::uint32_t p = 0; p < ports_of_[index(*rank)]; ++p) {
        channels_[links_ + first_port_[index(*rank)] + p].input = input++;
      }
    }
  }
  ready_.assign((channels_.size() + 63) / 64, 0);
  buffers_.resize(channels_.size() << shift_);
  slots_.resize((std::size_t{first_ejection_} << shift_) * depth_);
  for (std::uint32_t b = 0; b < first_ejection_ << shift_; ++b) {
    buffers_[b].head = buffers_[b].tail = b * depth_;
  }
  passing_since_.assign(buffers_.size(), 0);
  wanted_.reserve(channels_.size());
  wheel_.resize(std::bit_ceil(longest + router_cycles_ + 2));
}

std::uint32_t Fabric::ports(Rank rank) const { return ports_of_[index(rank)]; }

void Fabric::set_routes(std::span<const std::vector<LinkId>> routes,
                        const ChannelClasses& classes) {
  // Class c has the virtual channels v with v * classes / all == c.
  std::vector<std::uint8_t> masks(classes.classes, 0);
  for (std::uint32_t v = 0; v < vcs_; ++v) {
    std::uint8_t& mask = masks[v * classes.classes / vcs_];
    mask = static_cast<std::uint8_t>(mask | (1U << v));
  }
  const auto all = static_cast<std::uint8_t>((1U << vcs_) - 1);
  for (std::size_t r = 0; r < routes.size(); ++r) {
    first_hop_.push_back(static_cast<std::uint32_t>(hops_.size()));
    const std::vector<LinkId>& route = routes[r];
    for (std::size_t i = 0; i < route.size(); ++i) {
      hops_.push_back({index(route[i]), masks[classes.of_route[r][i]]});
    }
    const std::uint32_t last = index(route.back());
    const std::uint32_t rank = rank_of_link_end_[last] - 1;
    hops_.push_back({first_ejection_ + first_port_[rank] + port_in_[last], all});
  }
}

std::uint32_t Fabric::open(std::uint32_t route, std::uint32_t room) {
  std::uint32_t packet;
  if (free_packets_.empty()) {
    packet = static_cast<std::uint32_t>(packets_.size());
    packets_.emplace_back();
  } else {
    packet = free_packets_.back();
    free_packets_.pop_back();
  }
  packets_[packet] = {.hop = first_hop_[route], .room = std::min(room, depth_)};
  return packet;
}

struct Fabric::Hands {
  Buffer* const buffers;
  Slot* const slots;
  Channel* const channels;
  std::uint64_t* const ready;
  std::vector<std::uint32_t>* const wheel;
  const std::uint32_t wheel_mask, shift, depth, first_ejection;
  const Cycle now;

  [[nodiscard]] bool has_room(std::uint32_t buffer, std::uint32_t room) const {
    std::uint32_t last = buffers[buffer].tail + room - 1;
    if (last >= (buffer + 1) * depth) last -= depth;
    return slots[last].word == kNone && slots[last].time <= now;
  }

  void wake_at(std::uint32_t buffer, Cycle time) const {
    wheel[time & wheel_mask].push_back(buffer);
  }

  /// \returns whether it is the only flit, so that somebody has to wake the buffer.
  bool fill(std::uint32_t buffer, std::uint32_t word, Cycle time) const {
    Buffer& b = buffers[buffer];
    slots[b.tail] = {time, word};
    if (++b.tail == (buffer + 1) * depth) b.tail = buffer * depth;
    return b.count++ == 0;
  }

  [[nodiscard]] std::uint32_t vc_of(std::uint32_t buffer) const {
    return buffer & ((1U << shift) - 1);
  }
  void set_ready(std::uint32_t buffer) const {
    const std::uint32_t channel = buffer >> shift;
    channels[channel].ready =
        static_cast<std::uint8_t>(channels[channel].ready | (1U << vc_of(buffer)));
    ready[channel / 64] |= std::uint64_t{1} << (channel % 64);
  }
  void clear_ready(std::uint32_t buffer) const {
    const std::uint32_t channel = buffer >> shift;
    channels[channel].ready =
        static_cast<std::uint8_t>(channels[channel].ready & ~(1U << vc_of(buffer)));
    if (channels[channel].ready == 0) {
      ready[channel / 64] &= ~(std::uint64_t{1} << (channel % 64));
    }
  }
};

Fabric::Hands Fabric::hands() {
  return {.buffers = buffers_.data(),
          .slots = slots_.data(),
          .channels = channels_.data(),
          .ready = ready_.data(),
          .wheel = wheel_.data(),
          .wheel_mask = static_cast<std::uint32_t>(wheel_.size() - 1),
          .shift = shift_,
          .depth = depth_,
          .first_ejection = first_ejection_,
          .now = now_};
}

bool Fabric::start(std::uint32_t packet, Rank rank, std::uint32_t port) {
  const std::uint32_t channel = links_ + first_port_[index(rank)] + port;
  const auto all = static_cast<std::uint8_t>((1U << vcs_) - 1);
  const std::uint32_t b = next_buffer({channel, all}, packets_[packet].room, hands());
  if (b == kNone) return false;
  buffers_[b].taken = 1;
  packets_[packet].injected = b;
  return true;
}

bool Fabric::inject(std::uint32_t packet, bool head, bool tail) {
  const Hands h = hands();
  const std::uint32_t b = packets_[packet].injected;
  if (!h.has_room(b, 1)) return false;
  const Cycle ready = now_ + channels_[b >> shift_].latency;
  const std::uint32_t word = packet << kPacketShift | (tail ? kTail : 0U) | (head ? kHead : 0U);
  if (h.fill(b, word, ready)) h.wake_at(b, ready);
  if (tail) buffers_[b].taken = 0;
  return true;
}

void Fabric::step() {
  delivered_.clear();
  const Hands h = hands();
  wake(h);
  // All offers first, so that moves may make buffers ready for the next cycle.
  for (std::uint32_t w = 0; w < ready_.size(); ++w) {
    for (std::uint64_t bits = h.ready[w]; bits != 0; bits &= bits - 1) {
      offer(w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)), h);
    }
  }
  for (const std::uint32_t channel : wanted_) move(channel, h);
  wanted_.clear();
  if (++now_ >= (Cycle{1} << 31)) {
    throw Error(ErrorCode::Unsupported, "simulation: expected less than 2^31 cycles");
  }
}

bool Fabric::is_idle() const {
  return std::ranges::all_of(ready_, [](std::uint64_t bits) { return bits == 0; });
}

Cycle Fabric::next_event() const {
  if (!is_idle()) return now_;
  for (Cycle cycle = now_; cycle < now_ + wheel_.size(); ++cycle) {
    if (!wheel_[cycle & (wheel_.size() - 1)].empty()) return cycle;
  }
  return kNever;
}

void Fabric::skip_to(Cycle cycle) {
  delivered_.clear();
  now_ = cycle;
}

std::uint64_t Fabric::moves() const {
  std::uint64_t sum = 0;
  for (const Channel& channel : channels_) sum += channel.passed;
  return sum;
}

void Fabric::wake(const Hands& h) {
  std::vector<std::uint32_t>& due = wheel_[h.now & h.wheel_mask];
  for (const std::uint32_t buffer : due) h.set_ready(buffer);
  due.clear();
}

/// For a header: a virtual channel of its next hop that no worm holds, an empty one if there is
/// one, for behind other worms it may have to wait for them; kNone if there is none now.
inline std::uint32_t Fabric::next_buffer(const Hop& hop, std::uint32_t room, const Hands& h) const {
  std::uint32_t best = kNone;
  for (std::uint32_t mask = hop.mask; mask != 0; mask &= mask - 1) {
    const std::uint32_t to =
        hop.channel << h.shift | static_cast<std::uint32_t>(std::countr_zero(mask));
    if (h.buffers[to].taken != 0) continue;
    if (hop.channel >= h.first_ejection || h.has_room(to, h.depth)) return to;
    if (best == kNone && h.has_room(to, room)) best = to;
  }
  return best;
}

/// The virtual channels of an input offer their flits to the outputs that they want.
inline void Fabric::offer(std::uint32_t channel, const Hands& h) {
  const Channel& in = h.channels[channel];
  for (std::uint32_t ready = in.ready; ready != 0; ready &= ready - 1) {
    const std::uint32_t vc = static_cast<std::uint32_t>(std::countr_zero(ready));
    const std::uint32_t b = channel << h.shift | vc;
    const Buffer& buffer = h.buffers[b];
    std::uint32_t out = buffer.out;
    if (out == kNone) {
      const PacketState& packet = packets_[h.slots[buffer.head].word >> kPacketShift];
      out = next_buffer(hops_[packet.hop], packet.room, h);
      if (out == kNone) continue;
    } else if (out < h.first_ejection << h.shift && !h.has_room(out, 1)) {
      continue;
    }
    Channel& to = h.channels[out >> h.shift];
    if (to.slow && paces_[out >> h.shift].next_free > std::uint64_t{h.now} << 16) continue;
    // Inputs take turns, and of the virtual channels of one input the one that has waited longest.
    const std::uint64_t rank =
        std::uint64_t{static_cast<std::uint16_t>(in.input - to.next_input)} << 32 | buffer.served;
    if (to.winner == kNone) {
      wanted_.push_back(out >> h.shift);
    } else if (rank >= to.rank) {
      continue;
    }
    to.winner = b;
    to.into = out;
    to.rank = rank;
  }
}

/// An output takes the flit that it has chosen.
inline void Fabric::move(std::uint32_t channel, const Hands& h) {
  Channel& to = h.channels[channel];
  const std::uint32_t b = to.winner;
  Buffer& from = h.buffers[b];
  const Channel& in = h.channels[b >> h.shift];
  const std::uint32_t out = to.into;
  to.winner = kNone;
  ++to.passed;
  to.next_input = static_cast<std::uint16_t>(in.input + 1);
  from.served = h.now + 1;

  // Out of the buffer: the slot is the sender's again when the credit is back.
  std::uint32_t word = h.slots[from.head].word;
  h.slots[from.head] = {h.now + in.latency, kNone};
  if (++from.head == (b + 1) * h.depth) from.head = b * h.depth;
  --from.count;
  if ((word & (kHead | kTail)) != 0) {
    if ((word & kHead) != 0) {
      from.out = out;
      h.buffers[out].taken = 1;
      ++packets_[word >> kPacketShift].hop;
      if (recording_) passing_since_[out] = h.now;
    }
    if ((word & kTail) != 0) {
      from.out = kNone;
      h.buffers[out].taken = 0;
      if (recording_) record(out, word);
    }
  }
  if (from.count == 0) {
    h.clear_ready(b);
  } else if (const Cycle next = h.slots[from.head].time; next > h.now + 1) {
    h.clear_ready(b);
    h.wake_at(b, next);
  }

  // Onto the channel.
  if (to.slow) {
    Pace& pace = paces_[channel];
    const std::uint64_t time = std::uint64_t{h.now} << 16;
    const std::uint64_t since = time - std::min<std::uint64_t>(time, kWholeCycle - 1);
    pace.next_free = std::max(pace.next_free, since) + pace.interval;
  }
  if (to.faulty && !survives(channel, out, word)) return;
  if (channel >= h.first_ejection) {
    delivered_.push_back({.packet = word >> kPacketShift,
                          .time = h.now + to.latency,
                          .head = (word & kHead) != 0,
                          .tail = (word & kTail) != 0,
                          .corrupt = (word & kCorrupt) != 0});
    return;
  }
  const Cycle ready = h.now + to.latency + router_cycles_;
  if (!h.fill(out, word, ready)) return;
  if (ready == h.now + 1) {
    h.set_ready(out);
  } else {
    h.wake_at(out, ready);
  }
}

}  // namespace multitree::nic
