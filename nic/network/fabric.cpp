// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cycles of routers.
#include "nic/network/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "nic/network/fabric_hands_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
Fabric::Fabric(const Topology& topology, const Parameters& parameters,
               const std::optional<LinkErrors>& errors)
    : vcs_(parameters.virtual_channels),
      depth_(parameters.buffer_flits),
      ejection_vcs_(ejection_channels_of(parameters)),
      router_cycles_(parameters.router_cycles),
      interface_cycles_(parameters.interface_cycles),
      shared_inputs_(parameters.shared_inputs),
      links_(topology.num_links()),
      ports_(ports_of(topology, parameters)) {
  while ((1U << shift_) < vcs_) ++shift_;
  const std::uint64_t clock = clock_of(topology, parameters);
  std::uint32_t longest = parameters.interface_cycles;
  for (const Link& link : topology.links()) {
    const LinkCycles cycles = cycles_of(link, clock, parameters);
    longest = std::max(longest, cycles.latency);
    Channel& channel = channels_.emplace_back();
    channel.latency = cycles.latency;
    channel.slow = channel.special = cycles.interval != kWholeCycle;
    paces_.push_back({.interval = cycles.interval});
    names_.push_back(
        fmt::format("{}->{}", topology.node(link.src).name, topology.node(link.dst).name));
  }
  first_ejection_ = links_ + ports_.all;
  channels_.resize(first_ejection_ + std::size_t{ports_.all});
  for (std::size_t c = links_; c < channels_.size(); ++c) {
    channels_[c].latency = parameters.interface_cycles;
  }
  // Inputs of each router: its links, then the ports of its interface.
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    std::uint16_t input = 0;
    for (const LinkId link : topology.in_links(NodeId{n})) channels_[index(link)].input = input++;
    if (const auto rank = topology.node(NodeId{n}).rank) {
      for (std::uint32_t p = 0; p < ports_.count[index(*rank)]; ++p) {
        channels_[links_ + ports_.first[index(*rank)] + p].input = input++;
      }
    }
  }
  buffers_.resize(channels_.size() << shift_);
  ready_.assign((buffers_.size() + 63) / 64, 0);
  const std::uint64_t slots = (std::uint64_t{first_ejection_} << shift_) * depth_;
  if (slots >= (std::uint64_t{1} << 31)) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected buffers of less than 2^31 flits in all, got {}",
                            topology.name(), slots));
  }
  slots_.resize(slots);
  passing_since_.assign(buffers_.size(), 0);
  passed_of_.assign(buffers_.size(), 0);
  wanted_.reserve(channels_.size());
  candidates_.resize(buffers_.size() + 64);
  wheel_.resize(std::bit_ceil(longest + router_cycles_ + 2));
  if (errors) make_retry(topology, parameters, *errors);
}

void Fabric::set_routes(std::span<const std::vector<LinkId>> routes,
                        const ChannelClasses& classes) {
  // Class c has the virtual channels v with v * classes / all == c.
  std::vector<std::uint8_t> masks(classes.classes, 0);
  for (std::uint32_t v = 0; v < vcs_; ++v) {
    std::uint8_t& mask = masks[v * classes.classes / vcs_];
    mask = static_cast<std::uint8_t>(mask | (1U << v));
  }
  const auto ejection = static_cast<std::uint8_t>((1U << ejection_vcs_) - 1);
  for (std::size_t r = 0; r < routes.size(); ++r) {
    first_hop_.push_back(static_cast<std::uint32_t>(hops_.size()));
    const std::vector<LinkId>& route = routes[r];
    for (std::size_t i = 0; i < route.size(); ++i) {
      hops_.push_back({index(route[i]), masks[classes.of_route[r][i]]});
    }
    hops_.push_back({first_ejection_ + ports_.in[index(route.back())], ejection});
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
          .now = now_,
          .may_hold = may_hold_ || !retries_.empty()};
}

bool Fabric::start(std::uint32_t packet, Rank rank, std::uint32_t port) {
  const std::uint32_t channel = links_ + ports_.first[index(rank)] + port;
  const auto all = static_cast<std::uint8_t>((1U << vcs_) - 1);
  const std::uint32_t b = next_buffer({channel, all}, packets_[packet].room, hands());
  if (b == kNone) return false;
  buffers_[b].taken = true;
  packets_[packet].injected = b;
  return true;
}

bool Fabric::inject(std::uint32_t packet, bool head, bool tail) {
  const std::uint32_t b = packets_[packet].injected;
  Buffer& buffer = buffers_[b];
  Slot& slot = slots_[b * depth_ + buffer.tail];
  if (slot.word != kNone || slot.time > now_) return false;
  const Cycle ready = now_ + interface_cycles_;
  slot = {ready, packet << kPacketShift | (tail ? kTail : 0U) | (head ? kHead : 0U)};
  buffer.tail = static_cast<std::uint16_t>(buffer.tail + 1U == depth_ ? 0 : buffer.tail + 1U);
  if (buffer.count++ == 0) wheel_[ready & (wheel_.size() - 1)].push_back(b);
  if (tail) buffer.taken = false;
  return true;
}

void Fabric::step() {
  delivered_.clear();
  last_moves_.clear();
  if (!retries_.empty()) step_links();
  const Hands h = hands();
  wake(h);
  // All offers first, so that moves may make buffers ready for the next cycle.
  const std::uint32_t count = list_ready();
  if (shared_inputs_) {
    for (std::uint32_t i = 0; i < count;) i = offer_one_of(i, count, h);
  } else {
    for (std::uint32_t i = 0; i < count; ++i) offer(candidates_[i], wish(candidates_[i], h), h);
  }
  for (const std::uint32_t channel : wanted_) move(channel, h);
  wanted_.clear();
  if (++now_ >= (Cycle{1} << 31)) {
    throw Error(
        ErrorCode::Unsupported,
        "simulation: expected less than 2^31 cycles; simulate fewer bytes, or by the message "
        "model, whose time does not grow with cycles");
  }
}

/// Writes the numbers of all ready buffers to candidates_. Eight at a time, wanted or not, and then
/// on by as many as there were: few branches that a processor could guess wrong.
std::uint32_t Fabric::list_ready() {
  std::uint32_t* const out = candidates_.data();
  std::uint32_t count = 0;
  for (std::uint32_t w = 0; w < ready_.size(); ++w) {
    std::uint64_t bits = ready_[w];
    std::uint32_t at = count;
    count += static_cast<std::uint32_t>(std::popcount(bits));
    while (bits != 0) {
      for (std::uint32_t i = 0; i < 8; ++i) {
        out[at + i] = w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        bits &= bits - 1;
      }
      at += 8;
    }
  }
  return count;
}

bool Fabric::is_idle() const {
  return std::ranges::all_of(ready_, [](std::uint64_t bits) { return bits == 0; }) &&
         std::ranges::all_of(retries_, &RetryLink::is_quiet);
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
  last_moves_.clear();
  now_ = cycle;
}

std::uint64_t Fabric::moves() const {
  std::uint64_t sum = 0;
  for (const Channel& channel : channels_) sum += channel.passed;
  return sum;
}

void Fabric::wake(const Hands& h) {
  std::vector<std::uint32_t>& due = wheel_[h.now & h.wheel_mask];
  for (const std::uint32_t buffer : due) h.set_ready(buffer, true);
  due.clear();
}

/// For a header: a virtual channel of its next hop that no worm holds, an empty one if there is
/// one, for behind other worms it may have to wait for them; kNone if there is none now.
inline std::uint32_t Fabric::next_buffer(const Hop& hop, std::uint32_t room, const Hands& h) const {
  std::uint32_t best = kNone;
  for (std::uint32_t mask = hop.mask; mask != 0; mask &= mask - 1) {
    const std::uint32_t to =
        hop.channel << h.shift | static_cast<std::uint32_t>(std::countr_zero(mask));
    if (h.buffers[to].taken) continue;
    if (hop.channel >= h.first_ejection || h.has_room(to, h.depth)) return to;
    if (best == kNone && h.has_room(to, room)) best = to;
  }
  return best;
}

/// The buffer that a buffer's next flit can go to now; kNone if there is none.
inline std::uint32_t Fabric::wish(std::uint32_t b, const Hands& h) const {
  const Buffer& buffer = h.buffers[b];
  const std::uint32_t out = buffer.out;
  if (out == kNone) {
    const PacketState& packet = packets_[h.slot(b, buffer.head).word >> kPacketShift];
    if (h.may_hold && h.channels[hops_[packet.hop].channel].held) return kNone;
    return next_buffer(hops_[packet.hop], packet.room, h);
  }
  if (h.may_hold && h.channels[out >> h.shift].held) return kNone;
  return out >= h.first_ejection << h.shift || h.has_room(out) ? out : kNone;
}

/// Of an input whose virtual channels share one way into the switch the one that has waited longest
/// offers its flit. \returns the first candidate of the next input.
std::uint32_t Fabric::offer_one_of(std::uint32_t first, std::uint32_t count, const Hands& h) {
  const std::uint32_t channel = candidates_[first] >> h.shift;
  std::uint32_t best = kNone, into = kNone;
  for (; first < count && candidates_[first] >> h.shift == channel; ++first) {
    const std::uint32_t b = candidates_[first], out = wish(b, h);
    if (out == kNone || (best != kNone && h.buffers[b].served >= h.buffers[best].served)) continue;
    best = b;
    into = out;
  }
  if (best != kNone) offer(best, into, h);
  return first;
}

/// A buffer offers its next flit to an output.
inline void Fabric::offer(std::uint32_t b, std::uint32_t out, const Hands& h) {
  if (out == kNone) return;
  Channel& to = h.channels[out >> h.shift];
  if (to.slow && paces_[out >> h.shift].next_free > std::uint64_t{h.now} << 16) return;
  if (to.winner == kNone) {
    wanted_.push_back(out >> h.shift);
  } else {
    // Inputs take turns, and of the virtual channels of one input the one that has waited longest.
    const auto rank = [&](std::uint32_t from) {
      const auto turn =
          static_cast<std::uint16_t>(h.channels[from >> h.shift].input - to.next_input);
      return std::uint64_t{turn} << 32 | h.buffers[from].served;
    };
    if (rank(b) >= rank(to.winner)) return;
  }
  to.winner = b;
  to.into = out;
}

/// An output takes the flit that it has chosen.
inline void Fabric::move(std::uint32_t channel, const Hands& h) {
  Channel& to = h.channels[channel];
  const std::uint32_t b = to.winner, out = to.into;
  Buffer& from = h.buffers[b];
  const Channel& in = h.channels[b >> h.shift];
  to.winner = kNone;
  ++to.passed;
  to.next_input = static_cast<std::uint16_t>(in.input + 1);
  from.served = h.now + 1;

  // Out of the buffer: the slot is the sender's again when the credit is back.
  Slot& left = h.slot(b, from.head);
  std::uint32_t word = left.word;
  left = {in.retries ? kNever : h.now + in.latency, kNone};
  if (in.retries) retries_[b >> h.shift].give(b & ((1U << h.shift) - 1));
  from.head = h.after(from.head);
  --from.count;
  const bool is_tail = (word & kTail) != 0;
  from.out = is_tail ? kNone : out;
  h.buffers[out].taken = !is_tail;
  packets_[word >> kPacketShift].hop += word & kHead;
  if (recording_passages_ || recording_moves_) record(out, word);
  const Cycle next = h.slot(b, from.head).time;
  const bool is_ready = from.count != 0 && next <= h.now + 1;
  h.set_ready(b, is_ready);
  if (from.count != 0 && !is_ready && next != kNever) h.wake_at(b, next);

  // Onto the channel.
  if (to.special) {
    if (to.slow) keep_pace(channel);
    if (to.faulty && !survives(channel, out, word)) return;
    if (to.retries) {
      h.fill(out, word, kNever);
      return retries_[channel].send(out & ((1U << h.shift) - 1));
    }
  }
  if (channel >= h.first_ejection) {
    delivered_.push_back({.packet = word >> kPacketShift,
                          .port = channel - h.first_ejection,
                          .time = h.now + to.latency,
                          .head = (word & kHead) != 0,
                          .tail = is_tail,
                          .corrupt = (word & kCorrupt) != 0});
    return;
  }
  const Cycle ready = h.now + to.latency + router_cycles_;
  const bool was_empty = h.fill(out, word, ready);
  if (ready == h.now + 1) {
    h.set_ready(out, true);  // what was in it before is ready too
  } else if (was_empty) {
    h.wake_at(out, ready);
  }
}

void Fabric::keep_pace(std::uint32_t channel) {
  Pace& pace = paces_[channel];
  const std::uint64_t time = std::uint64_t{now_} << 16;
  const std::uint64_t since = time - std::min<std::uint64_t>(time, kWholeCycle - 1);
  pace.next_free = std::max(pace.next_free, since) + pace.interval;
}

}  // namespace multitree::nic
