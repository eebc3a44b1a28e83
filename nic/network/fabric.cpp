// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cycles of routers.
#include "nic/network/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

constexpr std::uint32_t kHead = 1, kTail = 2, kCorrupt = 4, kPacketShift = 3;

}  // namespace

Fabric::Fabric(const Topology& topology, const Parameters& parameters)
    : vcs_(parameters.virtual_channels),
      depth_(parameters.buffer_flits),
      router_cycles_(parameters.router_cycles),
      links_(topology.num_links()) {
  const std::uint64_t clock = clock_of(topology, parameters);
  port_out_.resize(links_);
  port_in_.resize(links_);
  std::uint32_t longest = parameters.interface_cycles;
  for (const Link& link : topology.links()) {
    const LinkCycles cycles = cycles_of(link, clock, parameters);
    longest = std::max(longest, cycles.latency);
    channels_.push_back(
        {.latency = cycles.latency, .interval = cycles.interval, .router = index(link.dst)});
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
      channels_.push_back({.latency = parameters.interface_cycles, .router = index(node)});
    }
  }
  first_ejection_ = static_cast<std::uint32_t>(channels_.size());
  const std::uint32_t injections = first_ejection_ - links_;
  for (std::uint32_t i = 0; i < injections; ++i) {
    channels_.push_back({.latency = parameters.interface_cycles, .router = kNone});
  }
  rank_of_link_end_.resize(links_);
  for (std::uint32_t l = 0; l < links_; ++l) {
    const Node& end = topology.node(topology.link(LinkId{l}).dst);
    rank_of_link_end_[l] = end.rank ? index(*end.rank) + 1 : 0;
  }
  // Inputs of each router, and the bits that say which are busy.
  routers_.resize(topology.num_nodes());
  std::uint32_t words = 0;
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    Router& router = routers_[n];
    router.first_input = static_cast<std::uint32_t>(inputs_.size());
    for (const LinkId link : topology.in_links(NodeId{n})) inputs_.push_back(index(link));
    if (const auto rank = topology.node(NodeId{n}).rank) {
      for (std::uint32_t p = 0; p < ports_of_[index(*rank)]; ++p) {
        inputs_.push_back(links_ + first_port_[index(*rank)] + p);
      }
    }
    router.inputs = static_cast<std::uint32_t>(inputs_.size()) - router.first_input;
    for (std::uint32_t i = 0; i < router.inputs; ++i) {
      channels_[inputs_[router.first_input + i]].input = i;
    }
    router.words = (router.inputs + 63) / 64;
    router.first_word = words;
    words += router.words;
  }
  busy_.assign(words, 0);
  active_.assign((routers_.size() + 63) / 64, 0);
  buffers_.resize(channels_.size() * vcs_);
  slots_.resize(std::size_t{first_ejection_} * vcs_ * depth_);
  for (std::uint32_t b = 0; b < buffers_.size(); ++b) {
    Buffer& buffer = buffers_[b];
    buffer.channel = b / vcs_;
    buffer.vc = static_cast<std::uint8_t>(b % vcs_);
    if (buffer.channel >= first_ejection_) continue;
    buffer.head = buffer.tail = buffer.begin = b * depth_;
    buffer.end = buffer.begin + depth_;
  }
  next_input_.assign(channels_.size(), 0);
  winner_.assign(channels_.size(), 0);
  passed_.assign(channels_.size(), 0);
  passing_since_.assign(buffers_.size(), 0);
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

bool Fabric::start(std::uint32_t packet, Rank rank, std::uint32_t port) {
  const std::uint32_t first = (links_ + first_port_[index(rank)] + port) * vcs_;
  for (std::uint32_t b = first; b < first + vcs_; ++b) {
    if (buffers_[b].taken || !has_room(b, packets_[packet].room)) continue;
    buffers_[b].taken = true;
    packets_[packet].injected = b;
    return true;
  }
  return false;
}

bool Fabric::inject(std::uint32_t packet, bool head, bool tail) {
  const std::uint32_t b = packets_[packet].injected;
  if (!has_room(b, 1)) return false;
  fill(b, packet << kPacketShift | (tail ? kTail : 0U) | (head ? kHead : 0U),
       now_ + channels_[buffers_[b].channel].latency);
  if (tail) buffers_[b].taken = false;
  return true;
}

void Fabric::step() {
  delivered_.clear();
  wake();
  if (busy_routers_ != 0) {
    for (std::size_t w = 0; w < active_.size(); ++w) {
      for (std::uint64_t bits = active_[w]; bits != 0; bits &= bits - 1) {
        ++visits_;
        visit(routers_[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))]);
      }
    }
  }
  if (++now_ >= (Cycle{1} << 31)) {
    throw Error(ErrorCode::Unsupported, "simulation: expected less than 2^31 cycles");
  }
}

Cycle Fabric::next_event() const {
  if (busy_routers_ != 0) return now_;
  for (Cycle cycle = now_; cycle < now_ + wheel_.size(); ++cycle) {
    if (!wheel_[cycle & (wheel_.size() - 1)].empty()) return cycle;
  }
  return kNever;
}

void Fabric::skip_to(Cycle cycle) {
  delivered_.clear();
  now_ = cycle;
}

inline bool Fabric::has_room(std::uint32_t buffer, std::uint32_t room) const {
  const Buffer& b = buffers_[buffer];
  std::uint32_t last = b.tail + room - 1;
  if (last >= b.end) last -= depth_;
  return slots_[last].word == kNone && slots_[last].time <= now_;
}

/// A buffer for a header's next hop; kNone if there is none now.
inline std::uint32_t Fabric::choose(const PacketState& packet) const {
  const Hop hop = hops_[packet.hop];
  for (std::uint32_t mask = hop.mask; mask != 0; mask &= mask - 1) {
    const std::uint32_t b = hop.channel * vcs_ + static_cast<std::uint32_t>(std::countr_zero(mask));
    if (buffers_[b].taken) continue;
    if (hop.channel >= first_ejection_ || has_room(b, packet.room)) return b;
  }
  return kNone;
}

inline void Fabric::fill(std::uint32_t buffer, std::uint32_t word, Cycle ready) {
  Buffer& b = buffers_[buffer];
  slots_[b.tail] = {ready, word};
  if (++b.tail == b.end) b.tail = b.begin;
  if (b.count++ == 0) wake_at(buffer, ready);
}

inline void Fabric::wake_at(std::uint32_t buffer, Cycle time) {
  wheel_[time & (wheel_.size() - 1)].push_back(buffer);
}

inline void Fabric::set_ready(std::uint32_t buffer) {
  Channel& channel = channels_[buffers_[buffer].channel];
  const bool was_quiet = channel.ready == 0;
  channel.ready = static_cast<std::uint8_t>(channel.ready | (1U << buffers_[buffer].vc));
  if (!was_quiet) return;
  Router& router = routers_[channel.router];
  busy_[router.first_word + channel.input / 64] |= std::uint64_t{1} << (channel.input % 64);
  if (router.busy++ == 0) {
    active_[channel.router / 64] |= std::uint64_t{1} << (channel.router % 64);
    ++busy_routers_;
  }
}

inline void Fabric::clear_ready(std::uint32_t buffer) {
  Channel& channel = channels_[buffers_[buffer].channel];
  channel.ready = static_cast<std::uint8_t>(channel.ready & ~(1U << buffers_[buffer].vc));
  if (channel.ready != 0) return;
  Router& router = routers_[channel.router];
  busy_[router.first_word + channel.input / 64] &= ~(std::uint64_t{1} << (channel.input % 64));
  if (--router.busy == 0) {
    active_[channel.router / 64] &= ~(std::uint64_t{1} << (channel.router % 64));
    --busy_routers_;
  }
}

void Fabric::wake() {
  std::vector<std::uint32_t>& due = wheel_[now_ & (wheel_.size() - 1)];
  for (const std::uint32_t buffer : due) set_ready(buffer);
  due.clear();
}

void Fabric::visit(const Router& router) {
  requests_.clear();
  wanted_.clear();
  for (std::uint32_t w = 0; w < router.words; ++w) {
    for (std::uint64_t bits = busy_[router.first_word + w]; bits != 0; bits &= bits - 1) {
      const std::uint32_t input = w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      Request request;
      if (!this->request(inputs_[router.first_input + input], request)) continue;
      requests_.push_back(request);
      // Inputs come in ascending order: the first from the pointer on wins, else the first.
      std::uint32_t& winner = winner_[request.channel_out];
      if (winner == 0) {
        wanted_.push_back(request.channel_out);
        winner = static_cast<std::uint32_t>(requests_.size());
      } else {
        const std::uint32_t pointer = next_input_[request.channel_out];
        const std::uint32_t before = channels_[requests_[winner - 1].channel_in].input;
        if (before < pointer && input >= pointer) {
          winner = static_cast<std::uint32_t>(requests_.size());
        }
      }
    }
  }
  for (const std::uint32_t channel : wanted_) {
    const Request& request = requests_[winner_[channel] - 1];
    winner_[channel] = 0;
    const std::uint32_t next = channels_[request.channel_in].input + 1;
    next_input_[channel] = next == router.inputs ? 0 : next;
    move(request);
  }
}

/// The next virtual channel of an input whose flit can move now.
inline bool Fabric::request(std::uint32_t channel, Request& request) {
  const Channel& in = channels_[channel];
  // Rotated so that the pointer's bit comes first.
  const std::uint32_t ready = in.ready;
  std::uint32_t order = (ready >> in.next_vc) | (ready << (vcs_ - in.next_vc));
  order &= (1U << vcs_) - 1;
  for (; order != 0; order &= order - 1) {
    std::uint32_t vc = in.next_vc + static_cast<std::uint32_t>(std::countr_zero(order));
    if (vc >= vcs_) vc -= vcs_;
    const std::uint32_t b = channel * vcs_ + vc;
    const Buffer& buffer = buffers_[b];
    std::uint32_t out = buffer.out;
    if (out == kNone) {
      out = choose(packets_[slots_[buffer.head].word >> kPacketShift]);
      if (out == kNone) continue;
    } else if (out < first_ejection_ * vcs_ && !has_room(out, 1)) {
      continue;
    }
    const std::uint32_t channel_out = buffers_[out].channel;
    const Channel& to = channels_[channel_out];
    if (to.interval != kWholeCycle && to.next_free > std::uint64_t{now_} << 16) continue;
    request = {b, out, channel, channel_out};
    return true;
  }
  return false;
}

inline void Fabric::move(const Request& request) {
  ++moves_;
  ++passed_[request.channel_out];
  Buffer& from = buffers_[request.buffer];
  Channel& in = channels_[request.channel_in];
  Channel& out = channels_[request.channel_out];
  in.next_vc = static_cast<std::uint8_t>(from.vc + 1U == vcs_ ? 0 : from.vc + 1);

  // Out of the buffer: the slot is the sender's again when the credit is back.
  std::uint32_t word = slots_[from.head].word;
  slots_[from.head] = {now_ + in.latency, kNone};
  if (++from.head == from.end) from.head = from.begin;
  --from.count;
  if ((word & kHead) != 0) {
    from.out = request.out;
    buffers_[request.out].taken = true;
    ++packets_[word >> kPacketShift].hop;
    passing_since_[request.out] = now_;
  }
  if ((word & kTail) != 0) {
    from.out = kNone;
    buffers_[request.out].taken = false;
    if (recording_) record(request.out, word);
  }
  if (from.count == 0) {
    clear_ready(request.buffer);
  } else if (const Cycle next = slots_[from.head].time; next > now_ + 1) {
    clear_ready(request.buffer);
    wake_at(request.buffer, next);
  }

  // Onto the channel.
  if (out.interval != kWholeCycle) {
    const std::uint64_t since = (std::uint64_t{now_} << 16) -
                                std::min<std::uint64_t>(std::uint64_t{now_} << 16, kWholeCycle - 1);
    out.next_free = std::max(out.next_free, since) + out.interval;
  }
  if (out.faulty) {
    const LinkFault fault = fault_now(request.channel_out);
    if (fault == LinkFault::Drop || fault == LinkFault::Dead) return;
    if (fault == LinkFault::Corrupt) word |= kCorrupt;
  }
  if (request.channel_out >= first_ejection_) {
    delivered_.push_back({.packet = word >> kPacketShift,
                          .time = now_ + out.latency,
                          .head = (word & kHead) != 0,
                          .tail = (word & kTail) != 0,
                          .corrupt = (word & kCorrupt) != 0});
  } else {
    fill(request.out, word, now_ + out.latency + router_cycles_);
  }
}

void Fabric::record(std::uint32_t buffer, std::uint32_t word) {
  if (buffers_[buffer].channel >= links_) return;
  passages_.push_back(
      {LinkId{buffers_[buffer].channel}, word >> kPacketShift, passing_since_[buffer], now_ + 1});
}

void Fabric::inject_fault(LinkId link, LinkFault fault, Cycle cycle, std::uint64_t count) {
  faults_.push_back({link, fault, cycle, count});
  channels_[index(link)].faulty = true;
}

LinkFault Fabric::fault_now(std::uint32_t channel) {
  for (Fault& fault : faults_) {
    if (index(fault.link) != channel || now_ < fault.cycle || fault.kind == LinkFault::None) {
      continue;
    }
    if (fault.kind == LinkFault::Dead) return LinkFault::Dead;
    if (fault.count-- == 0) {
      const LinkFault kind = fault.kind;
      fault.kind = LinkFault::None;
      return kind;
    }
  }
  return LinkFault::None;
}

std::string Fabric::name_of(std::uint32_t buffer) const {
  const std::uint32_t channel = buffer / vcs_;
  const auto port_of = [&](std::uint32_t port, const char* what) {
    const auto rank = std::ranges::upper_bound(first_port_, port) - first_port_.begin() - 1;
    return fmt::format("{} {} of rank {}", what, port - first_port_[rank], rank);
  };
  std::string name = channel < links_ ? "link " + names_[channel]
                     : channel < first_ejection_
                         ? port_of(channel - links_, "injection port")
                         : port_of(channel - first_ejection_, "ejection port");
  return fmt::format("{} vc {}", name, buffer % vcs_);
}

std::string Fabric::check_drained() const {
  for (std::uint32_t b = 0; b < buffers_.size(); ++b) {
    const Buffer& buffer = buffers_[b];
    if (buffer.count != 0) {
      return fmt::format("{}: {} flits were not delivered", name_of(b), buffer.count);
    }
    if (buffer.taken || buffer.out != kNone) return name_of(b) + " is still taken";
  }
  Cycle latest = 0;
  for (const Channel& channel : channels_) latest = std::max(latest, channel.latency);
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    if (slots_[s].word != kNone || slots_[s].time > now_ + latest) {
      return name_of(static_cast<std::uint32_t>(s / depth_)) + " lacks a credit";
    }
  }
  return {};
}

std::string Fabric::describe_blockage() const {
  // What each buffer with flits waits for: the buffer that its worm goes to or, for a header, any
  // that its hop allows; following the first is enough to find a circle among worms.
  std::vector<std::uint32_t> waits_for(buffers_.size(), kNone);
  for (std::uint32_t b = 0; b < first_ejection_ * vcs_; ++b) {
    const Buffer& buffer = buffers_[b];
    if (buffer.count == 0) continue;
    if (buffer.out != kNone) {
      waits_for[b] = buffer.out;
    } else if (const std::uint32_t word = slots_[buffer.head].word; word != kNone) {
      const Hop hop = hops_[packets_[word >> kPacketShift].hop];
      waits_for[b] = hop.channel * vcs_ + static_cast<std::uint32_t>(std::countr_zero(hop.mask));
    }
  }
  std::vector<std::uint32_t> seen(buffers_.size(), 0);
  std::string waiting;
  std::uint32_t count = 0;
  for (std::uint32_t b = 0; b < buffers_.size(); ++b) {
    if (waits_for[b] == kNone) continue;
    if (++count <= 8) {
      waiting += fmt::format("{}{} waits for {}", count == 1 ? "" : "; ", name_of(b),
                             name_of(waits_for[b]));
    }
    std::uint32_t at = b;
    while (at != kNone && seen[at] == 0) {
      seen[at] = b + 1;
      at = waits_for[at];
    }
    if (at == kNone || seen[at] != b + 1) continue;
    std::string circle = "circle of waiting buffers: " + name_of(at);
    for (std::uint32_t next = waits_for[at]; next != at; next = waits_for[next]) {
      circle += " -> " + name_of(next);
    }
    return circle + " -> " + name_of(at);
  }
  if (count == 0) return "no flit is in the network";
  return count > 8 ? fmt::format("{}; and {} more", waiting, count - 8) : waiting;
}

}  // namespace multitree::nic
