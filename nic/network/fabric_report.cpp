// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a network says of itself: traces, faults, what is left in it and who waits.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "nic/network/fabric.hpp"

namespace multitree::nic {

/// A flit enters a buffer: of links it is noted, or the first and last of a packet.
void Fabric::record(std::uint32_t buffer, std::uint32_t word) {
  if (buffer >> shift_ >= links_) return;
  if (recording_moves_) {
    if ((word & kHead) != 0) passed_of_[buffer] = 0;
    last_moves_.push_back({LinkId{buffer >> shift_}, buffer & ((1U << shift_) - 1),
                           word >> kPacketShift, passed_of_[buffer]++});
  }
  if (!recording_passages_) return;
  if ((word & kHead) != 0) passing_since_[buffer] = now_;
  if ((word & kTail) == 0) return;
  passages_.push_back(
      {LinkId{buffer >> shift_}, word >> kPacketShift, passing_since_[buffer], now_ + 1});
}

void Fabric::inject_fault(LinkId link, LinkFault fault, Cycle cycle, std::uint64_t count) {
  if (!retries_.empty()) return retries_[index(link)].faults().add(fault, cycle, count);
  faults_.resize(links_);
  faults_[index(link)].add(fault, cycle, count);
  channels_[index(link)].faulty = channels_[index(link)].special = true;
}

bool Fabric::survives(std::uint32_t channel, std::uint32_t into, std::uint32_t& word) {
  const LinkFault fault = faults_[channel].next(now_);
  if (fault == LinkFault::Corrupt) word |= kCorrupt;
  bool lost = fault == LinkFault::Drop || fault == LinkFault::Dead;
  const auto headless = std::ranges::find(headless_, into);
  if (headless != headless_.end()) {
    lost = true;
    if ((word & kTail) != 0) headless_.erase(headless);
  } else if (lost && (word & kHead) != 0) {
    if ((word & kTail) == 0) headless_.push_back(into);
  } else if (lost && (word & kTail) != 0) {
    buffers_[into].taken = true;
  }
  return !lost;
}

std::string Fabric::name_of(std::uint32_t buffer) const {
  const std::uint32_t channel = buffer >> shift_;
  const auto port_of = [&](std::uint32_t port, const char* what) {
    const auto rank = std::ranges::upper_bound(ports_.first, port) - ports_.first.begin() - 1;
    return fmt::format("{} {} of rank {}", what, port - ports_.first[rank], rank);
  };
  std::string name = channel < links_ ? "link " + names_[channel]
                     : channel < first_ejection_
                         ? port_of(channel - links_, "injection port")
                         : port_of(channel - first_ejection_, "ejection port");
  return fmt::format("{} vc {}", name, buffer & ((1U << shift_) - 1));
}

std::string Fabric::check_drained() const {
  for (std::uint32_t b = 0; b < buffers_.size(); ++b) {
    const Buffer& buffer = buffers_[b];
    if (buffer.count != 0) {
      return fmt::format("{}: {} flits were not delivered", name_of(b), +buffer.count);
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
  for (std::uint32_t b = 0; b < first_ejection_ << shift_; ++b) {
    const Buffer& buffer = buffers_[b];
    if (buffer.count == 0) continue;
    if (buffer.out != kNone) {
      waits_for[b] = buffer.out;
    } else if (const std::uint32_t word = slots_[std::size_t{b} * depth_ + buffer.head].word;
               word != kNone) {
      const Hop hop = hops_[packets_[word >> kPacketShift].hop];
      waits_for[b] = hop.channel << shift_ | static_cast<std::uint32_t>(std::countr_zero(hop.mask));
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
